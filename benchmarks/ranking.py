"""Measure the fio-seconds that a ranking saves, against 60 s x 3 rounds of everything, on recorded series.

    python benchmarks/ranking.py                      replay the recording, print what it took
    python benchmarks/ranking.py --simulate           how often equal layouts are told apart, how soon unlike ones are
    python benchmarks/ranking.py --record NAME RESULT…    keep a recording, of one result or of several of one scenario

A recording (benchmarks/ranking-NAME.json.gz) has one-second samples of real runs; it says how it was made. A replay takes,
for each round, one of the recorded rounds (the same for all layouts: what moved that round moved all; each once before any
is taken again, since a round taken twice would seem not to scatter) and in each of its cells a window as long as a slice;
the ranking then decides which cells come next, as a run would. Of the fixed campaign its ranking is measured, by all the
samples there are, which are fewer than 60 s x 3; its seconds are 60 x 3 for each layout and workload, by definition.
With fewer recorded rounds than a replay takes, what comes after them is no news, and its answers are only as good as that.

For a recording: `raidtui replay benchmarks/ranking_recording.json`, some fifteen minutes in a lab of --disks 4x1G.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, geometric_mean, median, pstdev
from typing import Any, Literal, NamedTuple

from raidtui.engine.run.ranking import metric_of
from raidtui.model.statistics.ranking import FIRST_LOOK, Asked, Standing, standing
from raidtui.results.load import read_result

FOLDER = Path(__file__).parent
SLICES_S = (3, 5, 10)
FIXED_S = 60 * 3
"""Rounds of each layout and workload in the fixed campaign."""
MOST_ROUNDS = 12
SEED = 20260131
QUESTIONS: tuple[Literal["best", "order"], ...] = ("best", "order")

Series = dict[str, dict[int, list[float]]]
"""By layout, by round: one rate a second."""


class Replayed(NamedTuple):
    """One campaign."""

    known: dict[str, Standing]
    seconds: dict[str, float]
    """By workload."""


def main() -> int:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", nargs="+", metavar=("NAME", "RESULT"))
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--campaigns", type=int, default=400)
    args = parser.parse_args()
    if args.record:
        record(args.record[0], list(map(Path, args.record[1:])))
    elif args.simulate:
        simulate(args)
    else:
        replay_all(args)
    return 0


def record(name: str, paths: Sequence[Path]) -> None:
    """Keep of results what a replay needs: the seconds of every valid cell, disks of one layout as their geometric mean."""
    data = [path.read_bytes() for path in paths]
    results = [read_result(gzip.decompress(one) if one.startswith(b"\x1f\x8b") else one) for one in data]
    found: dict[tuple[str, str, int], list[list[float]]] = {}
    for number, result in enumerate(results):
        for cell in (cell for cell in result.cells if cell.valid and cell.summary):
            by_bytes = cell.summary is not None and metric_of([cell.summary]) == "MB/s"
            moved = [[d for d in (s.read, s.write) if d] for s in cell.samples if s.at_s > 0 and s.span_s > 0.5]
            rates = [sum(d.bytes_per_s if by_bytes else d.iops for d in some) for some in moved]
            found.setdefault((cell.workload, cell.layout, 100 * number + cell.round), []).append(rates)
    series: dict[str, dict[str, dict[int, list[float]]]] = {}
    for (workload, layout, round_), parts in found.items():
        typical_disk = [round(geometric_mean(second), 1) for second in zip(*parts, strict=False)]
        series.setdefault(workload, {}).setdefault(layout, {})[round_] = typical_disk
    machine = results[0].machine
    kept = {
        "runs": [result.run for result in results],
        "on": f"kernel {machine.kernel}, {machine.cpus} CPUs, {', '.join(f'{k} {v}' for k, v in machine.tools.items())}",
        "scenario": results[0].scenario,
        "series": series,
    }
    packed = gzip.compress(json.dumps(kept, separators=(",", ":")).encode(), mtime=0)
    (FOLDER / f"ranking-{name}.json.gz").write_bytes(packed)


def recorded(path: Path) -> tuple[dict[str, Any], dict[str, Series]]:
    kept = json.loads(gzip.decompress(path.read_bytes()))
    series = {
        workload: {layout: {int(round_): rates for round_, rates in rounds.items()} for layout, rounds in layouts.items()}
        for workload, layouts in kept["series"].items()
    }
    return kept, series


def replay_all(args: Namespace) -> None:
    for path in sorted(FOLDER.glob("ranking-*.json.gz")):
        kept, series = recorded(path)
        print(f"{path.name}: runs {', '.join(kept['runs'])} of {kept['scenario']['name']} ({kept['on']})")
        for workload, layouts in series.items():
            seconds = [len(rates) for rounds in layouts.values() for rates in rounds.values()]
            print(f"  {workload}: {len(seconds)} cells of {min(seconds)} to {max(seconds)} s")
            for layout in whole_order(layouts):
                means = [fmean(rates) for rates in layouts[layout].values()]
                within = fmean(pstdev(rates) / fmean(rates) for rates in layouts[layout].values())
                scatter = f"rounds scatter {pstdev(means) / fmean(means):6.1%}, seconds within one {within:6.1%}"
                print(f"    {layout:<10} {fmean(means):>13,.0f}/s, {scatter}")
        print(f"  fixed: {FIXED_S} fio-seconds for each layout and workload")
        print(f"  {args.campaigns} replays of at most {MOST_ROUNDS} rounds; fio-seconds as a share of the fixed ones:")
        print(f"{'question':<10}{'slice':>6}  {'workload':<22}{'median':>8}{'worst':>8}  answered  like fixed  wrong")
        least = min(len(rates) for layouts in series.values() for rounds in layouts.values() for rates in rounds.values())
        for question in QUESTIONS:
            for slice_s in (one for one in SLICES_S if one <= least):
                show(question, slice_s, series, args.campaigns)
        print()


def show(question: Literal["best", "order"], slice_s: int, series: Mapping[str, Series], campaigns: int) -> None:
    """One line a workload, and one for the campaign."""
    rng = random.Random(SEED)
    asked = Asked(question=question, workloads=len(series), rounds=MOST_ROUNDS)
    found = [replay(rng, series, slice_s, asked) for _ in range(campaigns)]
    for workload, layouts in series.items():
        shares = [one.seconds[workload] / (FIXED_S * len(layouts)) for one in found]
        known = [one.known[workload] for one in found]
        answered = fmean(one.answered for one in known)
        like = fmean(same_best(one, layouts) if question == "best" else no_contradiction(one, layouts) for one in known)
        wrong = fmean(not no_contradiction(one, layouts) for one in known)
        line(question, slice_s, workload, shares, f"{answered:8.0%}{like:12.0%}{wrong:7.1%}")
    fixed = FIXED_S * sum(map(len, series.values()))
    line(question, slice_s, "the whole campaign", [sum(one.seconds.values()) / fixed for one in found], "")


def line(question: str, slice_s: int, name: str, shares: Sequence[float], rest: str) -> None:
    print(f"{question:<10}{slice_s:>4} s  {name:<22}{median(shares):8.3f}{max(shares):8.3f}  {rest}")


def replay(rng: random.Random, series: Mapping[str, Series], slice_s: int, asked: Asked) -> Replayed:
    """A campaign of slices: rounds go on as long as any layout is open."""
    rounds = sorted(set.intersection(*(set(of) for layouts in series.values() for of in layouts.values())))
    drawn: list[int] = []
    while len(drawn) < MOST_ROUNDS:
        drawn += rng.sample(rounds, len(rounds))
    known: dict[str, Standing] = {}
    seconds: dict[str, float] = {}
    for workload, layouts in series.items():
        values: dict[str, dict[int, float | None]] = {layout: {} for layout in layouts}
        open_, cells = set(layouts), 0
        for number, of in enumerate(drawn[:MOST_ROUNDS], 1):
            for layout in sorted(open_):
                rates = layouts[layout][of]
                begin = rng.randrange(len(rates) - slice_s + 1)
                values[layout][number] = fmean(rates[begin : begin + slice_s])
                cells += 1
            if number >= FIRST_LOOK:
                known[workload] = standing(values, asked)
                open_ = set(known[workload].open)
            if not open_:
                break
        seconds[workload] = cells * slice_s
    return Replayed(known, seconds)


def whole_order(layouts: Series) -> list[str]:
    """By all that was recorded, the best first."""
    return sorted(layouts, key=lambda name: -typical(layouts[name]))


def typical(rounds: Mapping[int, Sequence[float]]) -> float:
    return math.exp(fmean(math.log(fmean(rates)) for rates in rounds.values()))


def same_best(known: Standing, layouts: Series) -> bool:
    """The recording's best layout is at the first place, alone or with what is not told apart from it."""
    return known.places.get(whole_order(layouts)[0]) == 1


def no_contradiction(known: Standing, layouts: Series) -> bool:
    """Nothing was told the other way round than the whole recording has it."""
    return all(typical(layouts[t.better]) > typical(layouts[t.worse]) for t in known.told if t.verdict == "apart")


def simulate(args: Namespace) -> None:
    """Layouts made up: equal ones, and ones a known step apart; normal noise on logarithms."""
    names = "abcd"
    quiet = dict.fromkeys(names, 0.03)
    restless = {**dict.fromkeys(names, 0.01), "d": 0.10}
    print(f"{'layouts':<34}{'question':<10}{'wrong':>7}{'answered':>10}{'rounds each, median and worst':>32}")
    for title, step, noise in (
        ("equal, 3 % noise", 1.0, quiet),
        ("equal, 1 % noise, one with 10 %", 1.0, restless),
        ("10 % steps, 3 % noise", 0.9, quiet),
        ("30 % steps, 3 % noise", 0.7, quiet),
        ("30 % steps, 1 %, one with 10 %", 0.7, restless),
    ):
        for question in QUESTIONS:
            rng = random.Random(SEED)
            means = {name: 1000 * step**place for place, name in enumerate(names)}
            asked = Asked(question=question, close_enough=0.0 if step == 1 else 0.05, rounds=MOST_ROUNDS)
            found = [made_up(rng, means, noise, asked) for _ in range(args.campaigns)]
            wrong = fmean(any(means[t.better] <= means[t.worse] for t in known.told) for known, _ in found)
            answered = fmean(known.answered for known, _ in found)
            cells = [cells / len(means) for _, cells in found]
            took = f"{median(cells):24.2f}{max(cells):8.2f}"
            print(f"{title:<34}{question:<10}{wrong:7.1%}{answered:10.0%}{took}", flush=True)


def made_up(
    rng: random.Random, means: Mapping[str, float], noise: Mapping[str, float], asked: Asked
) -> tuple[Standing, int]:
    values: dict[str, dict[int, float | None]] = {name: {} for name in means}
    known, open_, cells = standing(values, asked), set(means), 0
    for number in range(1, MOST_ROUNDS + 1):
        for name in sorted(open_):
            values[name][number] = means[name] * math.exp(rng.gauss(0, noise[name]))
            cells += 1
        if number >= FIRST_LOOK:
            known = standing(values, asked)
            open_ = set(known.open)
        if not open_:
            break
    return known, cells


if __name__ == "__main__":
    sys.exit(main())
