"""May a cell's numbers be believed? Every module here that has a `CHECK` is asked. A new check is a new file.

A check is pure: it takes what was seen (`evidence.py`) and yields marks (`model.mark`), each with a code of its own, a
sentence with the figures, and what `raidtui explain` says of it. It never says that a number is right.
"""

from __future__ import annotations

import importlib
import pkgutil

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark, gravest_first


def _found() -> dict[str, Check]:
    found: dict[str, Check] = {}
    for info in pkgutil.iter_modules(__path__):
        check: Check | None = getattr(importlib.import_module(f"{__name__}.{info.name}"), "CHECK", None)
        if check is not None:
            found[info.name] = check
    return dict(sorted(found.items(), key=lambda item: (item[1].rank, item[0])))


CHECKS = _found()
MEANINGS: dict[str, Meaning] = {one.code: one for check in CHECKS.values() for one in check.meanings}


UNCHECKED = Meaning(
    "unchecked",
    "caution",
    "A check could not be made",
    "The check met something that raidtui's authors did not foresee: whether the number is what it looks like in this "
    "respect is not known.",
    "Report it, with the result file.",
)
MEANINGS[UNCHECKED.code] = UNCHECKED


def marks(evidence: Evidence) -> tuple[Mark, ...]:
    """Everything that must be known of the cell, the gravest first."""
    return gravest_first(mark for name, check in CHECKS.items() for mark in _asked(name, check, evidence))


def _asked(name: str, check: Check, evidence: Evidence) -> list[Mark]:
    try:
        return list(check.find(evidence))
    except Exception as error:  # a boundary: hours of measuring are not lost to a check that stumbles
        return [UNCHECKED.mark(f"the check {name} failed: {type(error).__name__}: {error}", about=name)]
