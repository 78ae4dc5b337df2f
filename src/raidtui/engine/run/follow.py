"""Follow a run's journal as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from raidtui.engine.run import runs
from raidtui.engine.run.journal import read_lines
from raidtui.model.problem import Exit, fail
from raidtui.model.refusals import RUN_INTERRUPTED

_POLL_S: Final = 0.1
_ENDS: Final = (b'"event":{"kind":"run-finished"', b'"event":{"kind":"recover-finished"')


def follow(folder: Path, after: int, stopped: Callable[[], bool]) -> Iterator[msgspec.Raw]:
    """Records after number `after`, as the journal has them, until the run has ended or until `stopped`.

    They are handed on unparsed: following must not cost what is being measured. Raises ProblemError (`run-interrupted`,
    exit 6) if no process works on the run any more and its end was not written.
    """
    offset = number = 0
    ended = False
    while not stopped():
        alive = runs.owner(folder) is not None
        for line, position in read_lines(folder, offset):
            offset, number = position, number + 1
            if number > after:
                yield msgspec.Raw(line[:-1])
            ended = any(mark in line[:200] for mark in _ENDS)
        if ended and not alive:
            return
        if not alive:
            raise fail(RUN_INTERRUPTED, f"the runner of {folder.name} is gone and did not finish", place=folder.name,
                       remedy=f"raidtui recover {folder.name}", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(_POLL_S)
