"""What every other package stands on: processes, files, paths, text. Knows nothing of storage."""
