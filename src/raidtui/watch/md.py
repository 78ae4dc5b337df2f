"""Sync state of an md array in sysfs (the kernel's Documentation/admin-guide/md.rst)."""

from __future__ import annotations

from pathlib import Path

from raidtui.base.files import read_int, read_text
from raidtui.model.frame import MdState


def md_state(name: str, sys_block: Path = Path("/sys/block")) -> MdState:
    """The state of array `name` (`md127`) now; all None when there is no such array (any more)."""
    folder = f"{sys_block}/{name}/md"
    array_state = read_text(f"{folder}/array_state")
    if array_state is None:
        return MdState()
    action = read_text(f"{folder}/sync_action")
    done, total = None, None
    if action not in (None, "idle", "frozen"):
        done, total = _progress(read_text(f"{folder}/sync_completed"))
    return MdState(array_state, action, read_int(f"{folder}/degraded"), done, total)


def _progress(text: str | None) -> tuple[int, int] | tuple[None, None]:
    """`1234 / 5678` in sectors; `none` and `delayed` when nothing runs (yet)."""
    done, slash, total = (text or "").partition("/")
    try:
        return (int(done), int(total)) if slash else (None, None)
    except ValueError:
        return None, None
