"""Foundations of every other package: processes, files, paths, text. No knowledge of storage."""
