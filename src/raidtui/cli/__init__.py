"""The command line: commands by file (`main.py` lists them). stdout carries data, stderr messages."""
