"""What an action may use: the permits of the run's disks, and what was built so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from raidtui.base.attention import Attention, Told, attending
from raidtui.gate.look import taken
from raidtui.gate.permit import Permit
from raidtui.inventory import Signature
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.units import duration_text, size_text
from raidtui.stack.blockdev import bounded

T = TypeVar("T")
LOOKS_AT_ONCE: Final = 32


class Context:
    """Handed to every action of one run.

    `permits` is the only way to a disk. `built` maps references of layers (`md:NAME`) to their present device path; an
    action that creates a device adds it, the one that takes it away removes it. `zero_proof` says of each disk how it was
    proven to be zero, until something writes to it.

    Every disk of the run is held (`Permit.hold`) unless a layer has it: `lend` lets go of disks while a tool takes them,
    `hold` takes those again that a layer gave back. `about_to_write` looks at what is on them first.
    """

    def __init__(
        self,
        run: str,
        folder: Path,
        permits: dict[str, Permit],
        report: Callable[[str, float | None], None],
        cancelled: threading.Event,
        disks: Sequence[str] = (),
    ) -> None:
        """`disks`: kernel names of the run's disks, where there are no permits for them."""
        self.run = run
        self.folder = folder
        self.permits = permits
        self.report = report
        """`report(text, fraction or None)`: progress of the step that runs."""
        self.cancelled = cancelled
        self.built: dict[str, str] = {}
        self.zero_proof: dict[str, dict[str, Any]] = {}
        self.written: set[str] = set()
        """Ids of the disks that may carry something of this run."""
        self.ever_written: set[str] = set()
        """Ids of the disks that it wrote to, blank again or not."""
        self.ours: Callable[[], Sequence[Signature]] = tuple
        """Returns the signatures that the run's steps leave on disks."""
        self._lent: set[str] = set()
        """Ids of the disks that a layer has."""
        self._disks = tuple(disks) or tuple(permit.disk.name for permit in permits.values())

    def path(self, ref: str) -> str:
        """The device path of `disk:ID` or of a built layer; verified, for a disk, to be the very disk that was admitted."""
        kind, _, name = ref.partition(":")
        if kind == "disk":
            return self.permit(name).path()
        if ref not in self.built:
            raise fail("not-built", f"{ref} was not built", place=ref, exit=Exit.BUILD_FAILED)
        return self.built[ref]

    def permit(self, disk: str) -> Permit:
        """The permit of the disk with this id. Raises ProblemError (`no-permit`) for a disk that is not part of the run."""
        if disk not in self.permits:
            raise fail("no-permit", f"disk {disk} is not part of this run", place=disk, exit=Exit.REFUSED)
        return self.permits[disk]

    @contextmanager
    def lend(self, disks: Collection[str]) -> Iterator[None]:
        """Let go of these disks while tools take them or work on them; those that are free afterwards are held again."""
        lent = [disk for disk in disks if disk in self.permits]
        self._lent.update(lent)
        for disk in lent:
            self.permits[disk].let_go()
        try:
            yield
        finally:
            self.hold(lent)

    def hold(self, disks: Collection[str]) -> None:
        """Hold those of these disks that nothing has: the others are a layer's, or gone."""
        for disk in disks:
            with suppress(ProblemError):
                self.permit(disk).hold()
                self._lent.discard(disk)

    def holds(self, ref: str) -> bool:
        """Return True for a disk that the run holds itself: no layer has it, and nobody else."""
        kind, _, name = ref.partition(":")
        return kind == "disk" and name in self.permits and self.permits[name].held

    def taken(self, disks: Collection[str]) -> dict[str, Problem]:
        """Problems `disk-taken` by disk id, where somebody else put something on a disk; disks not held are a layer's.

        One that cannot be looked at has the problem that kept it from being so.
        """
        held = [disk for disk in disks if self.holds(f"disk:{disk}")]
        if not held:
            return {}
        with ThreadPoolExecutor(min(LOOKS_AT_ONCE, len(held))) as pool:
            found = zip(held, pool.map(self._taken, held), strict=True)
            return {disk: problem for disk, problem in found if problem is not None}

    def _taken(self, disk: str) -> Problem | None:
        permit = self.permits[disk]
        look = partial(taken, permit, self.ours, blank=disk not in self.written)
        try:
            with attending(Attention((permit.disk.name,))):
                return bounded(look, f"reading {permit.disk.path}")
        except ProblemError as error:
            return error.problems[0]

    def about_to_write(self, disks: Sequence[str]) -> None:
        """Say so before the first byte: these disks are no longer known to be zero, and are to be made blank again.

        Raises ProblemError, so that none of them is written to: `disk-taken` where one carries what the run did not put
        there, `busy` where something that is not a layer has it.
        """
        self.hold(disks)
        for disk in disks:
            if disk in self.permits and disk not in self._lent:
                self.permits[disk].hold()
        if problems := self.taken(disks):
            raise ProblemError(*problems.values())
        for disk in disks:
            self.zero_proof.pop(disk, None)
            self.written.add(disk)
            self.ever_written.add(disk)

    def stop_if_cancelled(self) -> None:
        """Raise ProblemError (exit 130) when the operator asked to cancel."""
        if self.cancelled.is_set():
            raise fail("cancelled", "the run was cancelled", exit=Exit.CANCELLED)

    def attend(self, work: Callable[[Context], T]) -> T:
        """Return `work(self)`; meanwhile it is attended as described at `attended`."""
        with self.attended():
            return work(self)

    @contextmanager
    def attended(self) -> Iterator[None]:
        """Inside, what waits is shown, ends by a cancel, and is given up when neither it nor a disk of the run moves."""
        told = False

        def stop() -> None:
            nonlocal told
            if told:
                return  # what follows takes away what the step had made
            try:
                self.stop_if_cancelled()
            except ProblemError:
                told = True
                raise

        def tell(seen: Told) -> None:
            with suppress(OSError):  # what cannot be written down for once is no reason to end a command
                self.report(told_text(seen), None)

        with attending(Attention(self._disks, stop, tell)):
            yield


def told_text(seen: Told) -> str:
    """`lvm lvcreate: 1 min 35 s, 3.2 GiB written`."""
    amounts = ((seen.written_bytes, "written"), (seen.discarded_bytes, "discarded"))
    parts = [f"{size_text(amount)} {what}" for amount, what in amounts if amount]
    return "; ".join(filter(None, [", ".join([f"{seen.what}: {duration_text(seen.seconds)}", *parts]), seen.hangs]))
