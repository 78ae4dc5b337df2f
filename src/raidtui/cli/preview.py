"""`raidtui preview`: show layouts, capacities and commands of a scenario, complete or not."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Final

from raidtui.base.text import clean, plural
from raidtui.cli.plan import add_scenario_arguments, binding_of, document_of, options_of, writes_text
from raidtui.cli.screen import print_json
from raidtui.cli.session import connect
from raidtui.model.convert import plain
from raidtui.model.describe import LayerView, LayoutView, Preview, PreviewRequest, RoleView, WorkloadView
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem
from raidtui.model.units import duration_text, size_text


def add_arguments(parser: ArgumentParser) -> None:
    add_scenario_arguments(parser)


def run(args: Namespace) -> int:
    """Print the preview; nothing is touched. If problems prevent a plan, the exit code is that of the worst one."""
    request = PreviewRequest(document_of(args), binding_of(args), options_of(args))
    with connect(args) as engine:
        found: Preview = engine.call("preview", request, Preview)
    if args.json:
        print_json(plain(found))
    else:
        print("\n".join(preview_lines(found)))
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
        yield f"Writes {writes_text(found.writes_bytes)}; erases {plural(len(found.erases), 'disk')}."
        return
    shown = {problem for layout in found.layouts for problem in layout.problems}
    shown |= {problem for workload in found.workloads for problem in workload.problems}
    yield "There is no plan yet:"
    yield from (line for problem in found.problems for line in _problem_lines(problem, with_remedy=problem not in shown))


def _layout_lines(layout: LayoutView) -> Iterator[str]:
    yield f"Layout {clean(layout.name)}"
    if layout.stack is not None:
        yield from _stack_lines(layout.stack, 2)
    if layout.size_bytes is not None and layout.raw_bytes is not None:
        yield f"  Capacity  {size_text(layout.size_bytes)} of {size_text(layout.raw_bytes)}"
    if layout.may_fail is not None:
        words = f": {clean(layout.may_fail_words)}" if layout.may_fail_words else ""
        yield f"  May fail  {plural(layout.may_fail, 'disk')}{words}"
    if layout.write_penalty is not None:
        yield f"  Writes    {layout.write_penalty:g} to disks for one small random one"
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


def _stack_lines(view: LayerView | RoleView, columns: int, name: str = "") -> Iterator[str]:
    """Return the layers of a layout, the target first."""
    label = f"{name}: " if name else ""
    if isinstance(view, RoleView):
        disks = f" ({', '.join(map(clean, view.disks))})" if view.disks else ""
        yield f"{' ' * columns}{label}@{clean(view.role)}, {plural(view.count, 'disk')}{disks}"
        return
    yield f"{' ' * columns}{label}{clean(view.kind)}{': ' if view.words else ''}{clean(view.words)}"
    for input_name, sources in view.inputs.items():
        for source in sources:
            yield from _stack_lines(source, columns + 2, clean(input_name))


def _workload_lines(workload: WorkloadView) -> Iterator[str]:
    about = f", about {duration_text(workload.seconds)}" if workload.seconds else ""
    yield f"Workload {clean(workload.name)}{': ' if workload.words else ''}{clean(workload.words)}{about}"
    for warning in workload.warnings:
        yield f"  Warning   {clean(warning)}"
    for problem in workload.problems:
        yield from _problem_lines(problem)
    if workload.command:
        yield from _command_lines("Command", (workload.command,))


def _command_lines(title: str, commands: tuple[Argv, ...]) -> Iterator[str]:
    if commands:
        yield f"  {title}"
    for argv in commands:
        yield f"    $ {clean(shlex.join(argv), limit=65536)}"


def _problem_lines(problem: Problem, *, with_remedy: bool = True) -> Iterator[str]:
    place = f" ({clean(problem.place)})" if problem.place else ""
    yield f"  ✗ {clean(problem.message)}{place} [{clean(problem.code)}]"
    if problem.remedy and with_remedy:
        yield f"    → {clean(problem.remedy)}"


COMMANDS: Final = {"preview": (add_arguments, run)}
