"""The command line: one file per command. stdout is data, stderr is talk."""
