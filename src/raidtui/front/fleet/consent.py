"""Disks of many servers on one command line: `SERVER:ROLE=ID,…` and `SERVER:ID,…`. No disk is named without its server."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from raidtui.base.text import clean
from raidtui.front.files import read_bytes
from raidtui.front.plan import check_consent, erased_disks, writable_name
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import ERASE_TOO_MANY

SERVER_WORD: Final = Refusal(
    "server-word",
    "Disks without a server of the list",
    "With several servers, --bind and --erase name the server before the disks: disks of one server are not those of "
    "another. The server must be one of --on. Nothing was touched.",
    "Write --bind SERVER:ROLE=SERIAL,SERIAL and --erase SERVER:SERIAL,SERIAL.",
)


def split_server(word: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the server that a word begins with, and the rest of the word; None if it is none of `names`."""
    fitting = [name for name in names if word.startswith(f"{name}:")]
    if not fitting:
        return None
    name = max(fitting, key=len)
    return name, word[len(name) + 1 :]


def by_server(words: Sequence[str], names: Sequence[str], option: str, exit: Exit) -> dict[str, list[str]]:
    """Return the rest of each word by its server. Raises ProblemError (`server-word`) where one has none."""
    found: dict[str, list[str]] = {}
    for word in words:
        split = split_server(word.strip(), names)
        if split is None:
            rest = "ROLE=ID,ID" if option == "--bind" else "ID,ID"
            raise fail(SERVER_WORD, f"{clean(word, 80)!r} does not begin with a server of --on", place=option, exit=exit,
                       remedy=f"Write it as {option} {clean(names[0], 80)}:{rest}; nothing was touched.")  # fmt: skip
        found.setdefault(split[0], []).append(split[1])
    return found


def erase_words(words: Sequence[str]) -> list[str]:
    """Return the words of `--erase`; `@FILE` stands for the lines of a file. Raises ProblemError (`file`)."""
    found: list[str] = []
    for word in words:
        if not word.startswith("@"):
            found.append(word)
            continue
        lines = read_bytes(word[1:]).decode("utf-8", "backslashreplace").splitlines()
        found += [text for line in lines if (text := line.partition("#")[0].strip())]
    return found


def check_consents(plans: Mapping[str, Plan], named: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the disks to erase by server, if exactly these were named for each server. Raises ProblemError (exit 3).

    One wrong name refuses all servers: nothing is touched anywhere.
    """
    found: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for server, plan in plans.items():
        try:
            found[server] = check_consent(plan, named.get(server, ()))
        except ProblemError as error:
            problems += [_of(server, problem, plans, named) for problem in error.problems]
    if problems:
        raise ProblemError(*problems)
    return found


def _of(server: str, problem: Problem, plans: Mapping[str, Plan], named: Mapping[str, Sequence[str]]) -> Problem:
    """Return the problem of one server; a disk that is another server's is said to be so."""
    message = f"{clean(server, 80)}: {problem.message}"
    if problem.code == ERASE_TOO_MANY.code:
        owners = [other for other, plan in plans.items() if other != server and set(plan.erases) & set(named[server])]
        message += f" ({clean(owners[0], 80)} has it)" if owners else ""
    remedy = problem.remedy.replace("to --erase", f"to --erase {server}:…")
    return msgspec.structs.replace(problem, message=message, remedy=remedy)


def command_lines(plans: Mapping[str, Plan], words: Sequence[str]) -> list[str]:
    """Return a command on several lines: `words`, and the consent to erase the disks of each server."""
    lines = [clean(shlex.join(words), limit=65536)]
    for server, plan in plans.items():
        if plan.erases:
            ids = ",".join(writable_name(disk) for disk in erased_disks(plan))
            lines.append(clean(shlex.join(["--erase", f"{server}:{ids}"]), limit=65536))
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
