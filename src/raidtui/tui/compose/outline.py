"""The scenario as a list of lines: roles with their disks, layouts with their layers, workloads, policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from raidtui.base.text import clean, plural
from raidtui.model.describe import Kinds, LayerView, Preview
from raidtui.model.disk import Disk
from raidtui.model.units import size_text
from raidtui.tui.compose.document import (
    Layer,
    Path,
    Source,
    at,
    exported_to,
    groups_of,
    inputs,
    layer_at,
    path_of,
    place_of,
)
from raidtui.tui.draft import Draft, chosen_for, is_of_hosts, names_in, roles_mentioned

What = Literal["scenario", "section", "host", "role", "disk", "layout", "layer", "input", "workload", "policy"]


class Line(NamedTuple):
    """One line of the outline."""

    what: What
    path: Path
    """Path in the document; `("bind", role, id)` for a disk."""
    form: Path
    """Path of the form shown for it: an entry of a section, or the options of a layer."""
    branch: str
    """Tree branch before the line, of `│ ├ └` and spaces."""
    words: str
    note: str = ""
    wrong: str = ""
    """Error of the line; empty if there is none."""


class _Context(NamedTuple):
    draft: Draft
    kinds: Kinds | None
    views: Mapping[str, LayerView]
    disks: Mapping[str, Disk] | None


def outline(draft: Draft, kinds: Kinds | None, preview: Preview | None, disks: Mapping[str, Disk] | None) -> list[Line]:
    """Return every line, from the top. `disks` are the present disks by id; None if they are unknown yet."""
    context = _Context(draft, kinds, views(preview), disks)
    document = draft.document
    roles, layouts, workloads = (names_in(draft, name) for name in ("roles", "layouts", "workloads"))
    lines = [Line("scenario", (), (), "", clean(document.get("name", ""), 63), clean(document.get("title", "")))]
    if groups := groups_of(document):
        lines.append(Line("section", ("hosts",), ("hosts",), "", "Hosts"))
        lines += (_group(document, name, storage=name == next(iter(groups))) for name in groups)
    lines.append(Line("section", ("roles",), ("roles",), "", "Roles", "" if roles else "r: add one"))
    lines += (line for name in roles for line in _role(context, name))
    lines.append(Line("section", ("layouts",), ("layouts",), "", "Layouts", "" if layouts else "l: add one"))
    lines += (line for name in layouts for line in _layout(context, name))
    lines.append(Line("section", ("workloads",), ("workloads",), "", "Workloads", "" if workloads else "w: add one"))
    lines += (_workload(context, name, preview) for name in workloads)
    lines.append(Line("policy", ("policy",), ("policy",), "", "Policy", _policy_words(document)))
    return _with_problems(lines, document, preview)


def _group(document: Mapping[str, Any], name: str, *, storage: bool) -> Line:
    path: Path = ("hosts", name)
    if storage:
        return Line("host", path, path, "  ", clean(name), "storage server: has the disks, builds and exports")
    count = at(document, (*path, "count"), 1)
    words = plural(count, "host") if isinstance(count, int) else "? hosts"
    found = at(document, ("layouts",), {})
    layouts = found if isinstance(found, Mapping) else {}
    own = {role for role in at(document, ("roles",), {}) if at(document, ("roles", role, "host"), None) == name}
    builds = [clean(layout) for layout, value in layouts.items() if own & roles_mentioned(value)]
    loads = [clean(layout) for layout in layouts if exported_to(document, layout) == name]
    parts = [f"build and load {', '.join(builds)}"] if builds else []
    parts += [f"load {', '.join(loads)}"] if loads else []
    return Line("host", path, path, "  ", clean(name), f"{words}, {'; '.join(parts) or 'load no layout yet'}")


def _role(context: _Context, name: str) -> Iterator[Line]:
    path: Path = ("roles", name)
    chosen = chosen_for(context.draft, name)
    count = at(context.draft.document, (*path, "count"), None)
    words = plural(count, "disk") if isinstance(count, int) else "? disks"
    group = at(context.draft.document, (*path, "host"), "") or next(iter(groups_of(context.draft.document)), "")
    words += f" of {clean(group)}" if isinstance(group, str) and group else ""
    there = is_of_hosts(context.draft, name)
    if not chosen:
        how = "Disks: h, r" if there else "f: fill"
        yield Line("role", path, path, "  ", clean(name), f"{words}, not chosen ({how})")
        return
    short = f", {len(chosen)} chosen" if there or len(chosen) != count else ""
    short += " (f: fill)" if isinstance(count, int) and len(chosen) < count and not there else ""
    yield Line("role", path, path, "  ", clean(name), words + short)
    for number, disk_id in enumerate(chosen, 1):
        branch = "  └ " if number == len(chosen) else "  ├ "
        disk = None if context.disks is None else context.disks.get(disk_id)
        note = f"{size_text(disk.size_bytes)}  {clean(disk.model, 40)}" if disk else ""
        wrong = "" if disk or context.disks is None else "missing"
        if disk and disk.reasons:
            wrong = f"not free: {clean(disk.reasons[0].message)}"
        yield Line("disk", ("bind", name, disk_id), path, branch, clean(disk_id), note, wrong)


def _layout(context: _Context, name: str) -> Iterator[Line]:
    path: Path = ("layouts", name)
    layer = layer_at(at(context.draft.document, path, None), path)
    if layer is None:
        yield Line("layout", path, path, "  ", clean(name), "", "not a layer")
        return
    yield Line("layout", path, layer.path, "  ", clean(name), _layer_words(context, layer))
    yield from _below(context, layer, "  ")


def _below(context: _Context, layer: Layer, indent: str) -> Iterator[Line]:
    standing = [(str(path[-1]), source) for path, sources in inputs(context.kinds, layer) for source in sources]
    for number, (name, source) in enumerate(standing, 1):
        last = number == len(standing)
        yield _source(context, layer, name, source, indent + ("└ " if last else "├ "))
        if source.layer is not None:
            yield from _below(context, source.layer, indent + ("  " if last else "│ "))


def _source(context: _Context, above: Layer, name: str, source: Source, branch: str) -> Line:
    if source.layer is not None:
        layer = source.layer
        return Line("layer", layer.path, layer.path, branch, f"{name}: {clean(layer.kind)}", _layer_words(context, layer))
    role = source.text.removeprefix("@")
    known = source.text.startswith("@") and role in names_in(context.draft, "roles")
    return Line("input", source.path, above.path, branch, f"{name}: {clean(source.text, 40)}", "",
                "" if known else "role does not exist")  # fmt: skip


def _layer_words(context: _Context, layer: Layer) -> str:
    view = context.views.get(place_of(layer.path))
    if view is not None and view.words:
        return clean(view.words, 80)
    said = [str(value) for value in layer.options.values() if isinstance(value, str) and not value.startswith("@")]
    return clean(" ".join([layer.kind, *said[:1]]), 80)


def _workload(context: _Context, name: str, preview: Preview | None) -> Line:
    path: Path = ("workloads", name)
    load = layer_at(at(context.draft.document, path, None), path)
    seen = next((view for view in preview.workloads if view.name == name), None) if preview else None
    note = clean(seen.words, 80) if seen else clean(load.kind) if load else ""
    return Line("workload", path, load.path if load else path, "  ", clean(name), note, "" if load else "not a workload")


def _policy_words(document: Mapping[str, Any]) -> str:
    policy = document.get("policy")
    if not isinstance(policy, Mapping) or not policy:
        return "default"
    words = {True: "yes", False: "no"}
    return clean(", ".join(f"{k} {words[v] if isinstance(v, bool) else v}" for k, v in policy.items()), 80)


def views(preview: Preview | None) -> dict[str, LayerView]:
    """Return every layer that the engine could read, by its place."""
    found: dict[str, LayerView] = {}

    def take(view: LayerView) -> None:
        found[view.place] = view
        for sources in view.inputs.values():
            for source in sources:
                if isinstance(source, LayerView):
                    take(source)

    for layout in preview.layouts if preview else ():
        if layout.stack is not None:
            take(layout.stack)
    return found


def _with_problems(lines: list[Line], document: Mapping[str, Any], preview: Preview | None) -> list[Line]:
    """Attach each problem of the preview to the deepest line that contains its place."""
    for problem in preview.problems if preview else ():
        place = path_of(document, problem.place)
        fitting = [
            (len(line.path), number)
            for number, line in enumerate(lines)
            if line.what != "disk" and place[: len(line.path)] == line.path
        ]
        if fitting and place:
            number = max(fitting, key=lambda found: (found[0], -found[1]))[1]
            line = lines[number]
            hint = line.what == "section" and line.note  # an empty section already shows what to do
            if not line.wrong and not hint:
                lines[number] = line._replace(wrong=clean(problem.message, 200))
    return lines
