"""The formats of fio's reports, one file each, and what they share."""
