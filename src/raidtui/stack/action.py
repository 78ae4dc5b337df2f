"""Actions: the functions behind the steps of a plan, with typed arguments.

The arguments of a step are JSON data in plans and journals. They are decoded once, where the step begins to run (`bind`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from raidtui.inventory import Signature
from raidtui.model.mark import Mark
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, Refusal, fail
from raidtui.stack.builder.seen import Expected
from raidtui.stack.context import Context

Args = TypeVar("Args")

STEP_ARGUMENTS: Final = Refusal(
    "step-arguments",
    "The arguments of a step cannot be read",
    "The plan or journal of a run was written by another version of raidtui, or was changed. Nothing was done.",
    "Use the version of raidtui that wrote it; `raidtui runs` names it.",
)


class Outcome(NamedTuple):
    """The outcome of an action. `result`: `created`, `already there`, `done`, `undone`, `nothing to do`."""

    result: str
    facts: dict[str, Any] = {}  # noqa: RUF012 - never written to
    """Read-back values as JSON data."""
    commands: tuple[Argv, ...] = ()
    """Executed commands."""
    problems: tuple[Problem, ...] = ()
    """Parts of the work that failed although the rest was done: the step fails, but its facts are valid."""


def _nothing_to_undo(context: Context, args: Any) -> Outcome:
    return Outcome("nothing to do")


def _nothing(*_: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Action(Generic[Args]):
    """One kind of step: functions that share one type of arguments."""

    args: type[Args]
    """A frozen struct that describes the whole object, so that each step can be run, and undone, alone."""
    do: Callable[[Context, Args], Outcome]
    """Do the step. Raises ProblemError if it fails; `undo` then still finds whatever was created."""
    undo: Callable[[Context, Args], Outcome] = _nothing_to_undo
    """Remove what `do` may have created: by UUID, nothing else; it may be called any number of times."""
    health: Callable[[Context, Args], tuple[str, ...]] = _nothing
    """Return the reasons why numbers measured on this object would be wrong now; called before and after every cell."""
    watch: Callable[[Context, Args], Callable[[], tuple[Mark, ...]]] = lambda *_: tuple
    """Look at what surrounds the object when a cell begins. The returned function looks again when the cell has ended, and
    returns what must be known of its numbers; the kinds of marks are refusals of the layer."""
    daemons: Callable[[Context, Args], Mapping[str, int]] = lambda *_: {}
    """Return how many daemons of its cluster are up now, by kind (`Layer.daemons`), wherever they run; nothing if that is
    not known."""
    settle: Callable[[Context, Args], tuple[Argv, ...]] = _nothing
    """Bring the object to rest before a cell begins; return what was done for it. Raises ProblemError."""
    members: Callable[[Context, Args], Mapping[str, str]] = lambda *_: {}
    """Return kernel names of the object and its members with their role: `{"md127": "target", "sda": "member"}`."""
    expect: Callable[[Context, Args], tuple[Expected, ...]] = _nothing
    """Return the devices that blivet should see once the layout is built, until it is taken down."""
    claims: Callable[[Args], tuple[str, ...]] = _nothing
    """Return the server-wide settings that the step changes; only one run at a time may hold each of them."""
    relies_on: Callable[[Args], tuple[str, ...]] = _nothing
    """Return the server-wide settings that the numbers depend on; no other run changes them meanwhile."""
    in_the_way: Callable[[Args], Iterable[Problem]] = _nothing
    """Yield what on this server keeps the step from being done, before anything is built: an address that is taken."""
    leaves: Callable[[Args], tuple[tuple[str, ...], ...]] = _nothing
    """Return the signatures that the step may leave on disks, which recovery may wipe: (type, UUID) or (type, "", label).

    A type named here without UUID and label also matches inside partitions of a named partition table.
    """

    def bind(self, args: Mapping[str, Any]) -> BoundAction:
        """Decode the arguments of a step. Raises ProblemError (`step-arguments`)."""
        try:
            return BoundAction(self, msgspec.convert(args, self.args))
        except msgspec.ValidationError as error:
            raise fail(STEP_ARGUMENTS, str(error), exit=Exit.LEFT_BEHIND) from None


class BoundAction(NamedTuple):
    """An action with its decoded arguments. The methods are those of `Action`."""

    action: Action[Any]
    args: Any

    def do(self, context: Context) -> Outcome:
        return self.action.do(context, self.args)

    def undo(self, context: Context) -> Outcome:
        return self.action.undo(context, self.args)

    def health(self, context: Context) -> tuple[str, ...]:
        return self.action.health(context, self.args)

    def watch(self, context: Context) -> Callable[[], tuple[Mark, ...]]:
        return self.action.watch(context, self.args)

    def daemons(self, context: Context) -> Mapping[str, int]:
        return self.action.daemons(context, self.args)

    def settle(self, context: Context) -> tuple[Argv, ...]:
        return self.action.settle(context, self.args)

    def members(self, context: Context) -> Mapping[str, str]:
        return self.action.members(context, self.args)

    def expect(self, context: Context) -> tuple[Expected, ...]:
        return self.action.expect(context, self.args)

    def claims(self) -> tuple[str, ...]:
        return self.action.claims(self.args)

    def relies_on(self) -> tuple[str, ...]:
        return self.action.relies_on(self.args)

    def in_the_way(self) -> Iterable[Problem]:
        return self.action.in_the_way(self.args)

    def leaves(self) -> tuple[tuple[str, ...], ...]:
        return self.action.leaves(self.args)


def signatures_left(done: Iterable[BoundAction]) -> list[Signature]:
    """Return the signatures that these steps may leave on disks."""
    return [Signature(kind, uuid, "".join(label)) for step in done for kind, uuid, *label in step.leaves()]
