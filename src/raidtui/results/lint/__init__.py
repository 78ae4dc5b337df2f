"""Numbers that contradict themselves: every module here that has a `CHECK`. A new check is a new file.

A check takes a table and yields findings; it never says that a number is right. A published number stands for the interval
that its digits mean, and intervals are compared, not points.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from raidtui.model.table import Finding, Table

Check = Callable[[Table], Iterable[Finding]]


def _found() -> dict[str, Check]:
    found: dict[str, Check] = {}
    for info in pkgutil.iter_modules(__path__):
        made: Check | None = getattr(importlib.import_module(f"{__name__}.{info.name}"), "CHECK", None)
        if made is not None:
            found[info.name] = made
    return dict(sorted(found.items()))


CHECKS = _found()


def lint(table: Table) -> tuple[Finding, ...]:
    """Everything in a table that contradicts itself, check by check, in the table's order."""
    return tuple(dict.fromkeys(finding for check in CHECKS.values() for finding in check(table)))
