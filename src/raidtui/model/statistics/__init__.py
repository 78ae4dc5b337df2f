"""Statistics on few numbers: what rounds say, how far they can be trusted, and nothing that needs a large library."""
