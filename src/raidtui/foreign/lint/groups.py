"""Findings of one kind as one sentence, with the findings behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from raidtui.model.table import Finding


class Group(NamedTuple):
    """Findings of one code and one kind, in the table's order."""

    code: str
    sentence: str
    """Statement about all of them; of a single one its own sentence."""
    findings: tuple[Finding, ...]


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Return the groups, each where its first finding stands; groups of one code stand together."""
    kinds: dict[str, dict[str, list[Finding]]] = {}
    for finding in findings:
        # What has no kind stands alone.
        of_code = kinds.setdefault(finding.code, {})
        of_code.setdefault(finding.kind or f"{finding.where}: {finding.sentence}", []).append(finding)
    return tuple(
        Group(code, _sentence(these), tuple(these)) for code, of_code in kinds.items() for these in of_code.values()
    )


def _sentence(findings: list[Finding]) -> str:
    first, count = findings[0], len(findings)
    if count == 1:
        return first.sentence
    if not first.among:
        return f"{count} {first.kind}."
    return f"All {count} {first.kind}." if count == first.among else f"{count} of {first.among} {first.kind}."
