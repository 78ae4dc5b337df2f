"""Preview of an unfinished scenario: each layout and workload is examined alone, so that none spoils another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.engine.compose import cautions
from raidtui.engine.compose.binding import bind_partly
from raidtui.engine.compose.caching import memory_for
from raidtui.engine.compose.link_bounds import ceiling_of
from raidtui.engine.compose.planner import disk_part, make_plan, plan_layout
from raidtui.engine.compose.reading import (
    Given,
    catalog,
    layout_problems,
    open_document,
    read_whole,
    reductions,
    silent,
    stacking,
)
from raidtui.engine.compose.stack_view import Ground, Piece, stack_of
from raidtui.engine.compose.workload_view import workload_view
from raidtui.load.catalog import engines
from raidtui.load.engine import Pattern, rehearsal
from raidtui.model.describe import LayerView, LayoutView, Preview, PreviewRequest
from raidtui.model.disk import Disk
from raidtui.model.plan import Argv, Names, Options, Plan
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.scenario import Sketch, read_sketch
from raidtui.model.scenario_words import ROLE_PATTERN
from raidtui.stack.layer import Draft, Planned

PREVIEW_SCHEMA: Final = "raidtui.preview/1"
TOKEN: Final = "preview0"  # noqa: S105 - stands where a plan's own eight characters will stand in names
_NO_BOOT: Final = "preview"


class _Layout(NamedTuple):
    view: LayoutView
    piece: Piece | None
    planned: Planned | None


def preview(request: PreviewRequest, disks: Sequence[Disk]) -> Preview:
    """Pure: touches nothing. Never raises ProblemError: what is wrong is in the answer, each with its place."""
    try:
        given = open_document(request.document)
    except ProblemError as error:
        return Preview(PREVIEW_SCHEMA, problems=error.problems)
    sketch = read_sketch(given.value, catalog(), given.place)
    raw_layouts = _chosen(given.value, "layouts", request.options.layouts)
    raw_workloads = _chosen(given.value, "workloads", request.options.workloads)
    used = {name: role for name, role in sketch.roles.items() if name in set(_mentioned(raw_layouts))}
    said = {role: ids for role, ids in request.bind.items() if role not in sketch.roles or role in used}
    binding, unbound = bind_partly(used, said, disks, given.earlier)
    ground = Ground(sketch.roles, binding, sketch.policy)
    patterns = {name: engines()[load.kind].pattern(load.spec) for name, load in sketch.workloads.items()}
    patterns = {name: pattern for name, pattern in patterns.items() if name in raw_workloads}
    meets = sketch.policy.meets
    layouts = [
        _layout(
            name, raw, given, sketch, ground, {one: found for one, found in patterns.items() if meets(name, one)},
            quick=request.options.quick,
        )
        for name, raw in raw_layouts.items()
    ]
    planned = {made.view.name: made.planned for made in layouts if made.planned}
    shapes = {made.view.name: made.piece for made in layouts if made.piece is not None}
    workloads = tuple(
        workload_view(
            name, raw, f"{given.place}.workloads.{name}", sketch.workloads.get(name),
            tuple(dict.fromkeys((t.kind, t.size_bytes) for at, p in planned.items() if meets(at, name) for t in p.targets)),
            _of_layouts(name, {at: piece for at, piece in shapes.items() if meets(at, name)}, patterns),
            quick=request.options.quick,
        )
        for name, raw in raw_workloads.items()
    )  # fmt: skip
    problems: list[Problem] = [*sketch.problems, *unbound]
    problems += [problem for made in layouts for problem in made.view.problems]
    problems += [problem for view in workloads for problem in view.problems]
    plan, wrong = _plan(given, binding, request.options) if not problems else (None, ())
    return Preview(
        PREVIEW_SCHEMA,
        tuple(made.view for made in layouts),
        workloads,
        tuple(dict.fromkeys((*problems, *wrong))),
        plan.seconds if plan else None,
        plan.writes_bytes if plan else None,
        plan.erases if plan else tuple(sorted({disk for made in layouts for disk in made.view.erases})),
        len(plan.cells) if plan else 0,
        plan is not None and plan.ends_early,
    )


def _plan(
    given: Given, binding: Mapping[str, tuple[Disk, ...]], options: Options
) -> tuple[Plan | None, tuple[Problem, ...]]:
    try:
        return make_plan(read_whole(given), binding, options, token=TOKEN, boot_id=_NO_BOOT), ()
    except ProblemError as error:
        return None, error.problems


def _chosen(value: Any, section: str, only: Sequence[str]) -> dict[str, Any]:
    """The entries of one section of an unread scenario."""
    entries = value.get(section) if isinstance(value, dict) else None
    return {n: e for n, e in entries.items() if not only or n in only} if isinstance(entries, dict) else {}


def _mentioned(raw: Any) -> Iterator[str]:
    """Return all roles that are named anywhere in unread layouts."""
    if isinstance(raw, str):
        if match := re.fullmatch(ROLE_PATTERN, raw):
            yield match.group(1)
    elif isinstance(raw, (dict, list)):
        for entry in raw.values() if isinstance(raw, dict) else raw:
            yield from _mentioned(entry)


def _layout(
    name: str, raw: Any, given: Given, sketch: Sketch, ground: Ground, patterns: Mapping[str, Pattern], *, quick: bool
) -> _Layout:
    place = f"{given.place}.layouts.{name}"
    piece = stack_of(raw, place, ground)
    node = sketch.layouts.get(name)
    problems = [problem for problem in sketch.problems if _owner(problem.place, sketch, given) == name]
    problems += layout_problems(node, sketch.roles) if node is not None else []
    problems += piece.problems if piece is not None else ()
    problems = list(dict.fromkeys(problems))
    planned = None
    if node is not None and not problems and piece is not None and all(role in ground.binding for role in node.roles()):
        parts = {role: tuple(map(disk_part, disks)) for role, disks in ground.binding.items()}
        try:
            planned = plan_layout(node, parts, Names(TOKEN), sketch.policy)
        except ProblemError as error:
            problems += error.problems
    stack = piece.view if piece is not None and isinstance(piece.view, LayerView) else None
    view = LayoutView(name, stack, tuple(problems))
    if node is None or piece is None or piece.shape is None or problems:
        return _Layout(view, piece, None)
    view = msgspec.structs.replace(
        view,
        warnings=tuple(
            dict.fromkeys(
                (
                    *_warnings(piece, ground, patterns),
                    *_unsaid(name, sketch, patterns),
                    *_kept_in_memory(name, sketch, patterns, planned, quick=quick),
                )
            )
        ),
        may_fail=piece.may_fail,
        may_fail_words=piece.words,
        write_penalty=piece.penalty,
        stripe_bytes=piece.shape.stripe_bytes,
    )
    if planned is None:
        return _Layout(view, piece, None)
    view = msgspec.structs.replace(
        view,
        size_bytes=piece.shape.size_bytes,
        raw_bytes=sum(disk.size_bytes for disk in piece.disks),
        ceiling=ceiling_of(piece, one_by_one=len(planned.targets) > 1),
        build=_commands(planned.build),
        teardown=_commands(planned.teardown),
        erases=tuple(sorted(disk.id for disk in piece.disks)),
    )
    return _Layout(view, piece, planned)


def _owner(place: str, sketch: Sketch, given: Given) -> str:
    """The layout that a place is in; names may have dots, so the longest that fits."""
    entries = _chosen(given.value, "layouts", ())
    fitting = [n for n in entries if (place + ".").startswith((p := f"{given.place}.layouts.{n}") + ".") or place == p]
    return max(fitting, key=len, default="")


def _commands(drafts: Sequence[Draft]) -> tuple[Argv, ...]:
    return tuple(command for draft in drafts for command in draft.commands)


def _warnings(piece: Piece, ground: Ground, patterns: Mapping[str, Pattern]) -> Iterator[str]:
    own = {disk.id for disk in piece.disks}
    for role, disks in ground.binding.items():
        if own & {disk.id for disk in disks}:
            yield from cautions.of_role(role, disks)
    for inputs in piece.inputs:
        yield from cautions.of_layer(inputs, ground.binding)
    for names, text in cautions.of_workloads(piece.shapes, patterns, _sector_bytes(piece)):
        yield f"{cautions.workloads_named(names)}: {text}"


def _unsaid(layout: str, sketch: Sketch, patterns: Mapping[str, Pattern]) -> Iterator[str]:
    yield from stacking(sketch.layouts[layout])
    loads = {name: load for name, load in sketch.workloads.items() if name in patterns}
    if how := reductions(sketch.layouts[layout]):
        yield from cautions.of_data({layout: how}, silent(loads))


def _kept_in_memory(
    layout: str, sketch: Sketch, patterns: Mapping[str, Pattern], planned: Planned | None, *, quick: bool
) -> Iterator[str]:
    found: dict[tuple[str, str], int] = {}
    for target in planned.targets if planned is not None else ():
        for name in patterns:
            load = sketch.workloads[name]
            engine = engines()[load.kind]
            if engine.takes not in ("both", target.kind) or engine.check(load.spec, load.place):
                continue
            spec = rehearsal(engine, load.spec, target.size_bytes, target.kind) if quick else load.spec
            node = sketch.layouts[layout]
            most = memory_for(node, sketch.policy, engine, spec, target.size_bytes, target.kind)
            if most is not None:
                found[layout, name] = most
    return cautions.of_memory(found)


def _of_layouts(workload: str, pieces: Mapping[str, Piece], patterns: Mapping[str, Pattern]) -> tuple[str, ...]:
    """The warnings of one workload: on which layout, and what."""
    if workload not in patterns:
        return ()
    alone = {workload: patterns[workload]}
    layouts: dict[str, list[str]] = {}
    for name, piece in pieces.items():
        for _, text in cautions.of_workloads(piece.shapes, alone, _sector_bytes(piece)):
            layouts.setdefault(text, []).append(name)
    return tuple(f"On {', '.join(names)}: {text}" for text, names in layouts.items())


def _sector_bytes(piece: Piece) -> int | None:
    return max((disk.logical_sector_bytes for disk in piece.disks), default=None)
