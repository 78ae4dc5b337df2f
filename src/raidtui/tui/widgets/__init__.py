"""What the screens are made of: live tables, charts and small drawings, fed with plain data."""
