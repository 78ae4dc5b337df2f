"""Text for operators: problems, live numbers, verdicts, endings, rankings, the search for data on blank disks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from raidtui.base.text import clean, clean_lines, plural
from raidtui.front.progress import RunView
from raidtui.model.convert import plain
from raidtui.model.disk import Look
from raidtui.model.event import RunFinished, Skipped
from raidtui.model.hosts import HostLoad
from raidtui.model.mark import Mark, of_weight
from raidtui.model.measure import Direction, Sample
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, Problem, Problems
from raidtui.model.result import Cell, Ranked, RankedLayout, marks_of
from raidtui.model.units import duration_text, size_text
from raidtui.results.rates import NOTHING, directions, iops_text, latency_text, mb_s_text, rate, rate_text, unit_of

PROBLEMS_SCHEMA = "raidtui.problems/1"

_KIND = {
    Exit.REFUSED: "refused",
    Exit.BUILD_FAILED: "build failed",
    Exit.INVALID: "invalid",
    Exit.LEFT_BEHIND: "left behind",
    Exit.CANCELLED: "cancelled",
}


def sentence(problem: Problem) -> str:
    """`refused: disk S1: mounted on /srv. [mounted]` and, below it, the way out."""
    kind = _KIND.get(Exit(problem.exit), "error") if problem.exit in set(Exit) else "error"
    place = f"{place_words(problem)}: " if problem.place else ""
    first, *more = clean_lines(problem.message).splitlines() or [""]
    lines = [f"{kind}: {place}{first} [{clean(problem.code)}]", *(f"  {line}" for line in more)]
    if problem.remedy:
        lines += [f"  → {line}" for line in clean_lines(problem.remedy).splitlines()]
    return "\n".join(lines)


def place_words(problem: Problem) -> str:
    """Return the place of a problem: `layouts.raid5.md.on` of a scenario, a file, an option of the command line."""
    return re.sub(r"(^|: )\$\.", r"\1", clean(problem.place))


def problems_document(problems: Sequence[Problem]) -> dict[str, object]:
    """The JSON form of problems."""
    return dict(plain(Problems(PROBLEMS_SCHEMA, problems[0].exit, tuple(problems))))


def step_line(view: RunView) -> str:
    """Return the title of the current step, and for a measurement the number of its cell."""
    title = clean(view.step.title) if view.step else "starting"
    return f"{cell_count(view)}{title}"


def cell_count(view: RunView) -> str:
    return f"cell {view.cell.number} of {view.cell.of}: " if view.cell else ""


def sample_line(sample: Sample, *, short: bool = False) -> str:
    """`12,345 IOPS, 50.6 MB/s, mean 1.30 ms, p99 4.20 ms`; a mix names both directions. `short`: IOPS and mean."""
    parts = [(name, d) for name, d in (("read", sample.read), ("write", sample.write), ("trim", sample.trim)) if d]
    if not parts:
        return "no I/O"
    if len(parts) == 1:
        return _direction(parts[0][1], short=short)
    return " · ".join(f"{name} {_direction(direction, short=short)}" for name, direction in parts)


def host_line(host: str, load: HostLoad) -> str:
    """`clients-1: read 12,345 IOPS, 50.6 MB/s; CPU 1.2 of 4 cores; network in 50.6, out 0.1 MB/s`."""
    parts = [host_rates(load) or "no I/O"]
    if load.cores_used is not None:
        parts.append(f"CPU {load.cores_used:.1f} of {plural(load.cores, 'core')}")
    if load.networks:
        received, sent = (sum(rates) for rates in zip(*load.networks.values(), strict=True))
        parts.append(f"network in {mb_s_text(received)}, out {mb_s_text(sent)} MB/s")
    return f"{clean(host, 40)}: {'; '.join(parts)}"


def host_rates(load: HostLoad) -> str:
    """Return the rates of the devices that a host loads; empty while they are idle."""
    directions = (("read", load.read_iops, load.read_bytes_per_s), ("write", load.write_iops, load.written_bytes_per_s))
    return " · ".join(
        f"{name} {iops_text(iops)} IOPS, {mb_s_text(moved)} MB/s" for name, iops, moved in directions if iops or moved
    )  # fmt: skip


def _direction(direction: Direction, *, short: bool) -> str:
    latency = direction.latency
    parts = [f"{iops_text(direction.iops)} IOPS"] + ([] if short else [f"{mb_s_text(direction.bytes_per_s)} MB/s"])
    if latency.mean_us is not None:
        parts.append(f"mean {latency_text(latency.mean_us)}")
    if latency.p99_us is not None and not short:
        parts.append(f"p99 {latency_text(latency.p99_us)}")
    return ", ".join(parts)


def verdict_line(cell: Cell) -> str:
    """Return the line of a finished cell: its number if it is valid, else the reasons."""
    head = f"{'✓' if cell.valid else '✗'} {clean(cell.id)}: "
    if not cell.valid:
        reasons = map(mark_words, of_weight(marks_of(cell), "invalid"))
        return head + "INVALID: " + ("; ".join(reasons) or "no reason was given")
    unit = unit_of([cell])
    parts = [f"{rate_text(rate(cell, unit), unit)} {unit}"]
    means = [d.latency.mean_us for d in directions(cell.summary) if d.latency.mean_us is not None]
    tails = [d.latency.p99_us for d in directions(cell.summary) if d.latency.p99_us is not None]
    if len(means) == 1:
        parts.append(f"mean {latency_text(means[0])}")
    if tails:
        parts.append(f"p99 {latency_text(max(tails))}")
    if cell.summary and cell.summary.sync and cell.summary.sync.latency.mean_us is not None:
        parts.append(f"sync {latency_text(cell.summary.sync.latency.mean_us)}")
    if cell.summary and cell.summary.queue_depth is not None:
        parts.append(f"queue depth {cell.summary.queue_depth}")
    codes = dict.fromkeys(mark.code for mark in cell.marks)
    return head + ", ".join(parts) + (f" ⚠ {', '.join(map(clean, codes))}" if codes else "")


def mark_words(mark: Mark) -> str:
    """`the array is degraded [unhealthy]`; of files that are older than codes the sentence alone."""
    return clean(mark.sentence) if mark.code == "invalid-cell" else f"{clean(mark.sentence)} [{clean(mark.code)}]"


def skipped_line(skipped: Skipped) -> str:
    """Return the skipped cells or block and the reason."""
    what = skipped.block or ", ".join(skipped.cells)
    return f"{clean(what)}: not needed: {clean(skipped.why)}"


def ranking_line(ranked: Ranked) -> str:
    """`rand-write-4k: raid0 is best, at 95 %; after 3 of 12 rounds and 1 min 10 s of 5 min 36 s`."""
    cost = f"{duration_text(ranked.spent_s)} of {duration_text(ranked.most_s)}"
    after = f"after {ranked.rounds} of {plural(ranked.most_rounds, 'round')} and {cost} of measuring"
    return f"{clean(ranked.workload)}: {_answer(ranked)}, {after}"


def _answer(ranked: Ranked) -> str:
    sure = f"at {ranked.confidence_percent:g} %"
    if all(one.place is None for one in ranked.layouts):
        return "nothing can be ranked, since too few cells of every layout are valid"
    if not ranked.answered:
        last = ", nor would they be in the rounds that were left" if ranked.beyond else ""
        return f"not all told apart {sure}{last}"
    first = [clean(one.layout) for one in ranked.layouts if one.place == 1]
    close = f" (within {ranked.close_enough_percent:g} %)"
    best = f"{first[0]} is best" if len(first) == 1 else f"{', '.join(first)} share the first place{close}"
    return f"{best} {sure}" if ranked.question == "best" else f"the order is known {sure}, and {best}"


_ENDINGS = {
    Exit.DONE: "done: every cell is valid",
    Exit.REFUSED: "refused: nothing was touched",
    Exit.BUILD_FAILED: "a layout could not be built; the disks are as they were found",
    Exit.INVALID: "measured, but not every cell is valid",
    Exit.LEFT_BEHIND: "something could not be taken down: `raidtui recover` undoes it",
    Exit.CANCELLED: "cancelled; the disks are as they were found",
}


def ending_line(view: RunView, finished: RunFinished) -> str:
    """Return the line that tells the end of a run."""
    if (kept := view.kept_layout) is not None:
        rest = "" if finished.exit == Exit.DONE else ", but not everything after it succeeded"
        return f"run {clean(view.run)} done: {clean(kept.path)} is built and kept{rest}"
    known = finished.exit in set(Exit)
    words = _ENDINGS.get(Exit(finished.exit)) if known else None
    invalid = sum(not cell.valid for cell in view.cells)
    cells = plural(len(view.cells), "cell") + (f", {invalid} invalid" if invalid else "")
    cells += f", {len(view.skipped)} not needed" if view.skipped else ""
    return f"run {clean(view.run)} {words or 'ended: ' + clean(finished.outcome)} ({cells})"


class Place(NamedTuple):
    """Row of a layout in a ranking."""

    place: str
    """A dash where it has none: too few of its cells are valid."""
    layout: str
    value: str
    """Typical number of the layout, in the ranking's metric."""
    rounds: int
    """Number of valid rounds."""
    behind: str
    """The layouts that are told to be worse, by how much, and since when."""


def places(ranked: Ranked) -> Iterator[Place]:
    """The best first."""
    for one in ranked.layouts:
        place = str(one.place) if one.place is not None else NOTHING
        yield Place(place, clean(one.layout), _value(one, ranked), one.rounds, ", ".join(_behind(one, ranked)))


def pairs(ranked: Ranked) -> Iterator[str]:
    """Yield a sentence per pair of layouts that are equal within the tolerance or cannot be told apart."""
    for told in ranked.told:
        if told.verdict == "close":
            within = f"within {ranked.close_enough_percent:g} % of each other, round {told.round}"
            yield f"{clean(told.better)} and {clean(told.worse)}: {within}"
    for beyond in ranked.beyond:
        rounds = f"not to be told apart in {plural(ranked.most_rounds, 'round')}, as round {beyond.round} showed"
        yield f"{' and '.join(map(clean, beyond.layouts))}: {rounds}"


def _behind(one: RankedLayout, ranked: Ranked) -> Iterator[str]:
    for told in ranked.told:
        if told.verdict == "apart" and told.better == one.layout:
            yield f"{clean(told.worse)} ({told.ratio:.2f}×, round {told.round})"


def _value(one: RankedLayout, ranked: Ranked) -> str:
    if one.value is None:
        return NOTHING
    if ranked.metric == "µs per sync":
        return latency_text(one.value)
    return iops_text(one.value) if ranked.metric == "IOPS" else mb_s_text(one.value * 1e6)


def look_line(look: Look) -> str:
    """Return how much of a blank disk was read, and the size of data that may have been missed."""
    if look.allocated_bytes == 0:
        return f"blank: the disk has nothing allocated, and {look.places} places read agree"
    if look.gap_bytes == 0:
        what = "all that the disk has allocated" if look.allocated_bytes is not None else "all of it"
        return f"blank: {what} was read"
    of = "" if look.allocated_bytes is None else f" of the {size_text(look.allocated_bytes)} that the disk has allocated"
    return f"blank at {look.places} places read{of}; data in one piece of up to {size_text(look.gap_bytes)} may be missed"


def looks_line(plan: Plan) -> str:
    """Return how much was read of the disks that a plan erases: the fewest places and the largest possible gap."""
    looks = [plan.looks[id_] for id_ in plan.erases if id_ in plan.looks]
    if not looks:
        return ""
    gap = max(look.gap_bytes for look in looks)
    each = "each disk" if len(looks) > 1 else "the disk"
    if gap == 0:
        return f"Everything that {each} may keep data in was read and is blank."
    return (
        f"At least {min(look.places for look in looks)} places of {each} were read and are blank. Data in one piece of up "
        f"to {size_text(gap)} may have been missed, and would be lost."
    )
