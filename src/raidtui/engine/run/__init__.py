"""Running: execute the steps of a plan, journal them, measure, and give the disks back, after a crash too."""
