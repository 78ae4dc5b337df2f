"""Texts of the problem codes of layers that define them in tables: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

from raidtui.stack.bcache import reasons as bcache
from raidtui.stack.fs import reasons as fs
from raidtui.stack.lvm import reasons as lvm
from raidtui.stack.zfs import reasons as zfs

REASONS: Final[dict[str, tuple[str, str, str]]] = {**bcache.REASONS, **fs.REASONS, **zfs.REASONS, **lvm.REASONS}
