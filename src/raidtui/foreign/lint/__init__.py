"""Checks of numbers that contradict each other. A new check is a function and an entry in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from raidtui.foreign.lint.commands import check_labels, check_layouts
from raidtui.foreign.lint.groups import Group, grouped
from raidtui.foreign.lint.in_flight import check_in_flight
from raidtui.foreign.lint.percents import check_claims, check_percents
from raidtui.foreign.lint.rates import check_columns, check_rates
from raidtui.foreign.lint.repeats import check_outliers, check_repeats
from raidtui.model.table import Finding, Table

__all__ = ["CHECKED", "Group", "grouped", "lint"]

CHECKS: Final[tuple[tuple[str, Callable[[Table], Iterable[Finding]]], ...]] = (
    ("claims of the text", check_claims),
    ("latency against queue depth", check_in_flight),
    ("labels against commands", check_labels),
    ("labels against commands", check_layouts),
    ("disks of one model", check_outliers),
    ("percentages", check_percents),
    ("operations and units against bandwidth", check_rates),
    ("copied numbers", check_repeats),
    ("operations and units against bandwidth", check_columns),
)
"""Each check with what it checks, in words."""
CHECKED: Final = tuple(dict.fromkeys(words for words, _ in CHECKS))


def lint(table: Table) -> tuple[Finding, ...]:
    """Return all contradictions in a table, check by check, in the table's order."""
    return tuple(dict.fromkeys(finding for _, check in CHECKS for finding in check(table)))
