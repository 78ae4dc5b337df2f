"""Thousands of result files: read once each, found by words, and compared without being read again."""
