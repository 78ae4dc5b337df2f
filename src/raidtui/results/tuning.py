"""What was tuned for a layout, in lines: alike settings of several devices are one."""

from __future__ import annotations

from raidtui.base.text import clean, plural
from raidtui.model.result import Built, Tuned


def tuning_lines(built: Built) -> list[str]:
    """`queue/scheduler mq-deadline of 3 devices; was none, put back`."""
    groups: dict[tuple[str, Tuned], list[str]] = {}
    for what, tuned in built.tuning.items():
        owner, _, file = what.rpartition(" ")
        groups.setdefault((file, tuned), []).append(owner)
    return [_line(file, tuned, owners) for (file, tuned), owners in groups.items()]


def _line(file: str, tuned: Tuned, owners: list[str]) -> str:
    where = f" of {plural(len(owners), 'device') if len(owners) > 1 else clean(owners[0], 80)}" if owners[0] else ""
    if not tuned.set:
        return f"{clean(file)} {clean(tuned.asked)}{where}: not set; {_end(tuned)}"
    rounded = f" (asked {clean(tuned.asked)})" if tuned.set != tuned.asked else ""
    return f"{clean(file)} {clean(tuned.set)}{rounded}{where}; was {clean(tuned.found)}, {_end(tuned)}"


def _end(tuned: Tuned) -> str:
    if not tuned.restored:
        return "NOT put back"
    return "put back" if tuned.restored == tuned.found else clean(tuned.restored)
