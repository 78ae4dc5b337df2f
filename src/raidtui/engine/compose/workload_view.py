"""A workload as a form needs it, before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.engine.compose.settings import workload_settings
from raidtui.load.catalog import engines
from raidtui.load.engine import FIRST_TARGET_FD, rehearsal
from raidtui.model.describe import WorkloadView
from raidtui.model.plan import TargetKind
from raidtui.model.scenario import Entry, Load

_ANY_SIZE_BYTES = 1 << 50


def workload_view(
    name: str, entry: Entry[Load], targets: Sequence[tuple[TargetKind, int]], warnings: tuple[str, ...], *, quick: bool
) -> WorkloadView:
    """Return the view of a workload. `targets`: kind and size of all that it will run on."""
    load = entry.value
    if load is None:
        return WorkloadView(name, problems=entry.problems)
    settings = workload_settings(load.kind, load.given if isinstance(load.given, dict) else {})
    if load.spec is None:
        return WorkloadView(name, problems=entry.problems, settings=settings)
    engine, spec, problems = engines()[load.kind], load.spec, entry.problems
    # Before a layout exists, a workload is shown on any target that it can load.
    unknown: tuple[TargetKind, int] = ("directory" if engine.takes == "directory" else "block", _ANY_SIZE_BYTES)
    kind, size_bytes = min(targets, key=lambda target: target[1], default=unknown)
    if not problems and quick:
        spec = rehearsal(engine, spec, size_bytes, kind)
    if not problems:
        # The same on several targets is one thing to solve: the smallest one says it.
        ordered = sorted((target for target in targets if engine.takes in ("both", target[0])), key=lambda t: t[1])
        found = [p for kind, size in ordered for p in engine.check_target(spec, load.place, size, kind=kind)]
        problems = tuple({(p.code, p.place): p for p in reversed(found)}.values())
    command: tuple[str, ...] = ()
    seconds = 0.0
    if not problems:
        # Where targets differ in size, shares of them stay shares.
        exact = targets[0][1] if len(targets) == 1 else None
        command = engine.command(spec, (f"/proc/self/fd/{FIRST_TARGET_FD}",), size_bytes=exact, kind=kind)
        seconds = engine.estimate(spec, size_bytes, kind=kind).seconds
    return WorkloadView(name, engine.describe(spec), problems, warnings, settings, command, seconds)
