"""What every reader of foreign files offers. A reader is one module here with one object named `READER`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Source(NamedTuple):
    """One file as it was given: its name, for messages and titles, and its whole content."""

    name: str
    data: bytes
    mapping: tuple[tuple[str, str], ...] = ()
    """What the columns of a plain table are, where their headings do not say it: `("layout", "Setup")`."""


class Imported(NamedTuple):
    """What came of the files."""

    document: Any
    """A scenario, a result or a table as plain JSON data."""
    suffix: str
    """Of a file that holds it: `.scenario.json`, `.table.json`."""
    notes: tuple[str, ...] = ()
    """What was taken for something else or left out, one sentence each: nothing is lost silently."""


class Reader(Protocol):
    """One kind of foreign file."""

    name: str
    """The word for it on the command line: `fio-job`."""
    title: str
    """What it is, short: `fio job file, as a scenario`."""

    def claims(self, source: Source) -> bool:
        """Whether this file looks like one of this kind. Never raises; two kinds never claim the same file."""

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        """Raises ProblemError naming file, line and what cannot be taken over.

        With `leave_out`, what has no counterpart here is left out and said instead of refused.
        """
