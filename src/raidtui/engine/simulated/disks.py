"""Recorded disks as the disks of a simulated server."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from raidtui.engine.run import runs
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.recover import Report
from raidtui.engine.server import Server
from raidtui.inventory import Change
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Disk
from raidtui.model.event import RecoverFinished
from raidtui.model.protocol import RecoveredDisk, RecoveredRun
from raidtui.model.recording import read_recording

RECORDED_DISKS: Final = Path(__file__).with_name("disks.json")
"""Answer of `raidtui disks --json` in a lab with disks of three kinds."""

_TICK_S: Final = 1.0
"""Longest pause between two answers of `watch`, in seconds."""


def simulated_server(path: Path) -> Server:
    """Return a server with the disks of a recording. Raises ProblemError (`recording`)."""
    recording = read_recording(path)

    def scan(held: Mapping[str, str]) -> tuple[Disk, ...]:
        return tuple(_with_holder(disk, held) for disk in recording.disks)

    return Server(
        host=f"simulated {recording.host}",
        has_root=True,
        scan=scan,
        search=lambda disks, _: disks,
        watch=_watch,
        recover=_recover,
        runner=("runner", "--simulate", str(path)),
        simulated=True,
    )


def _with_holder(disk: Disk, held: Mapping[str, str]) -> Disk:
    if disk.id not in held:
        return disk
    run = held[disk.id]
    held_by = reason("held", f"held by run {run}", f"raidtui attach {run}")
    return msgspec.structs.replace(disk, reasons=(*disk.reasons, held_by))


def _watch(standing: Callable[[], object], _: Callable[[], bool]) -> Generator[tuple[Change, ...], bool | None]:
    """Yield the begin and the end of simulated runs, which hold disks; nothing else ever changes."""
    seen = standing()
    yield ()
    while True:
        time.sleep(_TICK_S)
        before, seen = seen, standing()
        yield () if seen == before else (Change("use", "runs"),)


def _recover(run_name: str, without: Collection[str] = (), report: Report = lambda _: None) -> Iterator[RecoveredRun]:
    """Close simulated runs whose runner died: there is nothing to take down."""
    for folder in [runs.folder_of(run_name)] if run_name else runs.all_folders():
        story = runs.story_of(folder)
        if runs.state_of(folder, story) == "interrupted":
            journal = Journal(folder)
            journal.append(RecoverFinished(0, (), story.owed))
            journal.close()
            runs.close(folder)
            yield RecoveredRun(folder.name, 0, (), (), tuple(RecoveredDisk(disk, "blank") for disk in story.owed))
