"""Root's side: reads scenarios, plans, runs, journals, recovers, and serves the protocol. Never draws."""
