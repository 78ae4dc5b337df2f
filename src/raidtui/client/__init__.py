"""The way from a front end to an engine: an argv, a pipe, one JSON message a line."""
