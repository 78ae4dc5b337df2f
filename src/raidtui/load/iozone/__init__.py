"""iozone: its options, its table as numbers, and the same pattern by fio where it is not installed."""
