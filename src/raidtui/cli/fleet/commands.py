"""Commands that `--on` with several servers has; the others are refused."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from typing import Final

from raidtui.base.text import clean
from raidtui.client.server_list import is_list, read_list
from raidtui.model.problem import Refusal, fail

ONE_SERVER: Final = Refusal(
    "one-server",
    "The command is for one server",
    "--on names several servers, and the command or the option works on one. Nothing was done.",
    "Use it with --on for each server alone. For many servers there are replay, attach, plan, disks, doctor, runs, cancel "
    "and recover.",
)

_MODULES: Final = {
    "replay": "replay", "attach": "replay", "plan": "planning",
    "disks": "lists", "doctor": "lists", "runs": "lists", "cancel": "lists", "recover": "lists",
}  # fmt: skip
_OF_ONE: Final = (("run_id", "RUN"), ("without", "--without"), ("watch", "--watch"), ("host", "--host"),
                  ("language", "--as"))  # fmt: skip
"""Arguments that name something of one server."""


def for_many(args: Namespace) -> Callable[[Namespace], int] | None:
    """Return the command for the servers of `--on`; None if it names one. Raises ProblemError (`one-server`, `servers`)."""
    if not is_list(args.on):
        return None
    name = args.command or ""
    if name not in _MODULES:
        what = f"`raidtui {clean(name)}`" if name else "the screens"
        words = shlex.join(["raidtui", "--on", _first(args.on), *filter(None, [name])])
        raise fail(ONE_SERVER, f"{what} cannot be used with several servers", place="--on",
                   remedy=f"Name one: {clean(words)} …\nFor several: {', '.join(_MODULES)}.")  # fmt: skip
    for attribute, option in _OF_ONE:
        if getattr(args, attribute, None):
            raise fail(ONE_SERVER, f"`raidtui {name}` takes {option} only with one server", place=option,
                       remedy=f"Name one: raidtui --on {clean(_first(args.on))} {name} …")  # fmt: skip
    servers = read_list(args.on)
    run: Callable[[Namespace, tuple[str, ...]], int] = import_module(f"raidtui.cli.fleet.{_MODULES[name]}").COMMANDS[name]
    return lambda args: run(args, servers)


def _first(on: str) -> str:
    first = on.split(",")[0].strip()
    return "HOST" if not first or first.startswith("@") else first
