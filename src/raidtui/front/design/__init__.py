"""Layouts for disks that need not exist: which make sense, what they hold, survive and cost, and estimated ceilings."""
