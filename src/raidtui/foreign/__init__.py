"""Numbers of other tools and publications, as tables: read, checked for contradictions, set beside results."""
