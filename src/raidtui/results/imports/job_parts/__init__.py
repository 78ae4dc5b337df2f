"""fio job files: their lines, what values mean, and which option becomes what."""
