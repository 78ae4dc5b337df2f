"""The LVM layer in parts: its options and their rules, arithmetic, commands, read-back, building and taking down."""
