"""Workload engines: one module or package each, discovered by its object `ENGINE`."""
