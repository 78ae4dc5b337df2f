"""What the screen Results is made of: the library of runs and files, one result, several side by side."""
