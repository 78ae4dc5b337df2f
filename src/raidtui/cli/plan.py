"""`raidtui plan` and `raidtui preview`: what a replay would do; layouts and costs of a scenario, complete or not."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from raidtui.base.text import clean, named, plural
from raidtui.cli.screen import connect, print_json, print_lines
from raidtui.client.engine_client import EngineClient
from raidtui.front.files import document
from raidtui.front.hosts import hosts_of
from raidtui.front.phrases import looks_line, place_words
from raidtui.front.plan import (
    erased_disks,
    kept_lines,
    phase_words,
    replay_line,
    sweep_words,
    taken_words,
    with_workloads,
    workload_names,
    writes_text,
)
from raidtui.model.convert import plain
from raidtui.model.describe import LayerView, LayoutView, Preview, PreviewRequest, RoleView, WorkloadView
from raidtui.model.plan import Argv, Options, Plan, Step
from raidtui.model.problem import Exit, Problem, Refusal, fail
from raidtui.model.protocol import PlanRequest, Script, ScriptRequest
from raidtui.model.statistics.judge import few
from raidtui.model.units import duration_text, size_text

BIND: Final = Refusal(
    "bind",
    "--bind is not valid",
    "--bind has the form ROLE=DISK,DISK and may name each role once.",
    "For example: --bind data=SERIAL,SERIAL.",
)


def plan_command(args: Namespace) -> int:
    """Print the plan; nothing is touched."""
    request = request_of(args)
    if args.language is not None:
        return _print_script(args, request)
    with connect(args) as engine:
        plan = make_plan(engine, request)
    if args.json:
        print_json(plain(plan))
        return 0
    print_lines(plan_lines(plan))
    print(f"\nTo run it:\n\n  {command_line(plan, args)}")
    return 0


def _print_script(args: Namespace, request: PlanRequest) -> int:
    """Print one layout as a script that builds it for good."""
    asked = ScriptRequest(request, args.language, args.name, args.mount or f"/srv/{args.name}")
    with connect(args) as engine:
        script: Script = engine.call("script", asked, Script)
    if args.json:
        print_json(plain(script))
    else:
        sys.stdout.write(script.text)
    return 0


def request_of(args: Namespace) -> PlanRequest:
    """Return the request that the arguments of `plan` and `replay` describe."""
    return PlanRequest(*asked(args, args.bind), hosts_of(args.host))


def asked(args: Namespace, bind_words: Sequence[str]) -> tuple[str, dict[str, tuple[str, ...]], Options]:
    """Return the scenario with the workloads given in shorthand, the disks by role, and the options."""
    bind = binding_of(bind_words)
    options = Options(quick=args.quick, layouts=tuple(args.layout), workloads=workload_names(args.workload),
                      keep=getattr(args, "keep", None))
    return with_workloads(document(args.scenario), args.workload), bind, options


def make_plan(engine: EngineClient, request: PlanRequest) -> Plan:
    plan: Plan = engine.call("plan", request, Plan)
    return plan


def plan_lines(plan: Plan) -> Iterator[str]:
    """Return the plan as plain lines. Each command is on one line, ready to be copied."""
    name, title = clean(plan.scenario.get("name", "")), clean(plan.scenario.get("title", ""))
    yield f"Plan {plan.digest[:12]} of {name}{': ' if title else ''}{title}"
    if plan.options.quick:
        yield "A rehearsal (--quick): good for trying, not for comparing."
    yield ""
    yield from _disk_lines(plan)
    for host in (host for group in plan.hosts.values() for host in group):
        yield (f"Host     {clean(host.ref)}: {clean(host.host)} ({clean(host.address)}), reached from "
               f"{clean(host.storage_address)} at {clean(host.own_address)}")  # fmt: skip
    yield ""
    if plan.kept is not None:
        yield from kept_lines(plan.kept)
    yield from _cost_lines(plan)
    heading = ""
    for number, step in enumerate(plan.steps, 1):
        if (now := f"{step.block or 'whole run'}: {phase_words(plan, step)}") != heading:
            heading = now
            yield from ("", clean(heading))
        yield from _step_lines(number, step)


def _cost_lines(plan: Plan) -> Iterator[str]:
    rounds = len({cell.round for cell in plan.cells})
    most = " at most: what the ranking no longer needs is left out" if plan.ends_early else ""
    if plan.cells:
        yield f"Cells    {len(plan.cells)}, in {plural(rounds, 'round')}{most}"
    if few(rounds, rounds) and not most and len({cell.layout for cell in plan.cells}) > 1:
        yield "Verdict  none: fewer than four rounds cannot tell a difference between layouts from chance"
    for sweep in plan.sweeps:
        yield f"Sweep    {sweep_words(sweep)}"
    if plan.ceilings:
        yield f"Ceilings {len(plan.ceilings)}: {', '.join(map(clean, plan.ceilings))}"
    yield f"Time     {'at most ' if most else ''}about {duration_text(plan.seconds)}"
    yield f"Writes   {writes_text(plan)}"
    for warning in plan.warnings:
        yield f"Warning  {clean(warning)}"


def _disk_lines(plan: Plan) -> Iterator[str]:
    roles = {disk.id: role for role, disks in plan.binding.items() for disk in disks}
    if taken := taken_words(plan):
        yield taken
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
    yield from _file_lines(step.files, 7)


def _file_lines(files: Mapping[str, str], columns: int) -> Iterator[str]:
    """Return the files that a command reads: each name, then its lines."""
    for name, content in files.items():
        yield f"{' ' * columns}{clean(name)}:"
        for line in content.splitlines():
            yield f"{' ' * columns}  {clean(line, limit=65536)}"


def add_plan_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "The last line is the command that runs the plan, with --erase for every disk that it erases."
    add_scenario_arguments(parser)
    parser.add_argument("--as", dest="language", choices=("bash", "ansible"),
                        help="print a script that builds the layout (--layout) for good: for bash, or for the Ansible "
                             "role linux-system-roles.storage; disks that are not blank are refused")  # fmt: skip
    parser.add_argument("--name", default="data", help="with --as: name of the array, volume group, pool (default: data)")
    parser.add_argument("--mount", metavar="PATH", help="with --as: mount point (default: /srv/NAME)")


def add_scenario_arguments(parser: ArgumentParser, json_help: str = "print JSON") -> None:
    """Add the arguments that `plan`, `preview` and `replay` share."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario or result file, - for stdin, or a shipped name")
    parser.add_argument("--bind", action="append", default=[], metavar="ROLE=ID,…",
                        help="the disks of a role, by serial or WWN; may be repeated; with several servers "
                             "SERVER:ROLE=ID,…")  # fmt: skip
    parser.add_argument("--layout", action="append", default=[], metavar="NAME", help="only this layout; may be repeated")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help="only this workload; may be repeated; 'T8Q32 4k randread' adds a workload")  # fmt: skip
    parser.add_argument("--quick", action="store_true",
                        help="rehearsal: at most 3 s per run of fio, and 256 MiB of prefill; not comparable")  # fmt: skip
    parser.add_argument("--host", action="append", default=[], metavar="GROUP=ADDRESS,…",
                        help="the hosts of a group, as the storage server reaches them over ssh; may be repeated")
    parser.add_argument("--json", action="store_true", help=json_help)


def binding_of(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the words of `--bind` as disk ids by role. Raises ProblemError (`bind`)."""
    bound: dict[str, tuple[str, ...]] = {}
    for word in words:
        role, equals, ids = word.partition("=")
        names = split_ids([ids])
        if not (role and equals and names):
            raise fail(BIND, f"{word[:200]!r} is not ROLE=ID,ID,…", place="--bind")
        if role in bound:
            raise fail(BIND, f"role {role[:80]!r} is bound twice", place="--bind")
        bound[role] = names
    return bound


def split_ids(words: Sequence[str]) -> tuple[str, ...]:
    """Return the ids in comma-separated words, without duplicates, in order."""
    return tuple(dict.fromkeys(part.strip() for word in words for part in word.split(",") if part.strip()))


def command_line(plan: Plan, args: Namespace) -> str:
    """Return the command line that runs this plan with consent to erase its disks."""
    more = ["--json"] if args.json and args.command != "plan" else []
    more += ["--detach"] if getattr(args, "detach", False) else []
    more += ["-o", args.output] if getattr(args, "output", None) else []
    on = ["--on", args.on] if args.on else []
    options = msgspec.structs.replace(plan.options, workloads=tuple(args.workload))  # shorthand as it was typed
    return replay_line(plan, args.scenario, options, on=on, more=more)


def preview_command(args: Namespace) -> int:
    """Print the preview; nothing is touched. If problems prevent a plan, the exit code is that of the worst one."""
    request = PreviewRequest(*asked(args, args.bind))
    with connect(args) as engine:
        found: Preview = engine.call("preview", request, Preview)
    if args.json:
        print_json(plain(found))
    else:
        print_lines(preview_lines(found))
    return int(max((Exit(problem.exit) for problem in found.problems), default=Exit.DONE))


def preview_lines(found: Preview) -> Iterator[str]:
    """Return the preview as plain lines: layouts, workloads, and the cost of the whole run."""
    for layout in found.layouts:
        yield from _layout_lines(layout)
        yield ""
    for workload in found.workloads:
        yield from _workload_lines(workload)
        yield ""
    if found.seconds is not None:
        most = "at most " if found.ends_early else ""
        yield f"Whole run: {plural(found.cells, 'cell')}, {most}about {duration_text(found.seconds)}"
        unknown = "an amount that is not known (some workloads are bounded by time alone)"
        writes = unknown if found.writes_bytes is None else f"at most {size_text(found.writes_bytes)}"
        yield f"Writes {writes}; erases {plural(len(found.erases), 'disk')}."
        return
    shown = {problem for layout in found.layouts for problem in layout.problems}
    shown |= {problem for workload in found.workloads for problem in workload.problems}
    yield "There is no plan yet:"
    yield from (line for problem in found.problems for line in _problem_lines(problem, with_remedy=problem not in shown))


def _layout_lines(layout: LayoutView) -> Iterator[str]:
    yield f"Layout {clean(layout.name)}"
    if layout.stack is not None:
        yield from stack_lines(layout.stack, 2)
    if layout.size_bytes is not None and layout.raw_bytes is not None:
        each = f", on each of {named(layout.on_each_of, 4)}" if layout.on_each_of else ""
        raw = f" of {size_text(layout.raw_bytes)}" if layout.raw_bytes else ""  # images of a cluster have no disks here
        yield f"  Capacity  {size_text(layout.size_bytes)}{raw}{each}"
    if layout.hosts_have:
        yield f"  Hosts     each has {clean(layout.hosts_have)}"
    if layout.may_fail is not None:
        words = f": {clean(layout.may_fail_words)}" if layout.may_fail_words else ""
        yield f"  May fail  {plural(layout.may_fail, layout.fails)}{words}"
    if layout.write_penalty is not None:
        yield f"  Writes    {layout.write_penalty:g} reads and writes of disks for one small random write"
    if layout.stripe_bytes is not None:
        yield f"  Stripe    {size_text(layout.stripe_bytes)}"
    if (ceiling := layout.ceiling) is not None:
        rates = (("read", ceiling.read_bytes_per_s), ("write", ceiling.write_bytes_per_s))
        words = ", ".join(f"{name} {rate / 1e9:.1f} GB/s" for name, rate in rates if rate is not None)
        yield f"  Ceiling   {words} ({clean(ceiling.source)})"
    for warning in layout.warnings:
        yield f"  Warning   {clean(warning)}"
    for problem in layout.problems:
        yield from _problem_lines(problem)
    yield from _command_lines("Build", layout.build)
    yield from _command_lines("Teardown", layout.teardown)


def stack_lines(view: LayerView | RoleView, columns: int, name: str = "", *, ids: bool = True) -> Iterator[str]:
    """Return the layers of a layout, the target first; `ids`: with the disks of each role."""
    label = f"{name}: " if name else ""
    if isinstance(view, RoleView):
        disks = f" ({', '.join(map(clean, view.disks))})" if view.disks and ids else ""
        yield f"{' ' * columns}{label}@{clean(view.role)}, {plural(view.count, 'disk')}{disks}"
        return
    yield f"{' ' * columns}{label}{clean(view.kind)}{': ' if view.words else ''}{clean(view.words)}"
    for input_name, sources in view.inputs.items():
        for source in sources:
            yield from stack_lines(source, columns + 2, clean(input_name), ids=ids)


def _workload_lines(workload: WorkloadView) -> Iterator[str]:
    about = f", about {duration_text(workload.seconds)}" if workload.seconds else ""
    yield f"Workload {clean(workload.name)}{': ' if workload.words else ''}{clean(workload.words)}{about}"
    for warning in workload.warnings:
        yield f"  Warning   {clean(warning)}"
    for problem in workload.problems:
        yield from _problem_lines(problem)
    if workload.command:
        yield from _command_lines("Command", (workload.command,))
    for hosted in workload.hosted:
        yield from _command_lines(f"Command, from the hosts of {', '.join(map(clean, hosted.layouts))}", (hosted.command,))
        yield from _file_lines(hosted.files, 4)


def _command_lines(title: str, commands: tuple[Argv, ...]) -> Iterator[str]:
    if commands:
        yield f"  {title}"
    for argv in commands:
        yield f"    $ {clean(shlex.join(argv), limit=65536)}"


def _problem_lines(problem: Problem, *, with_remedy: bool = True) -> Iterator[str]:
    place = f" ({place_words(problem)})" if problem.place else ""
    yield f"  ✗ {clean(problem.message)}{place} [{clean(problem.code)}]"
    if problem.remedy and with_remedy:
        yield f"    → {clean(problem.remedy)}"


COMMANDS: Final = {"plan": (add_plan_arguments, plan_command), "preview": (add_scenario_arguments, preview_command)}
