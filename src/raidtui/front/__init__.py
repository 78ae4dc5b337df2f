"""What every front end shares: the fold of a run's records, its words, consent, and the operator's files."""
