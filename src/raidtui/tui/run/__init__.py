"""One run on the screen: its records' feed, what they amount to, and the panes that draw it."""
