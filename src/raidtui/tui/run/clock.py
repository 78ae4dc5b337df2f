"""Durations as a clock shows them."""

from __future__ import annotations


def clock(seconds: float) -> str:
    """`4:07`, `1:02:03`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
