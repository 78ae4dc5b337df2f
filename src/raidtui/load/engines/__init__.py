"""One file per workload engine. Adding one is adding a file that offers `ENGINE`."""
