"""Connection from a front end to an engine: a command, a pipe, and one JSON message per line."""
