"""Columns of a plain table: the role of each by its heading, by its cells where the heading leaves it open, or by --map."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from raidtui.base.text import clean
from raidtui.foreign.amounts import with_amounts
from raidtui.foreign.cells import Row, numbers, read_cell, said_in
from raidtui.foreign.headings import MAPPED_ROLES, Heading, Role, rate_unit, read_heading, residual
from raidtui.foreign.labels import read_command, read_label, size_bytes, whole
from raidtui.foreign.same_cell import with_surroundings
from raidtui.foreign.statistic_words import is_maximum, kind_of, without_means, without_statistics
from raidtui.model.problem import Refusal, fail
from raidtui.model.table import TIME_UNITS, Asked
from raidtui.results.lines import COLUMNS, VALID

MAP: Final = Refusal(
    "map",
    "--map is not valid",
    "--map states the meaning of a column of a plain table, in the form ROLE=HEADING.",
    "For example: --map layout=Setup --map bandwidth:MiB/s=Speed.",
)
BUILDS: Final = re.compile(
    r"`?(?:sudo\s+)?(?:/\S*/)?(?:mdadm|lvcreate|lvconvert|vgcreate|pvcreate|zpool|zfs|mkfs|mke2fs|cryptsetup)[\s.]"
)
"""A command that makes a layout; all others run a workload."""
_RUNS: Final = re.compile(r"`?(?:sudo\s+)?(?:/\S*/)?(?:fio|dd|iozone|vdbench)\s")
DISKS: Final = re.compile(r"(?:disk|drive|device|ssd|hdd|nvme)s?", re.IGNORECASE)
_VERSUS: Final = re.compile(r"(.+?)\s+(?:vs\.?|versus)\s+(.+)", re.IGNORECASE)
_OF_LAYOUTS: Final = re.compile(
    r"(?:(?:zfs )?record ?size|vol ?block ?size|(?:chunk|strip(?:e|e unit)?)(?: ?size)?)(?:\W*[km]i?b)?\W*", re.IGNORECASE
)
_SETTING: Final = re.compile(
    r"(?<![a-z])(?:disks?|drives?|members?|devices?|ssds?|hdds?|nvmes?|osds?|vdevs?|jobs?|threads?|workers?|clients?|vms?|guests?"
    r"|users?|connections?|sessions?|qd|depth|queues?|chunks?|stripes?|width|blocks?|bs|size|sectors?|level|raid|nodes?|hosts?"
    r"|cores?|streams?|files?|count|number|copies|replicas?|parity|ports?|luns?|slots?|bays?|targets?|ram|memory|version)(?![a-z])",
    re.IGNORECASE,
)
BESIDE: Final[tuple[Role, ...]] = ("block", "iodepth", "numjobs", "fsync")
"""Roles of columns that say more of a workload."""
_OWN: Final = {"layout", "workload", "state", "iops_per_s", "throughput_MB_per_s"}
"""Columns of the CSV that `raidtui compare` writes; no other table has all of these."""
_OWN_READ: Final = {
    **{f"{direction}_{name}_us": Heading("figure", "latency", "latency", "us", statistic, direction)
       for direction in ("read", "write", "trim")
       for name, statistic in (("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))},
    "layout": Heading("layout", "layout"), "workload": Heading("workload", "workload"), "round": Heading("round", "round"),
    "command": Heading("command", "command"), "queue_depth": Heading("iodepth", "queue depth"),
    "iops_per_s": Heading("figure", "IOPS", "iops", "IOPS"),
    "throughput_MB_per_s": Heading("figure", "MB/s", "bandwidth", "MB/s"),
}  # fmt: skip
WHERE_UNITS_STAND: Final = (
    "Write it into the heading (`4k read IOPS`), behind the numbers, or for all of them: `# unit: IOPS`. A column that has "
    "none of it is left out by --map 'ignored=HEADING'."
)
WHAT_DIFFERS: Final = (
    "If the rows are rounds: --map 'round={0}'. If it is part of what was measured: --map 'layout={0}' or "
    "--map 'workload={0}'. If it does not matter: --map 'ignored={0}'."
)
NO_LABELS: Final = "no column says what was measured"
_LOOKED_AT: Final = 200
_MEAN_TIME: Final = re.compile(r"(?:mean|avg\.?|average)[\s,]*[(\[]?\s*(?:[µμu]s|ms|ns|[mun]sec)\s*[)\]]?", re.IGNORECASE)
"""`mean ms`: of operations where other columns count them; alone it may be the time of a program."""
_OPERATIONS: Final = {"": "IOPS", "iops": "IOPS", "kiops": "kIOPS"}


def columns_of(rows: Sequence[Row], mapping: Mapping[str, str]) -> dict[int, Heading]:
    """Return the heading of each column, by index. `mapping` has roles by heading."""
    texts = rows[0].cells
    if set(texts) >= _OWN:
        known = {i: _OWN_READ.get(text, Heading("ignored", text)) for i, text in enumerate(texts) if text in COLUMNS}
        return {i: read_heading(text) for i, text in enumerate(texts)} | known
    headings = {i: read_heading(text) for i, text in enumerate(texts)}
    found = with_amounts(with_surroundings({i: _by_cells(i, headings, rows) for i in headings}, rows), rows)
    names = [i for i, heading in found.items() if heading.role in ("layout", "workload")]
    if len(names) == 1 and re.fullmatch(r"(?i)names?|labels?", texts[names[0]]) and _name_workloads(names[0], found, rows):
        found[names[0]] = found[names[0]]._replace(role="workload")
    found |= {i: heading for i, heading in without_asides(found).items() if i not in (stated := mapped(texts, mapping))}
    return found | {i: by_mapping(role, texts[i])._replace(stated=True) for i, role in stated.items()}


def without_asides(headings: Mapping[int, Heading]) -> dict[int, Heading]:
    """The headings; columns of deviations, counts and extremes of another column are `unread`: `IOPS min`, `raid0 std`.

    A maximum that stands alone is the rate.
    """

    def same(heading: Heading, text: str) -> tuple[object, ...]:
        return heading.role, heading.metric, heading.direction, plain(text)

    found = dict(headings)
    numbers_themselves = {
        same(h, without_means(residual(h.text))) for h in headings.values() if kind_of(h.text) in ("", "mean")
    }
    for index, heading in headings.items():
        kind = kind_of(heading.text)
        if heading.role not in ("figure", "unknown") or heading.metric == "latency" or kind in ("", "mean"):
            continue
        rest = without_statistics(residual(heading.text))
        of_another = same(heading, rest) in numbers_themselves
        alone = heading.role == "figure" and kind == "extreme" and not rest and not is_maximum(heading.text)
        if of_another or alone:
            found[index] = heading._replace(role="unread")
    return found


def valid_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows; of raidtui's own CSV without those of cells that were not valid."""
    if not set(rows[0].cells) >= _OWN:
        return list(rows)
    state = rows[0].cells.index("state")
    return [rows[0], *(row for row in rows[1:] if row.cells[state] == VALID)]


def _by_cells(index: int, headings: Mapping[int, Heading], rows: Sequence[Row]) -> Heading:
    """The heading of a column, with the role that its cells or the other columns give it."""
    heading = headings[index]
    roles = [one.role for one in headings.values()]
    cells, counted = said_in(index, rows), numbers(index, rows)
    if heading.role in ("unknown", "fsync", "ignored") and cells and all(BUILDS.match(c) or _RUNS.match(c) for c in cells):
        return heading._replace(role="command")
    if heading.role == "baseline" and counted:
        return heading._replace(role="unknown")  # the numbers of a layout that is called so
    if re.fullmatch(r"(?i)results?", heading.text) and "unit" in roles and not {"value", "figure"} & set(roles):
        return heading._replace(role="value")  # else it says how a run went
    if _OF_LAYOUTS.fullmatch(heading.text) and (heading.role == "unknown" or roles.count("block") > 1):
        return heading._replace(role="setting" if "layout" in roles else "unknown")
    if heading.role != "unknown":
        return heading
    if (both := _VERSUS.fullmatch(heading.text)) is not None and counted and all(cell.unit == "%" for cell in counted):
        return Heading("share", heading.text, "share", "%", of=both.group(2), whose=both.group(1))
    if _MEAN_TIME.fullmatch(heading.text) and any(one.metric in ("iops", "bandwidth") for one in headings.values()):
        return read_heading(f"latency {heading.text}")
    if heading.text.lower() == "type":
        said = [read_label(cell) for cell in cells]
        if said and all(one.pattern is not None or one.random is not None for one in said):
            return heading._replace(role="workload")
        if any(one.role == "layout" and DISKS.fullmatch(one.text) for one in headings.values()):
            return heading._replace(role="model")
    return heading


def _name_workloads(index: int, headings: Mapping[int, Heading], rows: Sequence[Row]) -> bool:
    """Return True if names are those of the measured commands: the names match, or the commands differ."""
    runs = [row.cells[i] for i, heading in headings.items() if heading.role == "command" for row in rows[1:]]
    done = {said for run in runs if _RUNS.match(run) and (said := read_command(run)) is not None}
    return bool(done) and (len(done) > 1 or all(asked(row.cells[index]) for row in rows[1:]))


def mapped(cells: Sequence[str], mapping: Mapping[str, str]) -> dict[int, str]:
    """Return the roles of mapped columns, by index. `mapping` has roles by heading."""
    wanted = {" ".join(heading.lower().split()): role for heading, role in mapping.items()}
    return {i: wanted[key] for i, cell in enumerate(cells) if (key := " ".join(cell.lower().split())) in wanted}


def by_mapping(role: str, text: str) -> Heading:
    """`layout`, `workload` … as they are; `iops`, `bandwidth:MiB/s`, `share:BASELINE` with what their names cannot say."""
    word, _, rest = role.partition(":")
    if word == "iops":
        return Heading("figure", text, "iops", _OPERATIONS.get(rest.lower(), "IOPS"))
    if word == "bandwidth":
        return Heading("figure", text, "bandwidth", rate_unit(rest or text))
    if word == "latency":
        return Heading("figure", text, "latency", rest or read_heading(text).unit, "mean")
    if word == "share":
        return Heading("share", text, "share", "%", of=rest)
    return Heading(word, text)  # type: ignore[arg-type]


def column_mapping(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return role and heading of each --map: `layout=Setup`, `bandwidth:MiB/s=Speed`. Raises ProblemError (`map`)."""
    found = []
    for word in words:
        role, equals, heading = word.partition("=")
        kind, _, unit = role.partition(":")
        if not equals or not heading.strip() or kind not in MAPPED_ROLES:
            known = f"ROLE is one of {', '.join(MAPPED_ROLES)}; a unit stands behind a colon: bandwidth:MiB/s=Speed."
            raise fail(MAP, f"--map {clean(word)} is not of the form ROLE=HEADING", remedy=known)
        units = {"iops": unit.lower() in _OPERATIONS, "bandwidth": bool(rate_unit(unit)), "latency": unit in TIME_UNITS}
        if unit and not units.get(kind, kind == "share"):
            remedy = "bandwidth:MiB/s, latency:us, iops:kIOPS; share:LAYOUT names the layout that is 100 %."
            raise fail(MAP, f"--map {clean(word)}: {clean(unit)!r} is not a unit of it", remedy=remedy)
        found.append((role, heading.strip()))
    return tuple(found)


def named_columns(headings: Mapping[int, Heading]) -> dict[int, str]:
    """Labels of columns of one metric for several layouts or workloads, or of metrics of unlike workloads."""
    figures = {i: heading for i, heading in headings.items() if heading.role == "figure"}
    roles = {heading.role for heading in headings.values()}
    names = {i: residual(heading.text) for i, heading in figures.items()}
    said = {name for name in names.values() if name}
    # Under two names, the same in two units is not one number told twice.
    several = any(
        figures[i]._replace(text="", unit="") == figures[j]._replace(text="", unit="")
        and (figures[i].unit == figures[j].unit or (names[i] and names[j] and plain(names[i]) != plain(names[j])))
        for i, j in combinations(figures, 2)
    )
    if several or ("workload" not in roles and len({asked(name) for name in said} - {None}) > 1):
        return {i: name for i, name in names.items() if name}
    # One workload in several metrics, beside a column of layouts.
    one = len(said) == 1 and "layout" in roles and not {"workload", "unknown"} & roles
    return {i: name for i, name in names.items() if name and asked(name)} if one else {}


def renamed(labels: Sequence[str], corner: str = "") -> dict[str, str]:
    """Labels of rows that are one workload in several metrics, without the metric: `4k` for `4k IOPS` beside `4k`.

    Rows of nothing but metrics are of the workload in the corner.
    """
    bare = {label: residual(label) for label in labels if unit_of(label)}
    if not any(bare.values()) and len(bare) == len(set(labels)) > 1 and asked(corner) is not None:
        return dict.fromkeys(bare, corner)
    said = (*bare.values(), *(label for label in set(labels) if label not in bare))
    return {label: name for label, name in bare.items() if name and said.count(name) > 1}


def workload_of(text: str, beside: Mapping[Role, str], block_unit: str) -> tuple[str, Asked]:
    """Return the name of a workload and its options, by its label and the columns beside it, by role."""
    said = read_label(text)
    block, depth, jobs, fsync = (beside[role] for role in BESIDE)
    extra = (f"bs={block}" if said.block_bytes is None and block else "",
             f"qd={depth}" if said.iodepth is None and depth else "",
             f"jobs={jobs}" if said.numjobs is None and jobs else "")  # fmt: skip
    key = " ".join(filter(None, (text, *extra))) or "workload"
    if block.replace(".", "").isdecimal() and block_unit not in ("", "b"):
        block += block_unit
    return key, Asked(
        pattern=said.pattern, random=said.random, block_bytes=said.block_bytes or size_bytes(block) or None,
        read_percent=said.read_percent, random_percent=said.random_percent,
        iodepth=said.iodepth or whole(depth) or None, numjobs=said.numjobs or whole(jobs) or None,
        fsync=said.fsync if said.fsync is not None else whole(fsync) or None,
    )  # fmt: skip


def unknown_numbers(headings: Mapping[int, Heading], rows: Sequence[Row]) -> list[int]:
    """Columns of numbers under a heading that is unknown and no setting (`clients`, `cache size`)."""
    return [
        i for i, heading in headings.items()
        if i and heading.role == "unknown" and (not _SETTING.search(heading.text) or "/s" in heading.text)
        and (cells := said_in(i, rows)) and all(map(read_cell, cells))
    ]  # fmt: skip


def percentages_alone(columns: Sequence[int], rows: Sequence[Row]) -> list[int]:
    """Return columns of nothing but percentages beside columns of other numbers: they are about layouts, and are none."""
    units = {i: {cell.unit for cell in numbers(i, rows[:_LOOKED_AT])} for i in columns}
    shares = [i for i, found in units.items() if found == {"%"}]
    others = [found for i, found in units.items() if i not in shares and found]
    return shares if others and not any("%" in found or found == {""} for found in others) else []


def with_numbers(columns: Sequence[int], rows: Sequence[Row]) -> list[int]:
    """Return the columns with a number, or all if none has. One without would hide of which two layouts a share is."""
    found = [i for i in columns if any(read_cell(row.cells[i]) for row in rows[1:])]
    return found or list(columns)


def asked(text: str) -> tuple[object, ...] | None:
    """Return the facts about a workload in a text; None if there are none."""
    said = read_label(text)
    found = (said.pattern, said.block_bytes, said.random)
    return found if any(part is not None for part in found) else None


def told(texts: Sequence[str]) -> float:
    """Return the mean number of facts that texts contain about workloads."""
    said = [read_label(text) for text in texts]
    parts = sum(p is not None for one in said for p in (one.pattern, one.block_bytes, one.random, one.iodepth))
    return parts / max(1, len(said))


def of_unit(unit: str, text: str) -> Heading | None:
    """The metric that a unit alone implies."""
    if unit in ("IOPS", "kIOPS"):
        return Heading("figure", text, "iops", unit)
    if unit == "%":
        return Heading("share", text, "share", "%")
    if unit in TIME_UNITS:
        return Heading("figure", text, "latency", unit, "mean")
    return Heading("figure", text, "bandwidth", rate_unit(unit)) if rate_unit(unit) else None


def unit_of(label: str) -> str:
    """The unit that a workload's label names: `rand read 4k (IOPS)`."""
    heading = read_heading(label)
    return heading.unit if heading.role == "figure" else ""


def plain(text: str) -> str:
    """A name without case and punctuation, to compare it."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()
