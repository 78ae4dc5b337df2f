"""Server-wide settings that runs change, such as the parameters of ZFS: one run at a time, and none after one that died.

Runs whose numbers only rely on it go on together, and none of them beside one that changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from raidtui.engine.run import runs
from raidtui.gate import locks
from raidtui.model.event import StepStarted
from raidtui.model.plan import Step
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal
from raidtui.stack.catalog import all_actions, bind

CLAIM_LEFT: Final = Refusal(
    "claim-left",
    "An interrupted run left a server-wide setting changed",
    "A run that died had changed a setting of the whole server that this run would change too, such as the "
    "parameters of ZFS. The original value is not in force.",
    "`raidtui recover RUN` restores it.",
)


def claims_of(steps: Iterable[Step | StepStarted]) -> tuple[str, ...]:
    """Everything that these steps change of the whole server, in words."""
    actions = all_actions()
    return tuple(dict.fromkeys(c for s in steps if s.action in actions for c in bind(s.action, s.args).claims()))


def relied_on(steps: Iterable[Step | StepStarted]) -> tuple[str, ...]:
    """Everything of the whole server that numbers measured on these steps depend on, in words."""
    actions = all_actions()
    return tuple(dict.fromkeys(c for s in steps if s.action in actions for c in bind(s.action, s.args).relies_on()))


def take(run: str, claims: Iterable[str], relied: Iterable[str] = ()) -> list[locks.Lock]:
    """Hold all of these until they are released, or the process ends; what is only relied on together with others.

    Raises ProblemError: `held` while another run has one of them, `claim-left` where another one died and left it changed.
    """
    taken = locks.take(run, claims, relied)
    try:
        if taken and (left := list(_left_by_others(run, {lock.key for lock in taken}))):
            raise ProblemError(*left)
    except BaseException:
        release(taken)
        raise
    return taken


def release(taken: Iterable[locks.Lock]) -> None:
    for lock in taken:
        lock.release()


@contextmanager
def held(run: str, step: StepStarted) -> Iterator[None]:
    """Hold what a dead run's step changed, while it is undone. Raises ProblemError (`held`) if another run holds it."""
    taken = locks.take(run, claims_of([step]))
    try:
        yield
    finally:
        release(taken)


def _left_by_others(run: str, claims: set[str]) -> Iterator[Problem]:
    for name, story in runs.interrupted():
        if story.unreadable:
            still: Sequence[Step | StepStarted] = runs.steps_of(runs.folder_of(name))  # any of them may have been done
        else:
            still = [step for step in story.made if step.creates and step.creates.uuid in story.left]
        for claim in claims.intersection(claims_of(still)) if name != run else ():
            yield Problem(CLAIM_LEFT.code, f"run {name} was interrupted while it had changed them", claim,
                          f"raidtui recover {name}", int(Exit.REFUSED))  # fmt: skip
