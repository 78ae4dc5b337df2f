"""Storage layers, one package each, and their shared parts. Storage libraries are imported only here, at first use."""
