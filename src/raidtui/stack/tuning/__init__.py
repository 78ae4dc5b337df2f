"""Tuning of a layout: kernel settings that are written before it is measured and restored afterwards."""
