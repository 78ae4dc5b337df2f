"""raidtui's own code on another machine: packed here, put there in one step, and started by one ssh."""
