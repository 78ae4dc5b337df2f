"""Initial sync of a redundant layer: the proof that it may be skipped, and the wait for its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from typing import Final, Protocol, TypeVar

from raidtui.base.attention import Watch
from raidtui.base.silence import Silent
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.layer import Part

POLL_S: Final = 0.25

NOT_PROVEN_ZERO: Final = Refusal(
    "not-proven-zero",
    "Not proven to be zero",
    "The initial sync may be skipped only if every member was proven to hold nothing but zeroes.",
    'Set "initial_sync" of the policy to "wait".',
)
MEMBER_LOST: Final = Refusal(
    "member-lost",
    "A member was lost",
    "The array lost a member while it was built.",
    "Look at dmesg and the disk's SMART log; replace the disk or choose another one.",
)
SYNC_STALLED: Final = Refusal(
    "sync-stalled",
    "The initial sync makes no progress",
    "The kernel has made no progress with the initial sync for minutes.",
    "Look at the kernel's messages (dmesg) for the devices that are named, then run it again.",
)


class Progress(Hashable, Protocol):
    """Progress of a sync at one moment."""

    @property
    def finished(self) -> bool: ...

    @property
    def fraction(self) -> float | None:
        """Share that is done; None if unknown."""


P = TypeVar("P", bound=Progress)


def are_disks(parts: Iterable[Part]) -> bool:
    """Return True if all are whole disks: only these are proven zero, and not partitions or devices of layers."""
    return all(part.ref.startswith("disk:") for part in parts)


def wait_title(parts: Iterable[Part], policy: Policy) -> str:
    """Return the title of the step that waits for the sync, with the reason where the policy asks to skip it."""
    if policy.initial_sync == "skip-if-zeroed" and not are_disks(parts):
        return "Wait for the initial sync, which is not skipped: only whole disks are proven zero"
    return "Wait for the initial sync"


def sync_mode(context: Context, members: Iterable[str], *, redundant: bool, skip: bool) -> str:
    """Return the initial-sync mode for the facts of a step.

    Raises ProblemError (`not-proven-zero`) if it is to be skipped and a member has no proof.
    """
    if not redundant:
        return "none needed"
    if not skip:
        return "not finished"
    methods = set()
    for ref in members:
        proof = context.zero_proof.get(ref.removeprefix("disk:"))
        if proof is None:
            raise fail(NOT_PROVEN_ZERO, "the initial sync cannot be skipped: the disk was not proven to be zero",
                       place=ref, remedy='Set "initial_sync" of the policy to "wait".', exit=Exit.BUILD_FAILED)  # fmt: skip
        methods.add(str(proof.get("method", "read back")))
    return f"skipped: all members were proven zero ({', '.join(sorted(methods))})"


def wait_for_sync(context: Context, name: str, read: Callable[[], P], lost: Callable[[P], str]) -> Outcome:
    """Wait until the sync of the object with this name has finished.

    `lost` returns what the object lost, as a sentence, or an empty text. Raises ProblemError: `cancelled`, `member-lost`,
    `sync-stalled` if neither the sync nor a disk of the run progresses.
    """
    began = time.monotonic()
    last: P | None = None
    watch = Watch("the initial sync", lambda: last, tells=False)
    while not (now := read()).finished:
        context.stop_if_cancelled()
        if text := lost(now):
            remedy = "Look at dmesg and the disk's SMART log."
            raise fail(MEMBER_LOST, text, place=name, remedy=remedy, exit=Exit.BUILD_FAILED)
        if now != last:
            last = now
            context.report("initial sync", now.fraction)
        try:
            watch.tick()
        except Silent as silent:
            text = f"the initial sync {silent.text}"
            raise fail(SYNC_STALLED, text, place=name, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from silent
        time.sleep(POLL_S)
    seconds = time.monotonic() - began
    return Outcome("done", {"initial_sync": f"waited for {seconds:.0f} s", "sync_seconds": round(seconds, 3)})
