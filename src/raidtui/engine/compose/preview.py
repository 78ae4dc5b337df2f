"""Preview of an unfinished scenario: each layout and workload is examined alone, so that none spoils another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from raidtui.engine.compose import cautions
from raidtui.engine.compose.binding import bind_partly
from raidtui.engine.compose.host_roles import bind_there_partly, group_of, hosted_roles
from raidtui.engine.compose.hosts import unnamed
from raidtui.engine.compose.layout import Hosts, disk_part, plan_layout, plan_on_hosts
from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.reading import open_document, reductions, silent, stacking
from raidtui.engine.compose.settings import workload_settings
from raidtui.engine.compose.stack_view import Ground, Piece, ceiling_of, stack_of
from raidtui.engine.compose.sweeps import as_one, by_sweep
from raidtui.engine.compose.targets import as_run, memory_for
from raidtui.engine.compose.write_amplification import data_roles, expected
from raidtui.load.catalog import engines
from raidtui.load.engine import Pattern, rehearsal
from raidtui.model.describe import HostedView, LayerView, LayoutView, Preview, PreviewRequest, WorkloadView
from raidtui.model.disk import Disk, host_of, on_host
from raidtui.model.hosts import HostGroup
from raidtui.model.plan import Argv, Names, TargetKind
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.scenario import Entry, Load, Node
from raidtui.stack.layer import Draft, Planned

PREVIEW_SCHEMA: Final = "raidtui.preview/1"
TOKEN: Final = "preview0"  # noqa: S105 - stands where a plan's own eight characters will stand in names
_NO_BOOT: Final = "preview"
_SMALL: Final = Pattern((4096,), True, True, 4096, True, wholly_random=True, reducible=False)
_LARGE: Final = Pattern((1 << 20,), True, False, 32 << 20, True, reducible=False)


class _Layout(NamedTuple):
    view: LayoutView
    piece: Piece | None
    planned: Planned | None
    node: Node | None = None


class _Asked(NamedTuple):
    """Everything that the views of one preview are made from."""

    ground: Ground
    loads: Mapping[str, Load]
    """The chosen workloads whose options can be read."""
    patterns: Mapping[str, Pattern]
    quick: bool
    hosts: Hosts
    groups: Mapping[str, HostGroup]

    def grounds(self, node: Node) -> dict[str, Ground]:
        """Return what a layout stands on, by host; the storage server's under the empty name."""
        if not (group := group_of(node, self.ground.roles, self.groups)):
            return {"": self.ground}
        refs, binding = [host.ref for host in self.hosts[group]], self.ground.binding
        have = {ref: {role: found for role in node.roles() if (found := binding.get(on_host(ref, role)))} for ref in refs}
        beside = {role: tuple(disk for own in have.values() for disk in own.get(role, ())) for role in node.roles()}
        return {ref: self.ground._replace(binding=own, beside=beside) for ref, own in have.items()}

    def loads_on(self, layout: str) -> dict[str, Load]:
        """Return the workloads that this layout is measured with."""
        return {name: load for name, load in self.loads.items() if self.ground.policy.meets(layout, name)}


def preview(request: PreviewRequest, disks: Sequence[Disk]) -> Preview:
    """Pure: touches nothing. Never raises ProblemError: what is wrong is in the answer, each with its place."""
    try:
        document = open_document(request.document)
    except ProblemError as error:
        return Preview(PREVIEW_SCHEMA, problems=error.problems)
    sketch, options = document.sketch, request.options
    entries = {name: entry for name, entry in sketch.layouts.items() if not options.layouts or name in options.layouts}
    used = {role for entry in entries.values() if entry.value is not None for role in entry.value.roles()}
    of_hosts = hosted_roles({name: role for name, role in sketch.roles.items() if name in used}, sketch.hosts)
    roles = {name: role for name, role in sketch.roles.items() if name in used and name not in of_hosts}
    here = (role for role in request.bind if role in roles or (role not in sketch.roles and not host_of(role)))
    said = {role: request.bind[role] for role in here}
    binding, unbound = bind_partly(roles, said, disks, document.earlier)
    hosts = unnamed(sketch.hosts)
    # What stands on disks of other hosts has no sizes as long as nobody has looked at these.
    there, lacking = bind_there_partly(sketch.roles, request.bind, document.earlier, of_hosts, hosts, request.there)
    binding |= there
    loads = {name: entry for name, entry in sketch.workloads.items() if _wanted(name, entry, options.workloads)}
    readable = {name: load for name, entry in loads.items() if (load := entry.value) is not None and load.spec is not None}
    patterns = {name: engines()[load.kind].pattern(load.spec) for name, load in readable.items()}
    asked = _Asked(Ground(sketch.roles, binding, sketch.policy), readable, patterns, options.quick, hosts, sketch.hosts)
    layouts = [_layout(name, entry, asked) for name, entry in entries.items()]
    workloads = tuple(_workloads(loads, layouts, asked))
    problems: list[Problem] = [*sketch.problems, *unbound, *lacking]
    problems += [problem for made in layouts for problem in made.view.problems]
    problems += [problem for view in workloads for problem in view.problems]
    plan = None
    if not problems and all(on_host(host.ref, role) in there for role, group in of_hosts.items() for host in hosts[group]):
        try:
            plan = make_plan(document.scenario, binding, options, token=TOKEN, boot_id=_NO_BOOT, hosts=hosts)
        except ProblemError as error:
            problems += error.problems
    return Preview(
        PREVIEW_SCHEMA,
        tuple(made.view for made in layouts),
        workloads,
        tuple(dict.fromkeys(problems)),
        plan.seconds if plan else None,
        plan.writes_bytes if plan else None,
        plan.erases if plan else tuple(sorted({disk for made in layouts for disk in made.view.erases})),
        len(plan.cells) if plan else 0,
        plan is not None and plan.ends_early,
    )


def _layout(name: str, entry: Entry[Node], asked: _Asked) -> _Layout:
    node = entry.value
    if node is None:
        return _Layout(LayoutView(name, None, entry.problems), None, None)
    grounds = asked.grounds(node)
    pieces = {host: stack_of(node, ground) for host, ground in grounds.items()}
    # Of several hosts the one with the least room, where the disks of all of them are known.
    shown = min(pieces, key=lambda host: _room_bytes(pieces[host]))
    piece, planned = pieces[shown], None
    problems = list(dict.fromkeys((*entry.problems, *(problem for one in pieces.values() for problem in one.problems))))
    readable = all(layer.sound for layer in node.walk())
    if readable and not problems and all(role in ground.binding for ground in grounds.values() for role in node.roles()):
        try:
            planned = _planned(node, grounds, asked)
        except ProblemError as error:
            problems += error.problems
    stack = piece.view if isinstance(piece.view, LayerView) else None
    view = LayoutView(name, stack, tuple(problems), on_each_of=tuple(host for host in pieces if host))
    if not readable or piece.shape is None or problems:
        return _Layout(view, piece, None)
    view = msgspec.structs.replace(
        view,
        warnings=tuple(dict.fromkeys(_warnings(name, node, piece, planned, asked))),
        may_fail=piece.may_fail,
        may_fail_words=piece.words,
        fails=piece.fails,
        write_penalty=piece.penalty,
        read_penalty=piece.read_penalty,
        small_write=expected(node, asked.ground.roles, _SMALL),
        large_write=expected(node, asked.ground.roles, _LARGE),
        stripe_bytes=piece.shape.stripe_bytes,
    )
    if planned is not None:
        data = data_roles(node, asked.ground.roles)
        view = msgspec.structs.replace(
            view,
            size_bytes=piece.shape.size_bytes,
            raw_bytes=sum(disk.size_bytes for disk in piece.disks),
            ceiling=ceiling_of(piece, one_by_one=len(planned.targets) > len(pieces)),
            build=_commands(planned.build, shown),
            teardown=_commands(planned.teardown, shown),
            erases=tuple(sorted(disk.id for one in pieces.values() for disk in one.disks)),
            data_disks=tuple(disk.id for ground in grounds.values() for role in data for disk in ground.binding[role]),
            hosts_have="" if shown else next((one.words for target in planned.targets for one in target.on), ""),
        )
    return _Layout(view, piece, planned, node)


def _room_bytes(piece: Piece) -> float:
    return piece.shape.size_bytes if piece.shape is not None and piece.known else math.inf


def _planned(node: Node, grounds: Mapping[str, Ground], asked: _Asked) -> Planned:
    """Return the layout as it would be built: here, or on each of its hosts. Raises ProblemError."""
    policy = asked.ground.policy
    parts = {
        host: {role: tuple(map(disk_part, disks)) for role, disks in ground.binding.items()}
        for host, ground in grounds.items()
    }
    if "" in parts:
        return plan_layout(node, parts[""], Names(TOKEN), policy, asked.hosts)
    return plan_on_hosts(node, parts, Names(TOKEN), policy)


def _commands(drafts: Sequence[Draft], shown: str) -> tuple[Argv, ...]:
    """Return the commands: of one of the hosts that build all the same, else of this server and of its clients."""
    return tuple(command for draft in drafts if shown in ("", draft.host) for command in draft.commands)


def _warnings(name: str, node: Node, piece: Piece, planned: Planned | None, asked: _Asked) -> Iterator[str]:
    own, binding, loads = {disk.id for disk in piece.disks}, asked.ground.binding, asked.loads_on(name)
    for role, disks in binding.items():
        if own & {disk.id for disk in disks}:
            yield from cautions.of_role(role, disks)
    for inputs in piece.inputs:
        yield from cautions.of_layer(inputs, binding)
    patterns = {workload: asked.patterns[workload] for workload in loads}
    for names, text in cautions.of_workloads(piece.shapes, patterns, _sector_bytes(piece)):
        yield f"{cautions.workloads_named(by_sweep(names, loads))}: {text}"
    yield from stacking(node)
    if how := reductions(node):
        yield from cautions.of_data({name: how}, by_sweep(silent(loads), loads))
    if planned is not None:
        yield from cautions.of_memory(dict(_kept_in_memory(name, node, planned, asked)), loads)


def _kept_in_memory(name: str, node: Node, planned: Planned, asked: _Asked) -> Iterator[tuple[tuple[str, str], int]]:
    for target in planned.targets:
        for workload, load in asked.loads_on(name).items():
            engine = engines()[load.kind]
            if target.kind not in engine.takes or engine.check(load.spec, load.place):
                continue
            policy = asked.ground.policy
            most = memory_for(node, policy, as_run(load, node, policy, target, quick=asked.quick), target)
            if most is not None:
                yield (name, workload), most


def _wanted(name: str, entry: Entry[Load], chosen: Sequence[str]) -> bool:
    """Return True if a workload, or the sweep that it is of, is among the chosen ones. None chosen means all."""
    sweep = entry.value.sweep if entry.value is not None else None
    return not chosen or name in chosen or (sweep is not None and sweep.name in chosen)


def _workloads(
    loads: Mapping[str, Entry[Load]], layouts: Sequence[_Layout], asked: _Asked
) -> Iterator[WorkloadView]:
    """Yield a view for each workload, and one for all workloads of a sweep."""
    views: dict[tuple[bool, str], list[WorkloadView]] = {}
    for name, entry in loads.items():
        sweep = entry.value.sweep if entry.value is not None else None
        key = (sweep is not None, sweep.name if sweep is not None else name)
        views.setdefault(key, []).append(_workload(name, entry, layouts, asked))
    return (as_one(name, found) if swept else found[0] for (swept, name), found in views.items())


def _workload(name: str, entry: Entry[Load], layouts: Sequence[_Layout], asked: _Asked) -> WorkloadView:
    met = [made for made in layouts if asked.ground.policy.meets(made.view.name, name)]
    targets = dict.fromkeys((t.kind, t.size_bytes) for made in met if made.planned for t in made.planned.targets)
    found: dict[str, list[str]] = {}
    patterns = {name: asked.patterns[name]} if name in asked.patterns else {}
    for made in met:
        if made.piece is not None:
            for _, text in cautions.of_workloads(made.piece.shapes, patterns, _sector_bytes(made.piece)):
                found.setdefault(text, []).append(made.view.name)
    warnings = tuple(f"On {', '.join(names)}: {text}" for text, names in found.items())
    # Shown on the first layout: every layout has a target of its own.
    local = [t for made in met if made.planned for t in made.planned.targets if not t.on]
    paths = local[0].paths if local else _NO_TARGET
    first = local[0].kind if local else None
    view = workload_view(name, entry, tuple(targets), warnings, quick=asked.quick, paths=paths, shown=first)
    if not view.command or entry.value is None:
        return view
    hosted = tuple(_hosted(entry.value, met, asked))
    return msgspec.structs.replace(view, hosted=hosted, command=view.command if local or not hosted else ())


def _hosted(load: Load, layouts: Sequence[_Layout], asked: _Asked) -> Iterator[HostedView]:
    """Yield the commands with which other hosts run a workload, each with the layouts for which it is the same."""
    engine, found = engines()[load.kind], dict[str, HostedView]()
    for made in layouts:
        for target in made.planned.targets if made.planned is not None else ():
            if made.node is None or not target.on or not engine.from_hosts:
                continue
            ran = as_run(load, made.node, asked.ground.policy, target, quick=asked.quick)
            command, files = engine.hosted(ran.spec, target.on, size_bytes=target.size_bytes)
            before = found.get(key := repr((command, files)))
            layouts_of = (*(before.layouts if before else ()), made.view.name)
            found[key] = HostedView(layouts_of, command, files)
    return iter(found.values())


def _sector_bytes(piece: Piece) -> int | None:
    return max((disk.logical_sector_bytes for disk in piece.disks), default=None)


_ANY_SIZE_BYTES = 1 << 50
_NO_TARGET: Final = ("TARGET",)
"""Stands in a command for the target of a layout that does not exist yet."""


def workload_view(
    name: str, entry: Entry[Load], targets: Sequence[tuple[TargetKind, int]], warnings: tuple[str, ...], *, quick: bool,
    paths: tuple[str, ...] = _NO_TARGET, shown: TargetKind | None = None,
) -> WorkloadView:  # fmt: skip
    """Return the view of a workload. `targets`: kind and size of all that it will run on; `paths`, `shown`: of one."""
    load = entry.value
    if load is None:
        return WorkloadView(name, problems=entry.problems)
    settings = workload_settings(load.kind, load.given if isinstance(load.given, dict) else {})
    if load.spec is None:
        return WorkloadView(name, problems=entry.problems, settings=settings)
    engine, spec, problems = engines()[load.kind], load.spec, entry.problems
    # Before a layout exists, a workload is shown on any target that it can load.
    unknown: tuple[TargetKind, int] = (engine.takes[0], _ANY_SIZE_BYTES)
    alike = [target for target in targets if shown in (None, target[0])]
    kind, size_bytes = min(alike, key=lambda target: target[1], default=unknown)
    if not problems and quick:
        spec = rehearsal(engine, spec, size_bytes, kind)
    if not problems:
        # The same on several targets is one thing to solve: the smallest one says it.
        ordered = sorted((target for target in targets if target[0] in engine.takes), key=lambda t: t[1])
        found = [p for kind, size in ordered for p in engine.check_target(spec, load.place, size, kind=kind)]
        problems = tuple({(p.code, p.place): p for p in reversed(found)}.values())
    command: tuple[str, ...] = ()
    seconds = 0.0
    if not problems:
        # Where targets differ in size, shares of them stay shares.
        exact = targets[0][1] if len(targets) == 1 else None
        command = engine.command(spec, paths, size_bytes=exact, kind=kind)
        seconds = engine.estimate(spec, size_bytes, kind=kind).seconds
    return WorkloadView(name, engine.describe(spec), problems, warnings, settings, command, seconds)
