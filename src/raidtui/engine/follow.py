"""Follow a run's journal as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from raidtui.engine import runs
from raidtui.engine.journal import read_from
from raidtui.model.event import Record, RecoverFinished, RunFinished
from raidtui.model.problem import Exit, fail

_POLL_S = 0.1


def follow(folder: Path, after: int, stopped: Callable[[], bool]) -> Iterator[Record]:
    """Records after number `after` until the run has ended, or until `stopped`.

    Raises ProblemError (`run-interrupted`, exit 6) when nobody works on the run any more and its end was not written.
    """
    offset = 0
    ended = False
    while not stopped():
        alive = runs.owner(folder) is not None
        for record, position in read_from(folder, offset):
            offset = position
            if record.seq > after:
                yield record
            ended = isinstance(record.event, (RunFinished, RecoverFinished))
        if ended and not alive:
            return
        if not alive:
            raise fail("run-interrupted", f"the runner of {folder.name} is gone and did not finish", place=folder.name,
                       remedy=f"raidtui recover {folder.name}", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(_POLL_S)
