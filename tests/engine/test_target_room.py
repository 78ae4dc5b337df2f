"""The room of a measured directory is the planned one, or less if less was read back."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from raidtui.engine.run import target
from raidtui.stack import mounts
from raidtui.stack.context import Context


@pytest.mark.parametrize(("read_back", "used"), [(None, 1000), (2000, 1000), (900, 900)])
def test_a_directory_is_used_up_to_the_room_that_was_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_back: int | None, used: int
) -> None:
    monkeypatch.setattr(mounts, "open_root", lambda point: os.open(point, mounts.FOLDER_FLAGS))
    monkeypatch.setattr(mounts, "insist", lambda fd, point: None)
    context = Context("r", tmp_path, {}, lambda text, share: None, threading.Event())
    context.built["dir:a"] = str(tmp_path)
    if read_back is not None:
        context.rooms["dir:a"] = read_back
    args: Any = SimpleNamespace(kind="directory", refs=("dir:a",), size_bytes=1000)
    with target.open_target(args, context) as opened:
        assert opened.size_bytes == used
