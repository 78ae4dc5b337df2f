"""Deleted files of the user: moved to a folder of their own, where they stay for 30 days and can come back."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from raidtui.base.files import newest_first, private_folder
from raidtui.model.problem import fail
from raidtui.model.refusals import FILE

_KEPT_S: Final = 30 * 86400


def put_away(path: Path, folder: Path) -> Path:
    """Move a file to the folder of deleted ones, and return its new path. Raises ProblemError (`file`)."""
    try:
        private_folder(folder)
        for deleted_at, old in newest_first(folder, "*.json"):
            if time.time() - deleted_at > _KEPT_S:
                old.unlink(missing_ok=True)
        there = folder / path.name
        path.replace(there)
        os.utime(there)  # the time of the deletion
    except OSError as error:
        raise fail(FILE, f"it was not deleted: {error.strerror or error}", place=str(path)) from None
    return there


def put_back(path: Path, folder: Path) -> Path:
    """Move a deleted file back to `folder`, and return its new path. Raises ProblemError (`file`)."""
    back = folder / path.name
    if back.exists():
        raise fail(FILE, "there is a file of this name again", place=str(back))
    try:
        path.replace(back)
    except OSError as error:
        raise fail(FILE, f"it cannot be brought back: {error.strerror or error}", place=str(path)) from None
    return back
