"""Commands for many servers (`--on a,b,c`)."""
