"""One file per layer. Adding one is adding a file that offers `LAYER`."""
