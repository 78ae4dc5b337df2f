"""Actions that belong to no layer: making a disk blank."""

from __future__ import annotations

from typing import Any, Final

from raidtui.gate.blank import make_blank
from raidtui.model.problem import Exit, fail
from raidtui.stack.context import Context
from raidtui.stack.layer import Action, Outcome


class ZeroDisk(Action):
    """Bring a whole disk to zeroes and prove it by reading back.

    Arguments: `disk` (reference), `if_written`: do nothing on a disk that this run did not write to, because then there is
    nothing of ours on it.
    """

    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        disk = str(args["disk"]).removeprefix("disk:")
        if disk in context.zero_proof:
            return Outcome("already there", context.zero_proof[disk])
        if args.get("if_written") and disk not in context.written:
            return Outcome("nothing to do")
        if disk not in context.permits:
            raise fail("no-permit", f"disk {disk} is not part of this run", place=disk, exit=Exit.REFUSED)
        context.about_to_write([disk])
        proof = make_blank(
            context.permits[disk],
            progress=lambda done, size: context.report("writing zeroes", done / size),
            cancelled=context.cancelled.is_set,
        )
        context.zero_proof[disk] = proof
        context.written.discard(disk)
        return Outcome("done", proof)


ACTIONS: Final[dict[str, Action]] = {"disk.zero": ZeroDisk()}
