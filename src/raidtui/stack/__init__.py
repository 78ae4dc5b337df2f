"""Building storage: layers one file each under `layers/`, and what they share.

Only here are storage libraries imported, and only when a layer is first built.
"""
