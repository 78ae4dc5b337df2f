"""The md layer in parts: its options and their rules, arithmetic, commands, kernel read-back, building and taking down."""
