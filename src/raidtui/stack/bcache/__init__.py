"""Parts of the bcache layer: options, commands, superblocks, the kernel's own folders, building, read-back and undo."""
