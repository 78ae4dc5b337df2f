"""Checks of numbers that contradict each other. A new check is a function and an entry in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Final

from raidtui.foreign.lint.commands import check_labels, check_layouts
from raidtui.foreign.lint.percents import check_claims, check_percents
from raidtui.foreign.lint.rates import check_columns, check_rates
from raidtui.foreign.lint.repeats import check_outliers, check_repeats
from raidtui.model.table import Finding, Table

Check = Callable[[Table], Iterable[Finding]]

CHECKS: Final = MappingProxyType[str, Check](
    {
        "claims": check_claims,
        "label_commands": check_labels,
        "layout_commands": check_layouts,
        "outliers": check_outliers,
        "percents": check_percents,
        "rates": check_rates,
        "repeats": check_repeats,
        "slipped_columns": check_columns,
    }
)


def lint(table: Table) -> tuple[Finding, ...]:
    """Return all contradictions in a table, check by check, in the table's order."""
    return tuple(dict.fromkeys(finding for check in CHECKS.values() for finding in check(table)))
