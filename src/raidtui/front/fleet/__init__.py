"""Many servers at the same time: their connections, consents, runs and exit codes."""
