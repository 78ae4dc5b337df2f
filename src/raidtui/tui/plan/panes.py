"""Parts of the screen Plan: the request that a plan answers, the overview of the plan or of its refusal, and its steps."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from raidtui.base.text import clean, plural
from raidtui.front.phrases import looks_line, sentence
from raidtui.front.plan import erased_disks, kept_lines, phase_words, sweep_words, taken_words, writes_text
from raidtui.model.disk import Disk, Fingerprint, plain_role
from raidtui.model.plan import Options, Plan, Step
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList, PlanRequest
from raidtui.model.units import duration_text, size_text
from raidtui.tui.disks.entries import fact_grid, hanging
from raidtui.tui.draft import Draft, host_groups, names_in, role_names
from raidtui.tui.widgets.glyphs import glyphs


class Remedy(NamedTuple):
    """A key that leads to a remedy, and the name of its target."""

    key: str
    words: str


COMPOSE = Remedy("2", "Compose")
DISKS = Remedy("1", "Disks")
RUN = Remedy("4", "Run")
HOSTS = Remedy("h", "name the hosts")
AGAIN = Remedy("ctrl+r", "reconnect")


def request_of(draft: Draft, options: Options, hosts: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> PlanRequest:
    """Return the plan request for the draft, without options, disks and hosts whose names the draft no longer has."""
    bind = {role: ids for role, ids in draft.bind.items() if ids and plain_role(role) in names_in(draft, "roles")}
    layouts = tuple(name for name in options.layouts if name in names_in(draft, "layouts"))
    workloads = tuple(name for name in options.workloads if name in names_in(draft, "workloads"))
    kept = Options(options.quick, layouts, workloads, options.keep if layouts else None)
    return PlanRequest(json.dumps(draft.document, indent=2, ensure_ascii=False), bind, kept,
                       {group: hosts[group] for group in host_groups(draft) if group in hosts})  # fmt: skip


def missing(draft: Draft) -> tuple[tuple[str, Remedy], ...]:
    """Return the parts that a plan needs and the draft lacks, with the screen for each."""
    lacks = []
    if not role_names(draft):
        lacks.append(("no disks have a role: select some and give them to one", DISKS))
    if not names_in(draft, "layouts"):
        lacks.append(("there is no layout: add one over the disks", COMPOSE))
    if not names_in(draft, "workloads"):
        lacks.append(("there is no workload: add one to measure the layouts with", COMPOSE))
    return tuple(lacks)


def disk_facts(disks: DiskList | None) -> frozenset[tuple[object, ...]]:
    """Return the properties of the disks that a plan depends on; temperature is not one."""
    return frozenset((d.id, d.wwid, d.size_bytes, d.diskseq, d.free) for d in (disks.disks if disks else ()))


def remedy_of(problem: Problem) -> Remedy:
    """Return the screen where a problem can be solved."""
    if problem.code in ("engine-lost", "engine-answer", "engine-start", "unreachable"):
        return AGAIN
    if problem.code == "not-free.held":
        return RUN
    if problem.place.startswith("--host") or problem.code.startswith("host-"):
        return HOSTS
    by_disk = problem.code.startswith("not-free.") or problem.place.startswith(("--bind", "--erase"))
    if by_disk or problem.code in ("too-few-disks", "ambiguous-binding", "no-such-disk", "wrong-count"):
        return DISKS
    return COMPOSE


def changed_disk(plan: Plan, disks: DiskList | None) -> str:
    """Return which disk to be erased changed since the plan was made; empty if none did.

    Disks of other hosts are not in this list: each host looks at its own before the run begins there.
    """
    there = {disk.id: disk for disk in (disks.disks if disks else ())}
    for planned in (disk for disk in erased_disks(plan) if not disk.host):
        if why := _changed(planned, there.get(planned.id)):
            return f"disk {clean(planned.id, 60)} {why}"
    return ""


def _changed(planned: Fingerprint, disk: Disk | None) -> str:
    if disk is None:
        return "is gone"
    if planned.diskseq is not None and disk.diskseq is not None and disk.diskseq != planned.diskseq:
        return "was unplugged and plugged in again"
    if (planned.wwid, planned.size_bytes) != (disk.wwid, disk.size_bytes):
        return "is another disk now"
    return f"is not free any more: {clean(disk.reasons[0].message)}" if disk.reasons else ""


_SEARCHED: Final = "nothing: blank"
"""Disks of other hosts are planned with if their host found nothing on them."""


def findings(disk: Disk | None) -> str:
    """Return what the engine found on a disk."""
    if disk is None:
        return "unknown: gone"
    if not disk.reasons:
        return _SEARCHED
    return "; ".join(clean(reason.message) for reason in disk.reasons)


def lacks_list(lacks: Sequence[tuple[str, Remedy]]) -> RenderableType:
    """Show what the draft lacks before it can be planned."""
    lines: list[RenderableType] = [Text("Nothing to plan yet", style="bold"), Text()]
    lines += [hanging(Text(f" {way.key} ", style="bold reverse"), Text(f"{way.words}: {what}")) for what, way in lacks]
    return Group(*lines)


def outdated_disks() -> RenderableType:
    """Show that the list of disks is out of date."""
    words = "The list of disks is out of date: nothing can be started before the next look at them. p plans again."
    return Group(hanging(Text("!", style="bold"), Text(words, style="bold")), Text())


def refused(problems: Sequence[Problem], heading: str = "The engine made no plan") -> RenderableType:
    """Show all problems, each with the key to its remedy. A run that holds disks is first: it explains the rest."""
    parts: list[RenderableType] = [Text(heading, style="bold"), Text()]
    for problem in sorted(problems, key=lambda problem: problem.code != "not-free.held"):
        way = remedy_of(problem)
        first, *more = sentence(problem).splitlines()
        parts.append(hanging(Text(glyphs().bad, style="bold"), Text(first)))
        parts += [hanging(Text(" " * (len(line) - len(line.lstrip()))), Text(line.lstrip())) for line in more]
        parts.append(hanging(Text(" "), Text.assemble((f" {way.key} ", "bold reverse"), f" {way.words}")))
        parts.append(Text())
    return Group(*parts)


def overview(plan: Plan, disks: Sequence[Disk], command: str) -> RenderableType:
    """Show all of a plan but its steps."""
    name, title = clean(plan.scenario.get("name", ""), 70), clean(plan.scenario.get("title", ""), 200)
    return Group(
        Text.assemble((name, "bold"), f": {title}" if title else ""),
        Text(),
        fact_grid([*_costs(plan), ("Endurance", _endurance(plan, disks)), ("Measured", _chosen(plan.options))], 9),
        *([Text()] if plan.warnings else []),
        *(hanging(Text("!", style="bold"), Text(clean(warning, 1000))) for warning in plan.warnings),
        *_kept(plan),
        Text(),
        *_erased(plan, disks),
        Text(),
        Text("The same without screens, once the scenario is saved (w)", style="dim"),
        Padding(Text(command, overflow="fold"), (0, 0, 0, 2)),
    )


def _kept(plan: Plan) -> Iterator[RenderableType]:
    """Yield what a plan that builds for good leaves on the server."""
    if plan.kept is not None:
        yield from (Text(), *(Text(line, overflow="fold") for line in kept_lines(plan.kept)))


def _costs(plan: Plan) -> Iterator[tuple[str, str]]:
    most = plan.ends_early
    yield "Time", f"{'at most ' if most else ''}about {duration_text(plan.seconds)}"
    rounds = len({cell.round for cell in plan.cells})
    layouts = len({cell.layout for cell in plan.cells})
    workloads = len({cell.workload for cell in plan.cells})
    matrix = f"{plural(layouts, 'layout')}, {plural(workloads, 'workload')}, {plural(rounds, 'round')}"
    matrix += " at most: what the ranking no longer needs is left out" if most else ""
    if plan.cells:
        yield "Cells", f"{len(plan.cells)} {glyphs().dot} {matrix}"
    for sweep in plan.sweeps:
        yield "Sweep", sweep_words(sweep)
    if plan.ceilings:
        yield "Ceilings", ", ".join(clean(name, 70) for name in plan.ceilings)
    yield "Writes", writes_text(plan)
    for host in (host for group in plan.hosts.values() for host in group):
        yield "Host", f"{clean(host.ref, 40)}: {clean(host.host, 60)} ({clean(host.address, 80)})"


def _endurance(plan: Plan, disks: Sequence[Disk]) -> str:
    """Return the used endurance. The share of this plan is unknown: disks do not report the bytes they are rated for."""
    planned = set(plan.erases)
    worn = [disk.wear_percent for disk in disks if disk.id in planned and disk.wear_percent is not None]
    if not worn:
        return "share unknown: the disks report no rated endurance"
    low, high = min(worn), max(worn)
    used = f"{high:.0f} %" if round(low) == round(high) else f"{low:.0f} to {high:.0f} %"
    return f"share unknown: the disks report no rated endurance; used so far: {used}"


def _chosen(options: Options) -> str:
    if options.keep is not None:
        return f"nothing: {', '.join(clean(name, 40) for name in options.layouts)} is built for good"
    what = "a rehearsal of at most 3 s a workload: good for trying, not for comparing" if options.quick else "in full"
    parts = [what]
    if options.layouts:
        parts.append(f"only {', '.join(clean(name, 40) for name in options.layouts)}")
    if options.workloads:
        parts.append(f"only with {', '.join(clean(name, 40) for name in options.workloads)}")
    return "; ".join(parts)


def _erased(plan: Plan, disks: Sequence[Disk]) -> Iterator[RenderableType]:
    if taken := taken_words(plan):
        yield Text(taken, style="bold")
    if not plan.erases:
        yield Text("No disk is erased.", style="bold")
        return
    count = len(plan.erases)
    yield Text(f"{'This disk' if count == 1 else f'These {count} disks'} will be ERASED", style="bold")
    roles = {disk.id: role for role, prints in plan.binding.items() for disk in prints}
    here = {disk.id: disk for disk in disks}
    rows = [
        (clean(roles.get(disk.id, ""), 31), clean(disk.id, 40), clean(disk.model, 60), size_text(disk.size_bytes),
         _SEARCHED if disk.host and disk.id in plan.looks else findings(here.get(disk.id)))
        for disk in erased_disks(plan)
    ]  # fmt: skip
    yield DiskLines([("role", "serial", "model", "size", "found on it"), *rows])
    if looked := looks_line(plan):
        yield Text(looked, style="dim")


class DiskLines:
    """One line per disk below a heading. In narrow panes the model is cut first, then the findings."""

    def __init__(self, rows: Sequence[tuple[str, ...]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [max(cell_len(row[column]) for row in self._rows) for column in range(5)]
        room = options.max_width - 2 - 4
        for column, least in ((2, 6), (4, 14)):
            excess = max(0, sum(widths) - room)
            widths[column] = max(min(least, widths[column]), widths[column] - excess)
        for index, row in enumerate(self._rows):
            line = Text("  ", style="" if index else "dim", no_wrap=True, overflow="ellipsis")
            for column, width in enumerate(widths):
                cell = Text(row[column])
                cell.truncate(width, overflow="ellipsis")
                pad = " " * (width - cell.cell_len)
                line.append_text(Text(pad) + cell if column == 3 else cell + Text(pad)).append(" ")
            line.rstrip()
            yield line


_OPEN_UP_TO = 60
"""Largest number of steps of a plan whose groups are shown open."""
_LINE_LIMIT = 65536


class StepGroup(NamedTuple):
    """Steps that follow each other in one phase of one block."""

    title: str
    """`raid5#1: build`"""
    steps: tuple[tuple[int, Step], ...]
    """Steps with their number in the plan, from 1."""

    first: frozenset[str] = frozenset()
    """Ids of steps that erase a disk which no step before did."""

    @property
    def seconds(self) -> float:
        return sum(step.seconds for _, step in self.steps)


def groups(plan: Plan) -> Iterator[StepGroup]:
    """Yield all steps in order, grouped by block and phase."""
    first, erased = set(), set[str]()
    for step in plan.steps:
        if not erased.issuperset(step.erases):
            first.add(step.id)
        erased.update(step.erases)
    numbered = enumerate(plan.steps, 1)
    for (block, phase), steps in itertools.groupby(numbered, key=lambda pair: (pair[1].block, phase_words(plan, pair[1]))):
        yield StepGroup(f"{clean(block) or 'whole run'}: {phase}", tuple(steps), frozenset(first))


def commands_text(plan: Plan) -> str:
    """Return every command of the plan in shell syntax, with the steps as comments."""
    lines = [f"# plan {plan.digest[:12]} of {clean(plan.scenario.get('name', ''))}"]
    for group in groups(plan):
        if plan.kept is not None and group.steps[0][1].phase == "teardown":
            continue  # it happens only if the build fails
        lines += ["", f"# {group.title}"]
        for number, step in group.steps:
            lines.append(f"# {number}. {clean(step.title)}")
            for name, content in step.files.items():
                lines.append(f"cat > {shlex.quote(name)} <<'END'")
                lines += [*(clean(line, _LINE_LIMIT) for line in content.splitlines()), "END"]
            lines += [command_line(argv) for argv in step.commands]
    return "\n".join(lines) + "\n"


def command_line(argv: tuple[str, ...]) -> str:
    """Return one command on one line."""
    return clean(shlex.join(argv), _LINE_LIMIT)


class StepTree(Tree[StepGroup | Step | None]):
    """Tree of groups, steps and commands. A step's commands are added when it is opened."""

    HELP = """\
## Steps

All steps of the run, in order. **enter** or a click opens a group or a step: below a step are its exact commands.
**shift+space** opens or closes all. Left and right scroll a long command. **c** copies all commands.
"""

    DEFAULT_CSS = """
    StepTree { background: $background; scrollbar-size: 1 1; padding: 0; }
    StepTree:focus { background-tint: $background; }
    StepTree:nocolor:focus > .tree--cursor { text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "scroll_left", "Left", id="steps.left", tooltip="Scroll a long command", show=False),
        Binding("right,l", "scroll_right", "Right", id="steps.right", tooltip="Scroll a long command", show=False),
        Binding("k", "cursor_up", "Up", id="steps.up", tooltip="One line up", show=False),
        Binding("j", "cursor_down", "Down", id="steps.down", tooltip="One line down", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__("steps", id=id)
        self.show_root = False
        self.guide_depth = 2

    def present(self, plan: Plan | None) -> None:
        """Show the steps of this plan, or none."""
        self.clear()
        if plan is None:
            return
        for group in groups(plan):
            words = Text(group.title, style="bold")
            words.append(f"  {plural(len(group.steps), 'step')}{_about(group.seconds)}", "dim")
            node = self.root.add(words, group, expand=len(plan.steps) <= _OPEN_UP_TO)
            if node.is_expanded:
                _add_steps(node, group)
        self.root.expand()
        self.cursor_line = 0
        self.scroll_home(animate=False)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[StepGroup | Step | None]) -> None:
        node = event.node
        if node.children:
            return
        if isinstance(node.data, StepGroup):
            _add_steps(node, node.data)
        elif isinstance(node.data, Step):
            for argv in node.data.commands:
                node.add_leaf(Text(f"$ {command_line(argv)}", no_wrap=True))
            for name, content in node.data.files.items():
                file = node.add(Text(clean(name), no_wrap=True))
                for line in content.splitlines():
                    file.add_leaf(Text(clean(line, _LINE_LIMIT), no_wrap=True))


def _add_steps(node: TreeNode[StepGroup | Step | None], group: StepGroup) -> None:
    for number, step in group.steps:
        words = Text(f"{number:>3}  {clean(step.title, 200)}", no_wrap=True)
        words.append(_about(step.seconds), "dim")
        if step.id in group.first:
            words.append(f"  erases {plural(len(step.erases), 'disk')}", "bold")
        if step.commands:
            node.add(words, step)
        else:
            node.add_leaf(words, step)


def _about(seconds: float) -> str:
    return f"  about {duration_text(seconds)}" if seconds >= 1 else ""
