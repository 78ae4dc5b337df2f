"""Pure data and pure functions: what a disk, a layout, a scenario, a plan, an event and a result are. No I/O."""
