"""What the screen `Disks` shows of each disk: words, columns, order, filter. Pure, but for the table itself."""
