"""Reports of iperf3 as JSON (`iperf3 -J`): the rate of a network link, a ceiling of what is behind it, no disk layout."""

from __future__ import annotations

from typing import Any, Final

from raidtui.foreign.sources import Building, TableReader, exact, unreadable
from raidtui.model.jsonio import read_json
from raidtui.model.table import MAX_TABLE_BYTES, Asked
from raidtui.results.load import named

_SUMS: Final = (
    ("sum_received", "received"), ("sum_received_bidir_reverse", "received in reverse"), ("sum", "sent"),
    ("sum_bidir_reverse", "sent in reverse"),
)  # fmt: skip
"""Totals of a report: TCP has those of the receiver, older versions and UDP only `sum`."""


def sniff(text: str) -> bool:
    return text.lstrip().startswith("{") and '"start"' in text[:400] and '"iperf ' in text[:8000]


def add(making: Building, text: str, name: str) -> None:
    with named(name):
        report = read_json(text.encode(), max_bytes=MAX_TABLE_BYTES)
    if not isinstance(report, dict):
        raise unreadable(name, "it is no report of iperf3")
    if report.get("error"):
        raise unreadable(name, f"iperf3 failed: {str(report['error'])[:200]}", "Measure the link again.")
    start, end = _section(report, "start"), _section(report, "end")
    sums = {word: found for key, word in _SUMS if isinstance(found := end.get(key), dict) and "bits_per_second" in found}
    if "received" in sums:
        sums = {word: found for word, found in sums.items() if not word.startswith("sent")}
    if not sums:
        raise unreadable(name, "the report has no totals at its end: the test did not finish", "Measure the link again.")
    test, first = _section(start, "test_start"), _first(start.get("connected"))
    link = f"network link {first.get('local_host', '?')} to {first.get('remote_host', '?')}"
    layout = making.layout(link)
    making.head.setdefault("source", str(start.get("version", "iperf3")))
    making.head.setdefault("date", str(_section(start, "timestamp").get("time", "")))
    streams, protocol = test.get("num_streams", 1), str(test.get("protocol", "TCP"))
    direction = ", reverse" if test.get("reverse") else ""
    for word, found in sums.items():
        what = f"{protocol}, {streams} streams{direction}, {word}"
        workload = making.workload(f"iperf3 {what}", Asked(label=f"network: {what}"))
        place = f"{name}: $.end"
        bits = found["bits_per_second"]
        if not isinstance(bits, (int, float)) or isinstance(bits, bool):
            raise unreadable(place, "bits_per_second is no number")
        making.add(layout, workload, "bandwidth", exact(float(bits) / 8), "B/s", place)
    making.note(f"{name}: these are rates of a network link: a ceiling of what is measured through it, no disk layout.")


def _section(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _first(value: Any) -> dict[str, Any]:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


IPERF3 = TableReader("iperf3", "a report of iperf3 -J: a network link, as a table", sniff, add)
