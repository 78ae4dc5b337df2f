"""Servers beside each other, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from raidtui.base.text import clean, named, plural
from raidtui.results.old_new import change_text
from raidtui.results.rates import rate_text
from raidtui.results.servers import (
    LEAST_SERVERS,
    UNLIKE_SHARE,
    UNLIKE_Z,
    Difference,
    Line,
    ServerComparison,
    Unlike,
    Value,
)

_MOST_NAMED = 8


class Said(NamedTuple):
    """A paragraph of the comparison."""

    words: str
    mark: str = ""
    indent: int = 0
    head: bool = False


def server_lines(found: ServerComparison) -> Iterator[Said]:
    """Yield the answer, then each layout × workload with the values of all servers, then what differs between servers."""
    if any(value.z is not None for line in found.lines for value in line.values):
        if not found.unlike:
            yield Said("No server is unlike the others.", "✓")
        for one in found.unlike:
            yield Said(unlike_words(one), "✗")
    for note in found.notes:
        yield Said(note, "⚠")
    for line in found.lines:
        yield Said(_head(line), head=True)
        yield Said(" · ".join(_value(value, line) for value in _ascending(line)), indent=2)
        missing = [value for value in line.values if value.value is None]
        for why in dict.fromkeys(value.why for value in missing):
            who = [clean(value.server, 80) for value in missing if value.why == why]
            yield Said(f"{named(who, _MOST_NAMED)}: {clean(why)}", "–", 2)
    if found.differences:
        yield Said("What differs between the servers", head=True)
    for difference in found.differences:
        yield Said(difference_words(difference, len(found.servers)), indent=2)
    if len(found.servers) >= LEAST_SERVERS:
        yield Said(f"✗: a modified z-score above {UNLIKE_Z:g} (median and median absolute deviation, Iglewicz and Hoaglin "
                   f"1993), and at least {UNLIKE_SHARE * 100:g} % from the median, of {LEAST_SERVERS} servers or more"
                   )  # fmt: skip


def unlike_words(one: Unlike) -> str:
    """`d is unlike the others in 6 of 6 layouts × workloads: -42 % to -38 % of the median; it differs in firmware`."""
    low, high = change_text(one.lowest), change_text(one.highest)
    how = low if low == high else f"{low} to {high}"
    facts = f"; it differs in {named([clean(fact, 80) for fact in one.facts], 6)}" if one.facts else (
        "; nothing that is known of its hardware and settings differs from the majority")  # fmt: skip
    return f"{clean(one.server, 80)} is unlike the others in {one.lines} of {one.of} layouts × workloads: {how}{facts}"


def difference_words(difference: Difference, servers: int) -> str:
    """`firmware: 2.5 on 3 servers; on d: 2.6`."""
    values: dict[str, list[str]] = {}
    for server, value in difference.servers.items():
        values.setdefault(value, []).append(clean(server, 80))
    of_most = f"{clean(difference.most, 200)} on {plural(servers - len(difference.servers), 'server')}"
    parts = [of_most] if difference.most else []
    shown = sorted(values.items(), key=lambda item: -len(item[1]))
    parts += [f"on {named(who, _MOST_NAMED)}: {clean(value, 200)}" for value, who in shown[:_MOST_NAMED]]
    more = f"; and {len(shown) - _MOST_NAMED} more values" if len(shown) > _MOST_NAMED else ""
    return f"{clean(difference.fact, 120)}: {'; '.join(parts)}{more}"


def _head(line: Line) -> str:
    head = f"{clean(line.layout, 80)} under {clean(line.workload, 80)}"
    values = _ascending(line)
    if not values:
        return f"{head}: no valid number"
    return f"{head}: median {rate_text(line.median, line.unit)} {line.unit} of {plural(len(values), 'server')}"


def _ascending(line: Line) -> list[Value]:
    return sorted((value for value in line.values if value.value is not None), key=lambda value: value.value or 0.0)


def _value(value: Value, line: Line) -> str:
    sign = "✗ " if value.unlike else ""
    z = f", z {value.z:.1f}" if value.unlike and value.z is not None else ""
    share = None if value.off is None or abs(value.off) < 0.0005 else value.off
    off = f" ({change_text(share or 0.0)}{z})" if value.off is not None and (value.unlike or len(line.values) < 8) else ""
    return f"{sign}{clean(value.server, 80)} {rate_text(value.value, line.unit)}{off}"
