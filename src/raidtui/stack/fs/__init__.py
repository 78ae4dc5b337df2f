"""Filesystems: made with a UUID that was chosen before, mounted in raidtui's own folder, read back, unmounted."""
