"""Results of runs: read, compared, written in several formats. Needs no engine and no root."""
