"""What an action may use: the permits of the run's disks, and what was built so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from raidtui.gate.permit import Permit
from raidtui.model.problem import Exit, fail


class Context:
    """Handed to every action of one run.

    `permits` is the only way to a disk. `built` maps references of layers (`md:NAME`) to their present device path; an
    action that creates a device adds it, the one that takes it away removes it. `zero_proof` says of each disk how it was
    proven to be zero, until something writes to it.
    """

    def __init__(
        self,
        run: str,
        folder: Path,
        permits: dict[str, Permit],
        report: Callable[[str, float | None], None],
        cancelled: threading.Event,
    ) -> None:
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

    def about_to_write(self, disks: Sequence[str]) -> None:
        """Say so before the first byte: these disks are no longer known to be zero, and are to be made blank again."""
        for disk in disks:
            self.zero_proof.pop(disk, None)
            self.written.add(disk)
            self.ever_written.add(disk)

    def stop_if_cancelled(self) -> None:
        """Raise ProblemError (exit 130) when the operator asked to cancel."""
        if self.cancelled.is_set():
            raise fail("cancelled", "the run was cancelled", exit=Exit.CANCELLED)
