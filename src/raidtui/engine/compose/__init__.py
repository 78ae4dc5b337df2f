"""Composing: read a scenario, describe and preview its layouts, bind it to disks, and plan its steps. Touches no disk."""
