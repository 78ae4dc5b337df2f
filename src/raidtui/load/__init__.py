"""Workload engines: one file each under `engines/`, found by being there."""
