"""The five screens, one file each."""
