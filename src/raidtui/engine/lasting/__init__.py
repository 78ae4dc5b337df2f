"""A layout built for good: the planned commands as a script that an operator runs, without raidtui."""
