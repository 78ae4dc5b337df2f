"""The HTML snapshot: one page that needs nothing but itself."""
