"""Texts of the problem codes of layers that define them in tables: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

from raidtui.stack.zfs import reasons as zfs

REASONS: Final[dict[str, tuple[str, str, str]]] = zfs.REASONS
