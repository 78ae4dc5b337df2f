"""Checks of numbers that contradict each other. A new check is a function and an entry in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from raidtui.foreign.lint.commands import check_labels, check_layouts
from raidtui.foreign.lint.percents import check_claims, check_percents
from raidtui.foreign.lint.rates import check_columns, check_rates
from raidtui.foreign.lint.repeats import check_outliers, check_repeats
from raidtui.model.table import Finding, Table

CHECKS: Final[tuple[Callable[[Table], Iterable[Finding]], ...]] = (
    check_claims, check_labels, check_layouts, check_outliers, check_percents, check_rates, check_repeats, check_columns,
)  # fmt: skip


def lint(table: Table) -> tuple[Finding, ...]:
    """Return all contradictions in a table, check by check, in the table's order."""
    return tuple(dict.fromkeys(finding for check in CHECKS for finding in check(table)))
