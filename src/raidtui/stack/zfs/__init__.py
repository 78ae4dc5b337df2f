"""ZFS pools and volumes, for `layers/zpool.py`."""
