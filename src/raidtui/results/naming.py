"""What several results have in common and what not: names that stay unique, and what a reader of both must know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from raidtui.model.result import Result


def layout_names(results: Sequence[Result]) -> list[dict[str, str]]:
    """For each result, by layout: its name here. The same name in several results gets the result's number: `raid5:2`."""
    layouts = [layouts_of(result) for result in results]
    count = Counter(name for names in layouts for name in names)
    return [
        {name: f"{name}:{number}" if count[name] > 1 else name for name in names} for number, names in enumerate(layouts, 1)
    ]


def workload_names(results: Sequence[Result]) -> list[dict[str, str]]:
    """For each result, by workload: its name here. One name for one definition, run the same way; else it is numbered."""
    keys = [{name: _definition(result, name) for name in workloads_of(result)} for result in results]
    count = Counter(name for name, _ in {(name, key) for found in keys for name, key in found.items()})
    first: dict[tuple[str, str], int] = {}
    for number, found in enumerate(keys, 1):
        for item in found.items():
            first.setdefault(item, number)
    return [
        {name: f"{name}:{first[name, key]}" if count[name] > 1 else name for name, key in found.items()} for found in keys
    ]


def layouts_of(result: Result) -> list[str]:
    """Layouts that were built or tried, in the scenario's order."""
    found = [cell.layout for cell in result.cells] + [built.layout for built in result.layouts]
    return in_order(result.scenario.get("layouts"), found)


def workloads_of(result: Result) -> list[str]:
    """Workloads that were run, in the scenario's order."""
    return in_order(result.scenario.get("workloads"), [cell.workload for cell in result.cells])


def in_order(section: object, found: Sequence[str]) -> list[str]:
    """Names that were found, each once, in the order in which the scenario gives them."""
    given = [name for name in section if name in found] if isinstance(section, Mapping) else []
    return list(dict.fromkeys([*given, *found]))


def notes_on(results: Sequence[Result]) -> list[str]:
    """Sentences about what makes numbers of these results unlike each other."""
    several = len(results) > 1
    notes = []
    for number, result in enumerate(results, 1):
        name = f"result {number}" if several else "this result"
        if result.rehearsal:
            notes.append(f"{name} is a rehearsal (--quick): good for trying, not for comparing")
        if not result.complete:
            notes.append(f"{name} is not complete: not every planned cell was measured")
    for what, of in _LIKENESS:
        found = list(dict.fromkeys(filter(None, map(of, results))))
        if len(found) > 1:
            notes.append(f"measured {what}: {'; '.join(found)}")
    return notes


def _definition(result: Result, workload: str) -> str:
    """What was run, as text: equal for equal workloads."""
    section = result.scenario.get("workloads")
    given = section.get(workload) if isinstance(section, Mapping) else None
    return json.dumps([given, result.rehearsal], sort_keys=True, default=str)


def _models(result: Result) -> str:
    return _counted(disk.model or "unknown model" for prints in result.binding.values() for disk in prints)


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in sorted(Counter(names).items()))


def _fio(result: Result) -> str:
    return result.machine.tools.get("fio", "")


_LIKENESS: tuple[tuple[str, Callable[[Result], str]], ...] = (
    ("on different servers", lambda result: result.machine.host),
    ("under different kernels", lambda result: result.machine.kernel),
    ("with different versions of fio", _fio),
    ("on different disks", _models),
)
