"""Foreign data on the devices of an interrupted run: after a restart an idle array is assembled, and may get used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from raidtui.gate.last_look import same
from raidtui.inventory import Signature
from raidtui.inventory.signatures import signatures
from raidtui.model.event import StepStarted
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal
from raidtui.stack.blockdev import bounded
from raidtui.stack.catalog import bind
from raidtui.stack.context import Context
from raidtui.stack.nodes import is_suspended

LEFTOVER_FOREIGN: Final = Refusal(
    "leftover-foreign",
    "Foreign data on an array or volume of an interrupted run",
    "An array or volume of the run carries data that the run did not write. Nothing was taken apart, and no disk "
    "was made blank.",
    "Copy what is needed, or wipe it (`wipefs -a`), then run `raidtui recover` again.",
)


def put_to_use(
    context: Context, made: Sequence[StepStarted], leaves: Callable[[Sequence[StepStarted]], list[Signature]]
) -> list[Problem]:
    """One problem (`leftover-foreign`) for each device of these steps that carries what the run did not put there.

    Known by a signature with a UUID or a label that is not among what these steps leave. What cannot be read says nothing,
    nor does content that no tool knows.
    """
    problems = []
    for name in dict.fromkeys(_devices(context, made)):
        with context.attended():
            # What was put there in between may be the run's: a tool that outlived it ends its work.
            theirs = _strange(name, leaves(made)) and _strange(name, leaves(made))
        if theirs:
            what = f"{theirs[0].type} {theirs[0].label or theirs[0].uuid}"
            problems.append(
                Problem(LEFTOVER_FOREIGN.code, f"/dev/{name} carries {what}, which the run did not create", f"/dev/{name}",
                        f"If nobody needs it: wipefs -a /dev/{name}, then: raidtui recover", int(Exit.LEFT_BEHIND))
            )  # fmt: skip
    return problems


def _devices(context: Context, made: Iterable[StepStarted]) -> Iterator[str]:
    """Kernel names of what these steps made, and of its partitions, where it is there and answers."""
    for step in made:
        try:
            members = bind(step.action, step.args).members(context)
        except (OSError, ProblemError):
            continue  # not there, half made, or just going
        for name in (name for name, role in members.items() if name and role == "target" and not is_suspended(name)):
            yield name
            yield from sorted(path.parent.name for path in Path("/sys/class/block", name).glob("*/partition"))


def _strange(name: str, ours: Sequence[Signature]) -> list[Signature]:
    try:
        found = bounded(partial(_signatures_on, name), f"reading /dev/{name}")
    except (OSError, ProblemError):
        return []
    return [one for one in found if (one.uuid or one.label) and not any(same(one, own) for own in ours)]


def _signatures_on(name: str) -> tuple[Signature, ...]:
    fd = os.open(f"/dev/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return signatures(fd, 0, os.lseek(fd, 0, os.SEEK_END), name)
    finally:
        os.close(fd)
