"""Columns of plain tables: their units, names and numbers, and the columns of raidtui's own CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from raidtui.foreign.cells import Row
from raidtui.foreign.headings import Heading, rate_unit, read_heading
from raidtui.foreign.labels import read_label, size_bytes
from raidtui.foreign.sources import Building
from raidtui.model.table import TIME_UNITS
from raidtui.results.lines import VALID
from raidtui.results.tidy import COLUMNS

_OPERATIONS: Final = {"": "IOPS", "iops": "IOPS", "kiops": "kIOPS"}


class Columns(NamedTuple):
    """The columns of one block by what they are."""

    headings: Mapping[int, Heading]

    def of(self, *roles: str) -> list[int]:
        return [index for index, heading in self.headings.items() if heading.role in roles]


def results_of(headings: Mapping[int, Heading]) -> dict[int, Heading]:
    """A column `Result` beside one that says units has the values; as a rule such a column says how it went."""
    if not any(heading.role == "unit" for heading in headings.values()):
        return {}
    named = {index: heading for index, heading in headings.items() if re.fullmatch(r"results?", heading.text.lower())}
    return {index: heading._replace(role="value") for index, heading in named.items()}


def told(texts: Sequence[str]) -> float:
    """Return the mean number of facts that texts contain about workloads."""
    said = [read_label(text) for text in texts]
    parts = sum(p is not None for one in said for p in (one.pattern, one.block_bytes, one.random, one.iodepth))
    return parts / max(1, len(said))


def asked(text: str) -> tuple[object, ...] | None:
    """Return the facts about a workload in a text; None if there are none."""
    said = read_label(text)
    found = (said.pattern, said.block_bytes, said.random)
    return found if any(part is not None for part in found) else None


def by_mapping(role: str, text: str) -> Heading:
    """`layout`, `workload` … as they are; `iops`, `bandwidth:MiB/s`, `share:BASELINE` with what their names cannot say."""
    word, _, rest = role.partition(":")
    if word in ("iops", "bandwidth", "latency"):
        operations = _OPERATIONS.get(rest.lower(), "IOPS")
        units = {"iops": operations, "bandwidth": rate_unit(rest or text), "latency": rest or read_heading(text).unit}
        return Heading("figure", text, word, units[word], "mean" if word == "latency" else "")  # type: ignore[arg-type]
    if word == "share":
        return Heading("share", text, "share", "%", of=rest)
    return Heading(word, text)  # type: ignore[arg-type]


def has_known_unit(role: str) -> bool:
    """Return True if the unit of a mapped column (`bandwidth:MiB/s`) is known, or if it has none."""
    word, _, rest = role.partition(":")
    known = {"iops": rest.lower() in _OPERATIONS, "bandwidth": bool(rate_unit(rest)), "latency": rest in TIME_UNITS}
    return not rest or known.get(word, word == "share")


def of_unit(unit: str, text: str) -> Heading | None:
    """The metric that a unit alone implies."""
    if unit in ("IOPS", "kIOPS"):
        return Heading("figure", text, "iops", unit)
    if unit == "%":
        return Heading("share", text, "share", "%")
    if unit in ("ns", "us", "ms", "s"):
        return Heading("figure", text, "latency", unit, "mean")
    return Heading("figure", text, "bandwidth", rate_unit(unit)) if rate_unit(unit) else None


def unit_of(label: str) -> str:
    """The unit that a workload's label names: `rand read 4k (IOPS)`."""
    heading = read_heading(label)
    return heading.unit if heading.role == "figure" else ""


def named(wanted: str, names: Sequence[str]) -> str:
    """The layout of this name, as its own column writes it."""
    return next((name for name in names if wanted and plain(name) == plain(wanted)), "")


def own_name(share: Heading, names: Sequence[str]) -> str:
    """`raid5` of a column `raid5 (%)`."""
    bare = plain(share.text.replace("%", " "))
    return next((name for name in names if plain(name) == bare), "")


def block_bytes_of(text: str, index: int | None, columns: Columns) -> int | None:
    """Bytes of `4k`, `4096`, or of `4` under a heading that says KiB."""
    if index is None or not text:
        return None
    unit = columns.headings[index].unit
    return size_bytes(f"{text}{unit}" if text.replace(".", "").isdecimal() and unit not in ("", "b") else text) or None


def whole(text: str | None) -> int | None:
    return int(text) or None if text and text.isdecimal() and len(text) < 10 else None


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


_FEW: Final = {"layout", "workload", "state", "iops_per_s", "throughput_MB_per_s"}
"""Nobody else's table has all of these."""
_LATENCY: Final = re.compile(r"(read|write|trim)_(mean|p50|p99|p999|max)_us")
_READ: Final = {
    "layout": Heading("layout", "layout"),
    "workload": Heading("workload", "workload"),
    "round": Heading("round", "round"),
    "command": Heading("command", "command"),
    "queue_depth": Heading("iodepth", "queue depth"),
    "iops_per_s": Heading("figure", "IOPS", "iops", "IOPS"),
    "throughput_MB_per_s": Heading("figure", "MB/s", "bandwidth", "MB/s"),
}


def tidy_headings(cells: Sequence[str]) -> dict[int, Heading]:
    """Return the roles of the columns of raidtui's own CSV, by index; empty for other tables."""
    return {i: _heading(cell) for i, cell in enumerate(cells) if cell in COLUMNS} if set(cells) >= _FEW else {}


def _heading(name: str) -> Heading:
    if (latency := _LATENCY.fullmatch(name)) is None:
        return _READ.get(name, Heading("ignored", name))
    direction, statistic = latency.groups()
    return Heading("figure", "latency", "latency", "us", statistic.replace("p999", "p99.9"), direction)


def valid_rows(making: Building, rows: list[Row], name: str) -> list[Row]:
    """The heading, and the cells that were valid; that there are others is noted."""
    state = rows[0].cells.index("state")
    found = [rows[0], *(row for row in rows[1:] if row.cells[state : state + 1] == (VALID,))]
    if left := len(rows) - len(found):
        lines = "1 line is" if left == 1 else f"{left} lines are"
        making.note(f"{name}:{rows[0].line}: {lines} of no valid cell; not read.")
    return found
