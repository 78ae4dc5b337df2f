"""The context of a run's actions: the permits of its disks, and the devices built so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from raidtui.base.attention import Attention, Told, attending
from raidtui.gate.last_look import taken
from raidtui.gate.permit import Permit
from raidtui.inventory import Signature
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import CANCELLED
from raidtui.model.units import duration_text, size_text
from raidtui.stack.builder.process import Builder
from raidtui.stack.calls import bounded

T = TypeVar("T")
LOOKS_AT_ONCE: Final = 32

NO_PERMIT: Final = Refusal(
    "no-permit",
    "Not a disk of this run",
    "A step named a disk that the gate did not admit for this run. The disk was not touched.",
    "This is a bug, or a journal of another run: please report it.",
)
NOT_BUILT: Final = Refusal(
    "not-built",
    "A layer below is missing",
    "A step needs a layer that was not built, or is gone.",
    "The problem of the step before has the reason; run it again.",
)


class Context:
    """Context of every action of one run.

    `permits` is the only way to a disk. `built` maps references of layers (`md:NAME`) to their present device path; an
    action that creates a device adds it, the one that removes it deletes it. `zero_proof` has the proof by disk, until
    something writes to it.

    Every disk of the run is held (`Permit.hold`) unless a layer uses it: `lend` releases disks while a tool takes them,
    `hold` takes those again that a layer gave back. `about_to_write` checks their content first.
    """

    def __init__(
        self,
        run: str,
        folder: Path,
        permits: dict[str, Permit],
        report: Callable[[str, float | None], None],
        cancelled: threading.Event,
        disks: Sequence[str] = (),
        builder: Builder | None = None,
    ) -> None:
        """Create a context. `disks`: kernel names of the run's disks if there are no permits for them."""
        self.run = run
        self.folder = folder
        self.permits = permits
        self.report = report
        """`report(text, fraction or None)`: progress of the step that runs."""
        self.cancelled = cancelled
        self.built: dict[str, str] = {}
        self.unmoved: Mapping[str, str] = {}
        """Kernel names by id of disks that never left since the run was planned. By these, recovery finds mappings that
        hold a disk and thereby refuse a permit for it; nothing is opened or written by them."""
        self.rooms: dict[str, int] = {}
        """Bytes of room for files that were read back, by reference of a measured directory."""
        self.keys: dict[str, str] = {}
        """Keys of connections by name, from the step of the target to that of the initiator (`stack/auth.py`)."""
        self.zero_proof: dict[str, dict[str, Any]] = {}
        self.written: set[str] = set()
        """Ids of the disks that may hold data of this run."""
        self.ever_written: set[str] = set()
        """Ids of the disks that the run wrote to, blank again or not."""
        self.ours: Callable[[], Sequence[Signature]] = tuple
        """Function that returns the signatures that the run's steps leave on disks."""
        self.parts: dict[str, tuple[str, str]] = {}
        """Disk id and kernel name of each partition that the run made, by reference (`partition:NAME`)."""
        self.builder = builder or Builder(folder / "work")
        """The process in which blivet builds; it starts with the first call."""
        self._lent: set[str] = set()
        """Ids of the disks that a layer uses."""
        self._disks = tuple(disks) or tuple(permit.disk.name for permit in permits.values())

    def path(self, ref: str) -> str:
        """Return the device path of `disk:ID` or of a built layer; a disk is verified to be the one that was admitted."""
        kind, _, name = ref.partition(":")
        if kind == "disk":
            return self.permit(name).path()
        if ref not in self.built:
            raise fail(NOT_BUILT, f"{ref} was not built", place=ref, exit=Exit.BUILD_FAILED)
        return self.built[ref]

    def permit(self, disk: str) -> Permit:
        """Return the permit of a disk. Raises ProblemError (`no-permit`) if the disk is not part of the run."""
        if disk not in self.permits:
            raise fail(NO_PERMIT, f"disk {disk} is not part of this run", place=disk, exit=Exit.REFUSED)
        return self.permits[disk]

    @contextmanager
    def lend(self, disks: Collection[str]) -> Iterator[None]:
        """Release these disks while tools use them; disks that are free afterwards are held again."""
        lent = [disk for disk in disks if disk in self.permits]
        self._lent.update(lent)
        for disk in lent:
            self.permits[disk].let_go()
        try:
            yield
        finally:
            self.hold(lent)

    def hold(self, disks: Collection[str]) -> None:
        """Hold the free ones of these disks; the others are used by a layer, or gone."""
        for disk in disks:
            with suppress(ProblemError):
                self.permit(disk).hold()
                self._lent.discard(disk)

    def holds(self, ref: str) -> bool:
        """Return True for a disk or partition that the run holds: no layer and no other process uses it."""
        if ref in self.parts:
            disk, name = self.parts[ref]
            return disk in self.permits and self.permits[disk].holds_part(name)
        kind, _, name = ref.partition(":")
        return kind == "disk" and name in self.permits and self.permits[name].held

    def disk_of(self, ref: str) -> str | None:
        """Return the id of a disk, or of the disk that a partition is on; None for other devices."""
        if ref in self.parts:
            return self.parts[ref][0]
        kind, _, name = ref.partition(":")
        return name if kind == "disk" else None

    def open_for_writing(self, ref: str) -> int:
        """Open a disk or a partition of one exclusively, by its permit. Raises ProblemError."""
        if ref in self.parts:
            disk, name = self.parts[ref]
            return self.permit(disk).open_part_for_writing(name)
        return self.permit(ref.partition(":")[2]).open_for_writing()

    def taken(self, disks: Collection[str]) -> dict[str, Problem]:
        """Return the problem `disk-taken` by id of each disk with foreign data; disks used by a layer are left out.

        A disk that cannot be read has the problem of reading it.
        """
        held = [disk for disk in disks if self.holds(f"disk:{disk}") or self._holds_a_part(disk)]
        if not held:
            return {}
        with ThreadPoolExecutor(min(LOOKS_AT_ONCE, len(held))) as pool:
            found = zip(held, pool.map(self._taken, held), strict=True)
            return {disk: problem for disk, problem in found if problem is not None}

    def _holds_a_part(self, disk: str) -> bool:
        return any(self.holds(ref) for ref, (on, _) in self.parts.items() if on == disk)

    def _taken(self, disk: str) -> Problem | None:
        permit = self.permits[disk]
        look = partial(taken, permit, self.ours, blank=disk not in self.written)
        try:
            with attending(Attention((permit.disk.name,))):
                return bounded(look, f"reading {permit.disk.path}")
        except ProblemError as error:
            return error.problems[0]

    def about_to_write(self, disks: Sequence[str]) -> None:
        """Record before the first byte is written that these disks are no longer zero and have to be made blank again.

        Raises ProblemError, so that none of them is written to: `disk-taken` if one has foreign data, `busy` if something
        other than a layer uses it.
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
        """Raise ProblemError (exit 130) if the operator cancelled the run."""
        if self.cancelled.is_set():
            raise fail(CANCELLED, "the run was cancelled", exit=Exit.CANCELLED)

    def attend(self, work: Callable[[Context], T]) -> T:
        """Return `work(self)`, attended as described at `attended`."""
        with self.attended():
            return work(self)

    @contextmanager
    def attended(self) -> Iterator[None]:
        """Attend to commands inside: show their progress, end them on cancel, and give up if nothing progresses."""
        told = False

        def stop() -> None:
            nonlocal told
            if told:
                return  # the teardown that follows has to run to its end
            try:
                self.stop_if_cancelled()
            except ProblemError:
                told = True
                raise

        def tell(seen: Told) -> None:
            with suppress(OSError):  # a progress message that cannot be written is no reason to end a command
                self.report(told_text(seen), None)

        with attending(Attention(self._disks, stop, tell)):
            yield


def told_text(seen: Told) -> str:
    """Return the progress of a command as text: `lvm lvcreate: 1 min 35 s, 3.2 GiB written`."""
    amounts = ((seen.written_bytes, "written"), (seen.discarded_bytes, "discarded"))
    parts = [f"{size_text(amount)} {what}" for amount, what in amounts if amount]
    return "; ".join(filter(None, [", ".join([f"{seen.what}: {duration_text(seen.seconds)}", *parts]), seen.hangs]))
