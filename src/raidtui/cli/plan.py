"""`raidtui plan`: what replay would do, and what it would cost."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from raidtui.base.text import clean, plural
from raidtui.cli.consent import add_scenario_arguments, binding_of, document_of, options_of, replay_line
from raidtui.cli.screen import print_json
from raidtui.cli.session import connect
from raidtui.client.engine_client import EngineClient
from raidtui.front.consent import erased_disks
from raidtui.front.looks import looks_line
from raidtui.model.convert import plain
from raidtui.model.plan import Plan, Step
from raidtui.model.protocol import PlanRequest
from raidtui.model.units import duration_text, size_text


def add_arguments(parser: ArgumentParser) -> None:
    add_scenario_arguments(parser)


def run(args: Namespace) -> int:
    """Print the plan; nothing is touched."""
    request = request_of(args)
    with connect(args) as engine:
        plan = make_plan(engine, request)
    if args.json:
        print_json(plain(plan))
        return 0
    print("\n".join(plan_lines(plan)))
    print(f"\nTo run it:\n\n  {replay_line(plan, args)}")
    return 0


def request_of(args: Namespace) -> PlanRequest:
    """What the arguments of `plan` and `replay` ask of the engine."""
    bind = binding_of(args)
    return PlanRequest(document_of(args), bind, options_of(args))


def make_plan(engine: EngineClient, request: PlanRequest) -> Plan:
    plan: Plan = engine.call("plan", request, Plan)
    return plan


def plan_lines(plan: Plan) -> Iterator[str]:
    """The plan as plain lines: commands stand whole on a line of their own, to be copied."""
    name, title = clean(plan.scenario.get("name", "")), clean(plan.scenario.get("title", ""))
    yield f"Plan {plan.digest[:12]} of {name}{': ' if title else ''}{title}"
    if plan.options.quick:
        yield "A rehearsal (--quick): good for trying, not for comparing."
    yield ""
    yield from _disk_lines(plan)
    yield ""
    rounds = len({cell.round for cell in plan.cells})
    most = " at most: what the ranking no longer needs is left out" if plan.ends_early else ""
    yield f"Cells    {len(plan.cells)}, in {plural(rounds, 'round')}{most}"
    if plan.ceilings:
        yield f"Ceilings {len(plan.ceilings)} of bare disks: {', '.join(map(clean, plan.ceilings))}"
    yield f"Time     {'at most ' if most else ''}about {duration_text(plan.seconds)}"
    yield f"Writes   {writes_text(plan.writes_bytes)}"
    for warning in plan.warnings:
        yield f"Warning  {clean(warning)}"
    heading = ""
    for number, step in enumerate(plan.steps, 1):
        if (now := f"{step.block or 'whole run'}: {step.phase}") != heading:
            heading = now
            yield from ("", clean(heading))
        yield from _step_lines(number, step)


def writes_text(writes_bytes: int | None) -> str:
    """How much is written to disks, in words."""
    if writes_bytes is None:
        return "as much as the disks take in that time (some workloads are bounded by time alone)"
    return f"at most {size_text(writes_bytes)}"


def _disk_lines(plan: Plan) -> Iterator[str]:
    roles = {disk.id: role for role, disks in plan.binding.items() for disk in disks}
    if not plan.erases:
        yield "No disk is erased."
        return
    yield (
        f"These {plural(len(plan.erases), 'disk')} will be ERASED:" if len(plan.erases) > 1 else "This disk will be ERASED:"
    )
    rows = [
        (clean(roles.get(disk.id, "")), clean(disk.id), clean(disk.model), size_text(disk.size_bytes), clean(disk.wwid))
        for disk in erased_disks(plan)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if looked := looks_line(plan):
        yield looked


def _step_lines(number: int, step: Step) -> Iterator[str]:
    seconds = f" (about {duration_text(step.seconds)})" if step.seconds >= 1 else ""
    yield f"  {number:>3}  {clean(step.title)}{seconds}"
    for argv in step.commands:
        yield f"       $ {clean(shlex.join(argv), limit=65536)}"
