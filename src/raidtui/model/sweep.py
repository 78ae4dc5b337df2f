"""Sweeps: a workload with lists of block sizes, jobs or queue depths stands for one workload for each combination."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from raidtui.model.problem import Problem, Refusal
from raidtui.model.units import Size

SWEPT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"fio": ("bs", "numjobs", "iodepth")})
"""Options that may be lists, by kind of workload. The last one varies fastest."""
MOST_VALUES: Final = 64
LONGEST_NAME: Final = 63
MOST_COMBINATIONS: Final = 100
"""Largest number of combinations of one sweep: ten queue depths × ten numbers of jobs are more than a curve needs."""

SWEEP_LIST: Final = Refusal(
    "sweep-list",
    "The list of a sweep is empty or repeats a value",
    "A list of block sizes, jobs or queue depths makes a workload for each value, so it has one value or more, and each "
    "of them once. 4KiB and 4096B are the same size.",
    'Write each value once, such as "iodepth": [1, 4, 16, 64].',
)
SWEEP_SIZE: Final = Refusal(
    "sweep-size",
    "The sweep has too many combinations",
    f"Each combination of the listed values is measured on every layout in every round. A sweep has at most "
    f"{MOST_COMBINATIONS} combinations, and a scenario at most 200 workloads with those of its sweeps.",
    "Leave values out: powers of four show where a curve bends as well as powers of two.",
)
SWEEP_OPTION: Final = Refusal(
    "sweep-option",
    "The option takes no list",
    "Only bs, numjobs and iodepth of a fio workload may be lists. Any other option has one value in all combinations.",
    "Write one value, or a workload of its own for each value.",
)
SWEEP_NAME: Final = Refusal(
    "sweep-name",
    "A name of a sweep's workloads is taken or too long",
    "Each combination is a workload, named by the sweep and its listed values: randread with iodepth [1, 16] makes "
    "randread-q1 and randread-q16. No other workload may have such a name, and names have at most 63 characters.",
    "Rename the sweep or the other workload.",
)


class Swept(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Place of a workload in its sweep: one combination of the listed values, with the options that are no lists."""

    name: str
    """The sweep, as the scenario names it."""
    bs: str = ""
    """Block size as the scenario writes it; empty for a mix of sizes."""
    numjobs: int = 1
    iodepth: int = 1

    @property
    def in_flight(self) -> int:
        """Operations that all jobs together keep in flight on one device."""
        return self.numjobs * self.iodepth


def lists_of(kind: str, options: Any) -> dict[str, list[Any]]:
    """Return the lists of a workload's options that make it a sweep; empty if it is none."""
    given = options if isinstance(options, Mapping) else {}
    return {name: given[name] for name in SWEPT.get(kind, ()) if isinstance(given.get(name), list)}


def problems_of(kind: str, options: Any, known: Mapping[str, bool], place: str) -> Iterator[Problem]:
    """Return what is wrong with the lists of a workload's options. `known`: its options, and whether each is a list."""
    for name, value in options.items() if isinstance(options, Mapping) else ():
        if not isinstance(value, list) or name not in known or known[name]:
            continue
        if name not in SWEPT.get(kind, ()):
            text = f"{name} of a {kind} workload takes one value, not a list"
            yield SWEEP_OPTION.problem(text, place=f"{place}.{name}", remedy=SWEEP_OPTION.way_out)
        elif not value:
            yield SWEEP_LIST.problem(f"the list of {name} is empty", place=f"{place}.{name}", remedy=SWEEP_LIST.way_out)
        elif len(value) > MOST_VALUES:
            text = f"{len(value)} values of {name}; at most {MOST_VALUES} are allowed"
            yield SWEEP_SIZE.problem(text, place=f"{place}.{name}", remedy=SWEEP_SIZE.way_out)
        else:
            yield from _repeated(name, value, f"{place}.{name}")
    lists = lists_of(kind, options)
    count = math.prod(map(len, lists.values()))
    if count > MOST_COMBINATIONS:
        sizes = " × ".join(f"{len(values)} of {name}" for name, values in lists.items())
        text = f"{sizes} are {count} combinations; at most {MOST_COMBINATIONS} are allowed"
        yield SWEEP_SIZE.problem(text, place=place, remedy=SWEEP_SIZE.way_out)


def _repeated(name: str, values: list[Any], place: str) -> Iterator[Problem]:
    seen: dict[object, int] = {}
    for number, value in enumerate(values):
        first = seen.setdefault(_same(value), number)
        if first != number:
            text = f"{name} {str(value)[:40]} is listed twice"
            if str(value) != str(values[first]):
                text = f"{name} {str(value)[:40]} is the same as {str(values[first])[:40]}"
            yield SWEEP_LIST.problem(text, place=f"{place}[{number}]", remedy=SWEEP_LIST.way_out)


def _same(value: Any) -> object:
    """Return what equal values have in common: sizes are equal by their bytes."""
    if isinstance(value, str):
        try:
            return Size(value)
        except ValueError:
            return value
    return value if isinstance(value, int | float) else json.dumps(value)


def combinations(kind: str, options: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, int], dict[str, Any]]]:
    """Yield each combination: end of its name (`4k-t4q16`), the place of its values in their lists, and its options."""
    lists = lists_of(kind, options)
    for places in itertools.product(*(range(len(values)) for values in lists.values())):
        at = dict(zip(lists, places, strict=True))
        own = {name: lists[name][place] for name, place in at.items()}
        yield _ending(own), at, {**options, **own}


def _ending(own: Mapping[str, Any]) -> str:
    """Return `4k-t4q16` for a block size, a number of jobs and a queue depth, as far as they are listed."""
    block = str(own.get("bs", "")).lower().removesuffix("ib")
    load = f"t{own['numjobs']}" if "numjobs" in own else ""
    load += f"q{own['iodepth']}" if "iodepth" in own else ""
    return "-".join(filter(None, (block, load)))


def swept(name: str, options: Mapping[str, Any]) -> Swept:
    """Return the place of a combination with these options. fio's default for jobs and queue depth is 1."""
    block, jobs, depth = (options.get(option) for option in ("bs", "numjobs", "iodepth"))
    return Swept(
        name, block if isinstance(block, str) else "", jobs if isinstance(jobs, int) else 1,
        depth if isinstance(depth, int) else 1,
    )  # fmt: skip


def expanded(workloads: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario's workloads (plain JSON data that was read before) with a workload for each combination.

    A sweep of unknown origin that has none, or too many, is left as it is.
    """
    found: dict[str, Any] = {}
    for name, value in workloads.items():
        kind, options = next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else ("", {})
        lists = lists_of(kind, options)
        if lists and 0 < math.prod(map(len, lists.values())) <= MOST_COMBINATIONS:
            found |= {f"{name}-{ending}": {kind: own} for ending, _, own in combinations(kind, options)}
        else:
            found[name] = value
    return found
