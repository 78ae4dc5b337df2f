"""A workload as a form needs it, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raidtui.engine.compose.planner import FIRST_TARGET_FD
from raidtui.engine.compose.settings import workload_settings
from raidtui.load.catalog import engines
from raidtui.load.engine import Engine, rehearsal
from raidtui.model.convert import decode
from raidtui.model.describe import WorkloadView
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.scenario import Load, single

_ANY_SIZE_BYTES = 1 << 50


def workload_view(
    name: str,
    raw: Any,
    place: str,
    load: Load | None,
    targets: Sequence[tuple[TargetKind, int]],
    warnings: tuple[str, ...],
    *,
    quick: bool = False,
) -> WorkloadView:
    """`load` is what was read of `raw`, None where it cannot be; `targets`: kind and size of all that it will run on."""
    try:
        kind, options = single(raw, place, "workload", engines())
    except ProblemError as error:
        return WorkloadView(name, problems=error.problems)
    settings = workload_settings(kind, options if isinstance(options, dict) else {})
    engine = engines()[kind]
    if load is None:
        try:
            decode(engine.spec, options, f"{place}.{kind}")
        except ProblemError as error:
            return WorkloadView(name, problems=error.problems, settings=settings)
        return WorkloadView(name, settings=settings)
    problems: list[Problem] = engine.check(load.spec, load.place)
    spec = load.spec
    smallest = min(targets, key=lambda target: target[1], default=(_kind_of(engine), _ANY_SIZE_BYTES))
    if not problems and quick:
        spec = rehearsal(engine, spec, smallest[1], smallest[0])
    if not problems:
        # The same on several targets is one thing to solve: the smallest one says it.
        ordered = sorted((target for target in targets if engine.takes in ("both", target[0])), key=lambda t: t[1])
        found = [p for kind, size in ordered for p in engine.check_target(spec, load.place, size, kind=kind)]
        problems = list({(p.code, p.place): p for p in reversed(found)}.values())
    command: tuple[str, ...] = ()
    seconds = 0.0
    if not problems:
        # Where targets differ in size, shares of them stay shares.
        exact = targets[0][1] if len(targets) == 1 else None
        command = engine.command(spec, (f"/proc/self/fd/{FIRST_TARGET_FD}",), size_bytes=exact, kind=smallest[0])
        seconds = engine.estimate(spec, smallest[1], kind=smallest[0]).seconds
    return WorkloadView(name, engine.describe(spec), tuple(dict.fromkeys(problems)), warnings, settings, command, seconds)


def _kind_of(engine: Engine) -> TargetKind:
    """Return the target that a workload is shown on before a layout exists."""
    return "directory" if engine.takes == "directory" else "block"
