"""Code shared by the command line and the screens: run progress, phrases, consent, and the operator's files."""
