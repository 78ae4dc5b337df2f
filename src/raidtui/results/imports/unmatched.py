"""Lines with # and mappings of columns that match nothing in their table: refused with the names that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from raidtui.base.text import named
from raidtui.model.problem import ProblemError
from raidtui.model.table import RATE_UNITS, TIME_UNITS
from raidtui.results.imports.cells import Directive, Row, mapped
from raidtui.results.imports.heading import MAPPED_ROLES
from raidtui.results.imports.table_columns import of_unit
from raidtui.results.imports.tables import unreadable

_MOST_NAMES: Final = 20


def refuse_unmatched(
    blocks: Sequence[Sequence[Row]], directives: Sequence[Directive], given: Mapping[str, str], name: str
) -> None:
    """Roles, columns and units that nobody knows. `given` are mappings of the command line."""
    for role, heading in given.items():
        _refuse_column(blocks, role, heading, name)
    for one in directives:
        place = f"{name}:{one.line}"
        if one.word == "map" and one.subject:
            if one.subject.lower() not in MAPPED_ROLES:
                raise no_such(place, f"{one.subject!r} is nothing that a column can be", MAPPED_ROLES)
            _refuse_column(blocks, one.subject, one.text, place)
        elif one.word == "unit" and not one.subject and of_unit(one.text, "") is None:
            raise no_such(place, f"{one.text!r} is no unit that is known here", ("IOPS", *RATE_UNITS, *TIME_UNITS, "%"))


def no_such(place: str, message: str, names: Iterable[str]) -> ProblemError:
    return unreadable(place, message, f"There are: {named(list(names), _MOST_NAMES)}.")


def _refuse_column(blocks: Sequence[Sequence[Row]], role: str, heading: str, place: str) -> None:
    if not any(mapped(block[0].cells, {role: heading}) for block in blocks):
        raise no_such(place, f"no column is called {heading!r}", blocks[0][0].cells if blocks else ())
