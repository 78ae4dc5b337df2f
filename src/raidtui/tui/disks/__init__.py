"""Parts of the screen Disks: entries, table and details."""
