"""One scenario on many servers: which server is unlike the others, and in what its hardware and settings differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

import msgspec

from raidtui.base.text import clean, named, plural
from raidtui.model.problem import fail
from raidtui.model.refusals import SERVER_TWICE
from raidtui.model.statistics.samples import robust_z, typical
from raidtui.results.extract import Extract, Point
from raidtui.results.notes import given_options
from raidtui.results.rates import Unit, rate_of, units_of

LEAST_SERVERS: Final = 4
"""Least number of values for a verdict: of three, two that agree by chance would make an outlier of the third."""
UNLIKE_Z: Final = 3.5
"""Modified z-score above which a value is an outlier (B. Iglewicz, D. C. Hoaglin, How to Detect and Handle Outliers, 1993).
"""
UNLIKE_SHARE: Final = 0.05
"""Least difference from the median: few servers that agree to a percent would make an outlier of any other."""
NOT_KNOWN: Final = "not known"
SERVERS_SCHEMA: Final = "raidtui.servers/1"


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """One server's number of a layout under a workload."""

    server: str
    value: float | None = None
    """Typical round, in operations or bytes per second; None without a valid cell."""
    rounds: int = 0
    """Valid cells."""
    off: float | None = None
    """Value ÷ median - 1: -0.4 is 40 % less."""
    z: float | None = None
    """Modified z-score; None with fewer than four servers, and where all others are equal."""
    unlike: bool = False
    why: str = ""
    """Reason why there is no value."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout under one workload on all servers."""

    layout: str
    workload: str
    unit: Unit
    values: tuple[Value, ...]
    """In the order of the servers."""
    median: float | None = None


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact of hardware, software or settings that is not the same on all servers."""

    fact: str
    most: str
    """Value of more than half of the servers; empty if there is none."""
    servers: dict[str, str]
    """Other values by server; all values if there is no majority."""


class Unlike(msgspec.Struct, frozen=True):
    """A server that is unlike the others somewhere."""

    server: str
    lines: int
    """Number of lines in which it is unlike the others."""
    of: int
    """Number of lines in which it has a value that could be judged."""
    lowest: float
    highest: float
    """Range of the differences from the median in these lines."""
    facts: tuple[str, ...] = ()
    """Facts in which it differs from the majority."""


class ServerComparison(msgspec.Struct, frozen=True):
    """Servers beside each other."""

    schema: str
    servers: tuple[str, ...]
    runs: tuple[str, ...]
    lines: tuple[Line, ...]
    unlike: tuple[Unlike, ...]
    """The server that is unlike the others most often comes first."""
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


def compare_servers(extracts: Mapping[str, Extract]) -> ServerComparison:
    """Return servers beside each other, by the name that each has here."""
    lines = tuple(_lines(extracts))
    differences = tuple(_differences(extracts))
    return ServerComparison(
        SERVERS_SCHEMA, tuple(extracts), tuple(one.run for one in extracts.values()), lines,
        tuple(_unlike(extracts, lines, differences)), differences, (*_notes(extracts), *_one_round(lines)),
    )  # fmt: skip


def server_names(extracts: Sequence[tuple[str, Extract]]) -> dict[str, Extract]:
    """Return results of files by the name of their server, with the file's name where several servers have one name."""
    hosts = Counter(one.host for _, one in extracts)
    found: dict[str, Extract] = {}
    for file, one in extracts:
        name = one.host if one.host and hosts[one.host] == 1 else f"{one.host or 'unknown'} ({file})"
        if name in found:
            raise fail(SERVER_TWICE, f"{clean(file)} is there twice", remedy="Name it once.")
        found[name] = one
    return found


def check_servers(extracts: Mapping[str, Extract]) -> None:
    """Check that no machine is there twice: by machine-id and name, since copies of an installation share the machine-id.

    Raises ProblemError (`server-twice`).
    """
    seen: dict[str, str] = {}
    for name, one in extracts.items():
        for key in (one.run, f"{one.machine_id} {one.host}" if one.machine_id else ""):
            if key and (other := seen.setdefault(key, name)) != name:
                raise fail(SERVER_TWICE, f"{clean(other)} and {clean(name)} are results of the same machine",
                           remedy="Name one of them; `raidtui compare OLD NEW` is for results of one server.")  # fmt: skip


def _lines(extracts: Mapping[str, Extract]) -> Iterator[Line]:
    """Yield a line per layout and workload. What is defined in another way on a server is a line of its own."""
    cells: dict[tuple[str, frozenset[tuple[str, str]], str, str], dict[str, list[Point]]] = {}
    for server, one in extracts.items():
        given = {name: given_options(facts) for name, facts in one.layouts.items()}
        for point in one.points:
            if not point.again:
                options, load = given.get(point.layout, frozenset()), one.workloads.get(point.workload, "")
                key = (point.layout, options, point.workload, load)
                cells.setdefault(key, {}).setdefault(server, []).append(point)
    workloads = list(dict.fromkeys(key[2] for key in cells))
    rows = ({key[2]: points} for key, of in cells.items() for points in of.values())
    units = dict(zip(workloads, units_of(rows, workloads), strict=True))
    seen: Counter[tuple[str, str]] = Counter()
    for (layout, _, workload, _), of in cells.items():
        seen[layout, workload] += 1
        number = seen[layout, workload]
        label = layout if number == 1 else f"{layout} ({number})"
        yield _line(label, workload, units[workload], {server: of.get(server, []) for server in extracts}, extracts)


def _line(
    layout: str, workload: str, unit: Unit, points: Mapping[str, Sequence[Point]], extracts: Mapping[str, Extract]
) -> Line:
    rates = {server: [rate for point in of if point.valid and (rate := rate_of(point, unit)) is not None]
             for server, of in points.items()}  # fmt: skip
    found = {server: typical(values) for server, values in rates.items() if values}
    middle = median(found.values()) if found else None
    judged = len(found) >= LEAST_SERVERS
    scores = dict(zip(found, robust_z(list(found.values())), strict=True)) if judged else {}
    values = []
    for server in extracts:
        if server not in found:
            values.append(Value(server, why=_why(points[server], extracts[server].failed.get(layout, ""))))
            continue
        off = found[server] / middle - 1 if middle else None
        z = scores.get(server)
        unlike = z is not None and abs(z) > UNLIKE_Z and off is not None and abs(off) >= UNLIKE_SHARE
        finite = z if z is not None and abs(z) < float("inf") else None
        values.append(Value(server, found[server], len(rates[server]), off, finite, unlike))
    return Line(layout, workload, unit, tuple(values), middle)


def _why(points: Sequence[Point], failed: str) -> str:
    reasons = list(dict.fromkeys(reason for point in points for reason in point.reasons))
    return f"not built: {failed}" if failed else "; ".join(reasons[:3]) or "not measured"


def _differences(extracts: Mapping[str, Extract]) -> Iterator[Difference]:
    """Yield the facts that differ: of the server and its disks, of layouts as built, of the workloads' tools."""
    facts = {server: dict(_facts(one)) for server, one in extracts.items()}
    for fact in dict.fromkeys(name for of in facts.values() for name in of):
        values = {server: of.get(fact, NOT_KNOWN) for server, of in facts.items()}
        counted = Counter(values.values())
        if len(counted) < 2:
            continue
        value, count = counted.most_common(1)[0]
        most = value if count * 2 > len(values) else ""
        yield Difference(fact, most, {server: one for server, one in values.items() if not most or one != most})


def _facts(one: Extract) -> Iterator[tuple[str, str]]:
    yield from ((name, value) for name, value in one.facts.items() if name != "server")
    for layout, facts in one.layouts.items():
        yield from ((f"{layout}: {name}", value) for name, value in facts.items())
    seen: set[str] = set()
    for point in one.points:
        if point.valid and point.workload not in seen:
            seen.add(point.workload)
            yield from ((f"{point.workload}: {name}", value) for name, value in point.facts.items())


def _unlike(
    extracts: Mapping[str, Extract], lines: Sequence[Line], differences: Sequence[Difference]
) -> Iterator[Unlike]:
    found = []
    for server in extracts:
        own = [value for line in lines for value in line.values if value.server == server]
        offs = [value.off for value in own if value.unlike and value.off is not None]
        judged = sum(value.z is not None or value.unlike for value in own)
        if offs:
            facts = tuple(one.fact for one in differences if one.most and server in one.servers)
            found.append(Unlike(server, len(offs), judged, min(offs), max(offs), facts))
    yield from sorted(found, key=lambda one: -one.lines)


def _one_round(lines: Sequence[Line]) -> Iterator[str]:
    values = [value for line in lines for value in line.values]
    if any(value.unlike for value in values) and all(value.rounds < 2 for value in values):
        yield "one round per server: a difference of a few percent may be chance; more rounds in the policy tell"


def _notes(extracts: Mapping[str, Extract]) -> Iterator[str]:
    if len(extracts) < LEAST_SERVERS:
        yield (f"{plural(len(extracts), 'server')}: differences are shown, but nothing is called unlike the others; "
               f"that needs {LEAST_SERVERS}")  # fmt: skip
    marked = [name for name, one in extracts.items()
              if any(mark.code == "simulated" for point in one.points for mark in point.marks)]  # fmt: skip
    said: tuple[tuple[str, Iterable[str]], ...] = (
        ("simulated: the numbers are measurements of nothing", marked),
        ("a rehearsal (--quick): good for trying, not for comparing", (n for n, one in extracts.items() if one.rehearsal)),
        ("not complete: not every planned cell was measured", (n for n, one in extracts.items() if not one.complete)),
    )
    for words, servers in said:
        if who := list(servers):
            yield f"{'all servers' if len(who) == len(extracts) else named([clean(n, 80) for n in who], 6)}: {words}"
    scenarios = dict.fromkeys(one.scenario for one in extracts.values())
    if len(scenarios) > 1:
        yield f"of different scenarios: {named([clean(name, 80) for name in scenarios], 6)}"
    machines = Counter(one.machine_id for one in extracts.values() if one.machine_id)
    for machine_id, count in machines.items():
        if count > 1:
            same = [clean(name, 80) for name, one in extracts.items() if one.machine_id == machine_id]
            yield f"{named(same, 6)}: the same machine-id, so copies of one installation, or one server with a new name"
    hosts = Counter(one.host for one in extracts.values() if not one.machine_id)
    for host, count in hosts.items():
        if count > 1:
            yield f"{count} results are of a server called {clean(host, 80)}, and do not tell whether it is one machine"
