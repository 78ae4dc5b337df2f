"""fio's reports of any of its formats: JSON (also json+ and several after one another), terse, and the text it prints."""

from __future__ import annotations

from raidtui.results.imports.fio_parts import json_report, terse, text
from raidtui.results.imports.tables import Building, TableReader

_FORMATS = (json_report, terse, text)


def sniff(head: str) -> bool:
    return any(form.sniff(head) for form in _FORMATS)


def add(making: Building, whole: str, name: str) -> None:
    for form in _FORMATS:
        if form.sniff(whole):
            form.add(making, whole, name)
            return


READER = TableReader("fio", "a report of fio (JSON, terse or text), as a table", sniff, add)
