"""pg_test_fsync: its options, its output as numbers."""
