"""The second pair of eyes: a layout as blivet sees it, after its build and before its teardown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.stack.action import BoundAction
from raidtui.stack.builder.seen import second_look
from raidtui.stack.context import Context
from raidtui.stack.read_back import mismatch

_REMEDY: Final = "Something else changed it, or this version of blivet reads it otherwise."


def look_again(layout: str, built: Sequence[BoundAction], context: Context) -> None:
    """Compare what stands on the run's disks with what should. Raises ProblemError (`read-back`)."""
    expected = [one for action in built for one in action.expect(context)]
    if not expected:
        return
    disks = [permit.disk.name for permit in context.permits.values()]
    with context.attended():
        wrong = second_look(context.builder, disks, expected)
    if wrong:
        raise mismatch("the layout", layout, wrong, _REMEDY)
