"""Comparison of a built object with the requested one."""

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
