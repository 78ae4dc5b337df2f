"""What runs left: read result files, compare their cells. Needs no engine and no root."""
