"""Sweeps of a scenario in plans and previews: their cells and the time that they take, and all of one as one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from raidtui.model.describe import WorkloadView
from raidtui.model.plan import CellPlan, Step, SweepPlan
from raidtui.model.scenario import Load


def sweep_plans(cells: Sequence[CellPlan], steps: Sequence[Step]) -> Iterator[SweepPlan]:
    """Yield the cost of each sweep, in the order of the plan."""
    seconds: dict[str, float] = {}
    for step in steps:
        if step.cell:
            seconds[step.cell] = seconds.get(step.cell, 0.0) + step.seconds
    swept = [(cell, cell.sweep) for cell in cells if cell.sweep is not None]
    for name in dict.fromkeys(sweep.name for _, sweep in swept):
        own = [(cell, sweep) for cell, sweep in swept if sweep.name == name]
        places = [sweep for _, sweep in own]
        yield SweepPlan(
            name,
            bs=tuple(dict.fromkeys(one.bs for one in places if one.bs)),
            numjobs=tuple(sorted({one.numjobs for one in places})),
            iodepth=tuple(sorted({one.iodepth for one in places})),
            workloads=len({cell.workload for cell, _ in own}),
            cells=len(own),
            seconds=sum(seconds.get(cell.id, 0.0) for cell, _ in own),
        )


def by_sweep(names: Iterable[str], loads: Mapping[str, Load]) -> tuple[str, ...]:
    """Return names of workloads with the name of a sweep in place of its workloads, where all of them are there."""
    every: dict[str, set[str]] = {}
    for name, load in loads.items():
        if load.sweep is not None:
            every.setdefault(load.sweep.name, set()).add(name)
    given = tuple(names)
    whole = {name: sweep for sweep, own in every.items() if own <= set(given) for name in own}
    return tuple(dict.fromkeys(whole.get(name, name) for name in given))


def as_one(name: str, views: Sequence[WorkloadView]) -> WorkloadView:
    """Return one view of all workloads of a sweep: the command is that of the first one, the time that of all."""
    first, last = views[0], views[-1]
    return msgspec.structs.replace(
        first,
        name=name,
        words=f"sweep of {len(views)}: {first.words} … {last.words}",
        problems=tuple(dict.fromkeys(problem for view in views for problem in view.problems)),
        warnings=tuple(dict.fromkeys(warning for view in views for warning in view.warnings)),
        seconds=sum(view.seconds for view in views),
    )
