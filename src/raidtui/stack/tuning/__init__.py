"""Tuning that travels with a layout: kernel settings that are set while it stands, and put back as they were found."""
