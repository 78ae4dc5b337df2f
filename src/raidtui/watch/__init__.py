"""Counters of disks, arrays, caches, CPU cores and kernel threads, sampled from /proc and /sys."""
