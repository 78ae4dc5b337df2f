"""dd: its options, what they must not claim, its output as numbers."""
