"""Parts of the screen Results: library of runs and files, one result, comparison of results."""
