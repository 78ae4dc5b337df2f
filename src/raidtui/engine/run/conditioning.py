"""Preconditioning: disks are written over before a layout is built (planned by `compose/preconditioning.py`)."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Final

from raidtui.engine.compose.preconditioning import by_size, words
from raidtui.engine.run.measuring import Scene
from raidtui.engine.run.target import open_target
from raidtui.engine.step_args import Precondition
from raidtui.engine.validity.incidents import LOST
from raidtui.load.engine import Target
from raidtui.load.fio import ENGINE as FIO
from raidtui.load.fio.spec import conditioning_lengths, conditioning_spec
from raidtui.model.measure import Sample
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.action import Outcome

PRECONDITION: Final = Refusal(
    "precondition",
    "The disks could not be preconditioned",
    "Writing the disks before the layout is built failed.",
    "Look at fio's message, dmesg and the disk's SMART log.",
)


def precondition(args: Precondition, scene: Scene) -> Outcome:
    """Write over all disks, in parallel. Facts: `preconditioned`, in words.

    Raises ProblemError (`precondition`, `disk-lost`, `cancelled`).
    """
    context, times, most = scene.context, args.times, args.most_bytes
    disks = [ref.removeprefix("disk:") for ref in args.refs]
    purged = all(context.zero_proof.get(disk, {}).get("method") == "discard" for disk in disks)
    stop = _Either(scene.stop)
    with open_target(args, context) as target:
        groups = [
            Target(tuple(target.devices[at] for at in places))
            for places in by_size([device.size_bytes for device in target.devices])
        ]
        told = _Told(scene, sum(sum(conditioning_lengths(device.size_bytes, times, most)) for device in target.devices))
        with ThreadPoolExecutor(len(groups)) as pool:
            filling = [pool.submit(_fill, group, times, most, scene, told, stop) for group in groups]
            if any(one.exception() is not None for one in wait(filling, return_when=FIRST_EXCEPTION).done):
                stop.set()
        commands = tuple(argv for one in filling for argv in one.result())
    context.stop_if_cancelled()
    if lost := scene.lost():
        raise fail(LOST.refusal, f"disk {lost[0]} was lost", place=lost[0], exit=Exit.BUILD_FAILED)
    return Outcome("done", {"preconditioned": words(args.amount, times, most, purged=purged)}, commands)


class _Either(threading.Event):
    """Event that is also set when another one is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()


class _Told:
    """Reports the sum of what all disks have written."""

    def __init__(self, scene: Scene, total_bytes: int) -> None:
        self._scene, self._total, self._done = scene, total_bytes, 0
        self._lock = threading.Lock()

    def __call__(self, sample: Sample) -> None:
        with self._lock:
            self._done += sample.write.bytes if sample.write else 0
            self._scene.context.report("preconditioning", min(1.0, self._done / self._total))


def _fill(target: Target, times: float, most: int | None, scene: Scene, told: _Told, stop: threading.Event) -> list[Argv]:
    """Write all passes over disks of one size; return the commands."""
    commands: list[Argv] = []
    for length in conditioning_lengths(target.size_bytes, times, most):
        folder = scene.context.folder / "work"
        measured = FIO.fill(conditioning_spec(length), target, folder=folder, live=told, stop=stop)
        commands.append(measured.command)
        if stop.is_set():
            break
        if measured.problems:
            names = ", ".join(device.name for device in target.devices)
            raise fail(PRECONDITION, f"{names}: {'; '.join(measured.problems)}", exit=Exit.BUILD_FAILED)
    return commands
