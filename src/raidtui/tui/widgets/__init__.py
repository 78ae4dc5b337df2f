"""Widgets of the screens: live tables, charts and small drawings, fed with plain data."""
