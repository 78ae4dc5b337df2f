"""Entries, notes, accounts and cells of a comparison as text, for every format and screen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from raidtui.base.text import clean, named, plural
from raidtui.model.measure import DIRECTIONS
from raidtui.model.plan import Amplification
from raidtui.results.accounting import Account, Rate, over_rounds
from raidtui.results.comparison import NOT_TOLD, TOLD, TOO_FEW, Comparison, Entry, Noted, Pair, Row, Source
from raidtui.results.extract import Point
from raidtui.results.limiter import NOT_KNOWN
from raidtui.results.networks import busiest
from raidtui.results.rates import NOTHING, Unit, again_label, mb_s_text, percent_text, rate_text, ratio_text
from raidtui.results.verdicts import ENOUGH

VALID, PARTLY, INVALID, NOT_BUILT, NOT_MEASURED = "valid", "partly valid", "invalid", "not built", "not measured"
OTHER_RATE = "other rate"
"""Valid, but without a number in the unit of its column: only MB/s are known, or histograms of its rounds are missing."""
ABOVE, BELOW = "▲", "▼"
MARKS = {VALID: "✓", PARTLY: "⚠", INVALID: "✗", NOT_BUILT: "✗", NOT_MEASURED: NOTHING, OTHER_RATE: NOTHING}


def state_of(row: Row, index: int) -> str:
    """The state of the entry in this column."""
    entry = row.entries[index]
    if entry is None:
        return NOT_BUILT if row.failed else NOT_MEASURED
    if entry.typical is None:
        return OTHER_RATE if entry.valid else INVALID
    return PARTLY if entry.valid < entry.cells else VALID


def why(row: Row, index: int) -> str:
    """Return the reasons why an entry is not wholly valid; empty if it is."""
    entry = row.entries[index]
    if entry is None:
        return row.failed
    if entry.valid < entry.cells:
        return "; ".join(entry.reasons) or "no reason was given"
    return "it was measured, but not in the unit of its column" if state_of(row, index) == OTHER_RATE else ""


def beside(row: Row, index: int) -> str:
    """Return the notes on an entry's valid cells; empty if there are none."""
    entry = row.entries[index]
    return "; ".join(map(mark_words, entry.marks if entry is not None else ()))


def mark_words(mark: Noted) -> str:
    """`disk S1 reached 80 °C [hot-disk]`, and of how many cells it holds where there are several."""
    return f"{mark.sentence} [{mark.code}]" + (f" ({mark.cells} cells)" if mark.cells > 1 else "")


def entry_words(row: Row, index: int, unit: Unit) -> str:
    """The number with its spread and its share, or the mark that stands in its place."""
    entry = row.entries[index]
    state = state_of(row, index)
    if entry is None or entry.typical is None:
        return NOTHING if state == NOT_MEASURED else f"{MARKS[state]} {state}"
    words = rate_text(entry.typical, unit)
    if spread := spread_text(entry):
        words += f" {spread}"
    if entry.of_baseline is not None:
        words += f" {share_text(entry):>5}"
        if inside := share_interval_text(entry):
            words += f" {inside}"
    if state == PARTLY:
        words += f" ({entry.valid} of {entry.cells} valid)"
    return words


def spread_text(entry: Entry) -> str:
    """`±2.1 %`: half the distance between the best and the worst round, of the number shown; empty for a single round."""
    if entry.valid < 2 or not entry.typical or entry.low is None or entry.high is None:
        return ""
    return f"±{percent_text((entry.high - entry.low) / 2 / entry.typical)}"


def share_text(entry: Entry) -> str:
    """`▼84 %` of the baseline; `▲`, `▼`: told apart from it; `~`: not told apart; no sign: too few rounds for a verdict."""
    if entry.of_baseline is None:
        return ""
    words = percent_text(entry.of_baseline)
    if entry.verdict == TOLD:
        return f"{ABOVE if entry.of_baseline > 1 else BELOW}{words}"
    return f"~{words}" if entry.verdict == NOT_TOLD else words


def share_interval_text(entry: Entry) -> str:
    """`[81–87]`: in percent, where the share lies with 95 % confidence; empty where there are too few rounds."""
    if entry.verdict in ("", TOO_FEW) or entry.share_low is None or entry.share_high is None:
        return ""
    return f"[{_percent(entry.share_low)}–{_percent(entry.share_high)}]"


def geometric_mean_text(row: Row) -> str:
    """`91 % (4 workloads)`: the geometric mean of the shares, and of how many workloads; empty without shares."""
    return "" if row.geometric_mean is None else f"{percent_text(row.geometric_mean)} ({plural(row.shares, 'workload')})"


def has_means(comparison: Comparison) -> bool:
    """Return True if a column of geometric means adds information to the shares."""
    return len(comparison.workloads) > 1 and any(row.shares for row in comparison.rows)


def _percent(share: float) -> str:
    return percent_text(share).removesuffix(" %")


def legend_lines(comparison: Comparison) -> list[str]:
    """Return explanations of the signs in the table, and the differences of repeated measurements."""
    entries = [entry for row in comparison.rows for entry in row.entries if entry is not None]
    found = []
    if any(map(spread_text, entries)):
        found.append("numbers are geometric means of the rounds (the median where a round is 0); ±: half of what the best "
                     "and the worst round are apart")  # fmt: skip
    if any(map(share_interval_text, entries)):
        found.append("[ ]: the share lies there with 95 % confidence")
    return [*found, *sign_lines(comparison)]


def sign_lines(comparison: Comparison) -> list[str]:
    """Return explanations of the signs at shares and in place of numbers, and the noise floor."""
    verdicts = {entry.verdict for row in comparison.rows for entry in row.entries if entry is not None}
    states = {state_of(row, index) for row in comparison.rows for index in range(len(comparison.workloads))}
    floor = floor_lines(comparison)
    tests = " (Mann-Whitney and Welch at 5 %, Holm over all comparisons)"
    found = []
    if TOLD in verdicts:
        found.append(f"{ABOVE} above, {BELOW} below the baseline: told apart from it{tests}")
    if NOT_TOLD in verdicts:
        found.append(f"~: not told apart from the baseline{'' if TOLD in verdicts else tests}"
                     f"{', or apart by no more than the noise floor' if floor else ''}")  # fmt: skip
    if TOO_FEW in verdicts and {TOLD, NOT_TOLD} & verdicts:
        found.append(f"a share without a sign: too few rounds for a verdict; {ENOUGH}")
    elif TOO_FEW in verdicts and not any(one.unjudged for one in comparison.verdicts):
        found.append(f"too few rounds for a verdict: {ENOUGH}")
    if {INVALID, NOT_BUILT} & states:
        found.append("✗: no number, since no round is valid or the layout was not built")
    if {NOT_MEASURED, OTHER_RATE} & states:
        found.append(f"{NOTHING}: not measured")
    return [*found, *floor]


def floor_lines(comparison: Comparison) -> list[str]:
    """Return the differences of repeated measurements as a line; empty without any."""
    floors = [
        f"{percent_text(floor)} ({name})"
        for name, floor in zip(comparison.workloads, comparison.noise_floors, strict=False)
        if floor is not None
    ]
    pairs = named([f"{a} and {b}" for a, b in comparison.same], 4)
    return [f"noise floor {', '.join(floors)}: so far apart were {pairs}, which are the same"] if floors else []


def confounder_lines(comparison: Comparison) -> list[str]:
    """Return the unintended differences: a line for each fact, with its rows."""
    by_fact: dict[str, dict[tuple[str, str], list[str]]] = {}
    for row in comparison.rows:
        for fact, here, there in row.confounders:
            by_fact.setdefault(fact, {}).setdefault((here, there), []).append(row.label)
    found = [f"confounders: {len(by_fact)}, unintended differences from {comparison.baseline}"] if by_fact else []
    for fact, values in by_fact.items():
        for (here, there), labels in values.items():
            found.append(f"confounder {fact}: {here} with {named(labels, 6)}; {there} with {comparison.baseline}")
    return found


class Footnotes:
    """Sentences by number: the same sentence has the same number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, sentence: str) -> str:
        """` [1]`, or nothing for no sentence."""
        return f" [{self.numbers.setdefault(sentence, len(self.numbers) + 1)}]" if sentence else ""

    def marks(self, row: Row, index: int) -> str:
        """Return the footnotes of an entry: reasons why it is not wholly valid, and notes on valid cells."""
        return self.mark(why(row, index)) + self.mark(beside(row, index))


def title_of(comparison: Comparison) -> str:
    """Return the title of the only scenario, or the number of results."""
    if len(comparison.sources) == 1:
        return comparison.sources[0].title or comparison.sources[0].scenario or "Comparison"
    return f"Comparison of {len(comparison.sources)} results"


def common_marks(comparison: Comparison) -> list[str]:
    """Return what is noted at every number, or at every one of a result: `every number: it was simulated [simulated]`."""
    found: dict[int, list[set[str]]] = {}
    for row in comparison.rows:
        found.setdefault(row.source, []).extend(
            {f"{mark.sentence} [{mark.code}]" for mark in entry.marks} for entry in row.entries if entry and entry.valid
        )
    common = {source: set.intersection(*sets) for source, sets in found.items() if sets}
    everywhere = set.intersection(*common.values()) if common else set()
    said = [f"every number: {words}" for words in sorted(everywhere)]
    return said + [f"every number of result {source}: {words}"
                   for source, sentences in sorted(common.items()) for words in sorted(sentences - everywhere)]  # fmt: skip


def source_lines(comparison: Comparison) -> list[str]:
    """Return the compared results, a line each; empty for a single one."""
    return run_lines(comparison) if len(comparison.sources) > 1 else []


def run_lines(comparison: Comparison) -> list[str]:
    """Return the compared results, a line each, with numbers where there are several."""
    several = len(comparison.sources) > 1
    return [
        (f"result {number}: " if several else "")
        + f"{source.scenario}, {_run_words(source)}{source.valid} of {source.cells} cells valid"
        for number, source in enumerate(comparison.sources, 1)
    ]


def _run_words(source: Source) -> str:
    """Return run, server and date, as far as known; a foreign table has only a name."""
    run = f"run {source.run}" if source.run != source.scenario else ""
    words = " on ".join(filter(None, (run, source.host)))
    return "".join(f"{part}, " for part in (words, source.started and f"began {source.started}") if part)


TITLE = "Where the rest went"
HEADS = ("Layout", "Workload", "Reached", "Each alone", "All at once", "Share", "W.amp", "Expected", "Limited by")
TEXTS = frozenset(("Layout", "Workload", "Limited by"))
"""Columns that hold words."""
ABOUT = (
    "Each alone and all at once: what the bare disks of the data gave under the same workload. Share: of all at once (or "
    "of each alone, where only that was measured), with what has to be written beside the data taken off."
)


class AccountLine(NamedTuple):
    """One layout under one workload."""

    layout: str
    workload: str
    numbers: tuple[str, ...]
    """Reached, each alone, all at once, share, amplification as it was and as it was expected."""
    limiter: str
    why: str
    """Sentences about the limit and about the write amplification."""
    values: tuple[float | None, ...] = ()
    """Sort key of the numbers."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Values in the order of `HEADS`."""
        return (self.layout, self.workload, *self.numbers, self.limiter)


def account_lines(comparison: Comparison) -> list[AccountLine]:
    """Row by row. Nothing where no disk was measured bare and no limit was seen: then there is nothing to say."""
    units = dict(zip(comparison.workloads, comparison.units, strict=True))
    found = [(one, units.get(one.workload, "IOPS")) for one in over_rounds(comparison.accounts)]
    told = any(one.solo or one.together or one.expected or one.limiter != NOT_KNOWN for one, _ in found)
    return [_line(one, unit) for one, unit in found] if told else []


def _line(one: Account, unit: Unit) -> AccountLine:
    found = [_in(rate, unit) for rate in (one.reached, one.solo, one.together)]
    rates = [rate_text(rate, unit) for rate in found]
    written = (ratio_text(one.observed), expected_text(one.expected))
    numbers = (f"{rates[0]} {unit}", *rates[1:], percent_text(one.share), *written)
    values = (*found, one.share, one.observed, one.expected.low if one.expected else None)
    return AccountLine(one.row, one.workload, numbers, one.limiter, "; ".join(sentences(one)), values)


def sentences(one: Account) -> Iterator[str]:
    """Return sentences about the limit, the expected writes with the reason, and the capacity of the links."""
    yield one.why
    if one.expected is not None:
        known = one.expected.low is not None
        words = "write amplification expected" if known else "write amplification cannot be predicted"
        figure = f" {expected_text(one.expected)}" if one.expected.low is not None else ""
        yield f"{words}{figure}: {one.expected.why}{_read_before(one.expected)}"
    if one.link_bytes_per_s is not None:
        yield f"PCIe links of its disks: {mb_s_text(one.link_bytes_per_s)} MB/s in one direction"


def expected_text(expected: Amplification | None) -> str:
    """`1.33×`, `1.50–6.00×`, `1.00× or more`; a dash where it is not known."""
    return NOTHING if expected is None or expected.low is None else _range(expected.low, expected.high)


def _read_before(expected: Amplification) -> str:
    """Return the words for reads before a write; empty if there are none."""
    if expected.low is None or expected.read_high == 0:
        return ""
    return f"; read before that {_range(expected.read_low, expected.read_high)}"


def _range(low: float, high: float | None) -> str:
    if high is None:
        return f"{low:.2f}× or more"
    return f"{low:.2f}×" if f"{high:.2f}" == f"{low:.2f}" else f"{low:.2f}–{high:.2f}×"


def cell_words(one: Account, unit: Unit) -> str:
    """One cell in a line: its share, what it wrote, and what limited it."""
    parts = []
    if one.share is not None:
        ceiling = rate_text(_in(one.bound, unit), unit)
        parts.append(f"{percent_text(one.share)} of the {ceiling} {unit} that its bare disks allow")
    if one.observed is not None:
        predicted = expected_text(one.expected)
        parts.append(f"wrote {ratio_text(one.observed)}" + (f", expected {predicted}" if predicted != NOTHING else ""))
    limited = "what limited it is not known" if one.limiter == NOT_KNOWN else f"limited by {one.limiter}"
    return "; ".join([*parts, f"{limited}: {one.why}"])


def _in(rate: Rate | None, unit: Unit) -> float | None:
    return None if rate is None else rate.iops if unit == "IOPS" else rate.bytes_per_s


Value = str | int | float | None

_LATENCY = ("mean_us", "p50_us", "p99_us", "p999_us", "max_us")
COLUMNS = (
    "layout", "workload", "round", "state", "iops_per_s", "throughput_MB_per_s",
    *(f"{direction}_{field}" for direction in DIRECTIONS for field in _LATENCY),
    "cpu_cores", "written_to_members_per_byte", "duration_s", "published_percent", "reasons", "marks", "result", "run",
    "cell", "scenario", "host", "rehearsal", "started", "command",
    "ceiling_each_alone_MB_per_s", "ceiling_all_at_once_MB_per_s", "ceiling_links_MB_per_s", "share_of_ceiling",
    "expected_written_per_byte_low", "expected_written_per_byte_high", "limited_by", "limited_because",
    "queue_depth", "storage_cores", "daemon_cores",
    "network", "network_received_MB_per_s", "network_sent_MB_per_s", "network_errors", "network_drops",
    "new_per_old", "new_per_old_low", "new_per_old_high", "new_per_old_p", "old_new_verdict",
)  # fmt: skip
"""MB is 10⁶ bytes. `layout` and `workload` are named as in the comparison. `network` is the interface that moved most;
errors and drops are those of all. The last five are of the pair of old and new, in every line of its cells; 1.05 is 5 %
more than old."""


def tidy(comparison: Comparison) -> Iterator[dict[str, Value]]:
    """Row by row; a layout that could not be built, or was not measured with a workload, has one line without numbers."""
    accounts = {(one.source, cell): one for one in comparison.accounts for cell in one.cells}
    pairs = {(label, pair.workload): pair for pair in comparison.pairs for label in pair.labels if label}
    for row in comparison.rows:
        for index, workload in enumerate(comparison.workloads):
            entry = row.entries[index]
            head: dict[str, Value] = {"layout": clean(row.label), "workload": clean(workload)}
            head = {**dict.fromkeys(COLUMNS), **head, **_origin(comparison, row)}
            head |= _change(pairs.get((row.label, workload)))
            for point in entry.points if entry is not None else ():
                yield {**head, **_numbers(point), **_rest(accounts.get((row.source, point.id)))}
            for point in entry.again if entry is not None else ():
                yield {**head, "layout": clean(again_label(row.label)), **_numbers(point)}
            if entry is None:
                yield {**head, "state": state_of(row, index), "reasons": clean(row.failed, 4096)}


def _numbers(point: Point) -> dict[str, Value]:
    found: dict[str, Value] = {
        "round": point.round,
        "state": VALID if point.valid else INVALID,
        "iops_per_s": point.iops,
        "throughput_MB_per_s": None if point.bytes_per_s is None else point.bytes_per_s / 1e6,
        "cpu_cores": point.cpu_cores_used,
        "storage_cores": point.storage_cores, "daemon_cores": point.daemon_cores,
        "written_to_members_per_byte": point.write_amplification,
        "queue_depth": point.queue_depth,
        "duration_s": point.seconds or None,
        "published_percent": point.percent,
        "reasons": clean("; ".join(point.reasons), 4096),
        "marks": clean(" ".join(dict.fromkeys(mark.code for mark in point.marks)), 4096),
        "cell": clean(point.id),
        "started": clean(point.started),
        "command": clean(shlex.join(point.command), 8192),
    }
    if use := point.networks.get(name := busiest(point.networks)):
        found |= {"network": clean(name), "network_received_MB_per_s": use.received_bytes_per_s / 1e6,
                  "network_sent_MB_per_s": use.sent_bytes_per_s / 1e6}  # fmt: skip
    if point.networks:
        found |= {"network_errors": sum(one.errors for one in point.networks.values()),
                  "network_drops": sum(one.drops for one in point.networks.values())}  # fmt: skip
    for direction, latency in point.latency.items():
        found |= {f"{direction}_{field}": getattr(latency, field) for field in _LATENCY}
    return found


def _rest(one: Account | None) -> dict[str, Value]:
    """Return the columns of the account; empty for bare disks and cells without one."""
    if one is None:
        return {}
    ceilings = {"each_alone": one.solo, "all_at_once": one.together}
    expected = one.expected
    return {
        **{f"ceiling_{name}_MB_per_s": rate.bytes_per_s / 1e6 for name, rate in ceilings.items() if rate is not None},
        "ceiling_links_MB_per_s": None if one.link_bytes_per_s is None else one.link_bytes_per_s / 1e6,
        "share_of_ceiling": one.share,
        "expected_written_per_byte_low": expected.low if expected else None,
        "expected_written_per_byte_high": expected.high if expected else None,
        "limited_by": one.limiter,
        "limited_because": clean(one.why, 4096),
    }


def _change(pair: Pair | None) -> dict[str, Value]:
    if pair is None:
        return {}
    ends = {"new_per_old": pair.change, "new_per_old_low": pair.low, "new_per_old_high": pair.high}
    ratios = {name: None if change is None else round(1 + change, 6) for name, change in ends.items()}
    return {**ratios, "new_per_old_p": pair.p, "old_new_verdict": clean(pair.way or pair.verdict or pair.why, 4096)}


def _origin(comparison: Comparison, row: Row) -> dict[str, Value]:
    if not comparison.sources:
        return {}
    source = comparison.sources[row.source - 1]
    return {"result": row.source, "run": clean(source.run), "scenario": clean(source.scenario), "host": clean(source.host),
            "rehearsal": "yes" if source.rehearsal else "no"}  # fmt: skip
