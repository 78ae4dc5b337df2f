"""What the screen `Plan` shows: steps, costs, disks to be erased, and the dialog of consent."""
