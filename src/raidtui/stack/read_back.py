"""Comparison of a built object with the requested one, and the problems of an initial sync."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from raidtui.model.problem import Exit, ProblemError, Refusal, fail

READ_BACK: Final = Refusal(
    "read-back",
    "Not built as requested",
    "The finished object, as the kernel and the tools report it, differs from the scenario. Numbers measured on it would "
    "carry the wrong name, so it was removed.",
    "The message lists the requested and the found values. Another kernel or tool version may behave differently.",
)
WRONG_MEMBERS: Final = Refusal(
    "wrong-members",
    "Built on other devices",
    "The devices below the new object are not exactly the intended ones. The object was removed at once.",
    "Disks may have been re-plugged at that moment: plan again.",
)
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


class Difference(NamedTuple):
    """A property with its requested and its found value."""

    what: str
    asked: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.what}: asked {self.asked}, found {self.found}"


def mismatch(what: str, name: str, wrong: Sequence[Difference], remedy: str) -> ProblemError:
    """Return the ProblemError (`read-back`) about these differences. `what`: `the array`."""
    text = f"{what} is not as asked: " + "; ".join(map(str, wrong))
    return fail(READ_BACK, text, place=name, remedy=remedy, exit=Exit.BUILD_FAILED)
