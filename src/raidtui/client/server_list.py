"""`--on` with several servers: a list with commas, or `@FILE` with one server per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from raidtui.base.text import clean
from raidtui.client.places import place
from raidtui.model.problem import ProblemError, Refusal, fail
from raidtui.model.refusals import FILE, SERVER_TWICE

SERVERS: Final = Refusal(
    "servers",
    "Not a valid list of servers",
    "--on takes several servers as `a,b,c`, or `@FILE` with one server per line; `#` begins a comment. There may be 256.",
    "Correct the list that the message names.",
)

MOST_SERVERS: Final = 256
"""Each needs three descriptors here, and a process has 1024 by default."""
_MOST_BYTES: Final = 1 << 20


def is_list(on: str) -> bool:
    """Return True if `--on` names several servers, or a file of them."""
    if on.startswith("sim:") and Path(on.removeprefix("sim:")).is_file():
        return False  # a recording whose name has a comma
    return "," in on or on.startswith("@")


def read_list(on: str) -> tuple[str, ...]:
    """Return the servers of a list, in order, all of which have valid names. Raises ProblemError (`servers`, …)."""
    names: list[str] = []
    for word in map(str.strip, on.split(",")):
        names += _file_names(word[1:]) if word.startswith("@") else [word]
    if not all(names):
        raise fail(SERVERS, f"{clean(on, 80)}: there is no name between two commas", place="--on")
    if not names:
        raise fail(SERVERS, f"{clean(on, 80)} names no server", place="--on")
    if len(names) > MOST_SERVERS:
        raise fail(SERVERS, f"it names {len(names)} servers; there may be {MOST_SERVERS}", place="--on",
                   remedy="Divide the list, and compare the results with `raidtui compare --servers`.")  # fmt: skip
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise fail(SERVER_TWICE, f"{clean(name, 80)} is named twice", place="--on", remedy="Remove one of the names.")
        seen.add(name)
    for name in names:
        try:
            place(name)
        except ProblemError as error:
            # A lab that is not up is one server that is not reached; the others may be.
            if error.problems[0].code in ("place", "recording"):
                raise
    return tuple(names)


def _file_names(path: str) -> Iterator[str]:
    """Yield the names in a file: one per line, without comments. Raises ProblemError (`file`, `servers`)."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise fail(FILE, f"the list of servers cannot be read: {getattr(error, 'strerror', None) or error}", place=path,
                   remedy="--on @FILE names a file with one server per line.") from None  # fmt: skip
    if len(data) > _MOST_BYTES:
        raise fail(SERVERS, f"the list has more than {_MOST_BYTES >> 20} MiB", place=path)
    for number, line in enumerate(data.decode("utf-8", "backslashreplace").splitlines(), 1):
        name = line.partition("#")[0].strip()
        if len(name.split()) > 1 or "," in name or name.startswith("@"):
            raise fail(SERVERS, f"line {number} is not the name of one server: {clean(name, 80)}", place=path,
                       remedy="Write one server per line.")  # fmt: skip
        if name:
            yield name
