"""Composing a scenario: edits, outline, forms and drawings. All but the widgets are pure functions over plain JSON data."""
