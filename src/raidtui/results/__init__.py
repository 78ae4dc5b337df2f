"""Results of runs and of other tools: read, compared, written in several formats. Needs no engine and no root."""
