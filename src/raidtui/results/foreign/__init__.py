"""Results of other tools and people: read into tables, with every number's place."""
