"""Preview as lines of text: the drawing of a layout, and the figures of layouts, workloads and scenario. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.model.describe import Ceiling, LayerView, LayoutView, Preview, RoleView, WorkloadView
from raidtui.model.disk import Disk
from raidtui.model.plan import Argv
from raidtui.model.units import duration_text, size_text
from raidtui.results.rates import mb_s_text
from raidtui.tui.compose.document import at
from raidtui.tui.compose.lists import ACCENT, BAD, DIM, WARN, beside, cut, cut_front, ends, fill
from raidtui.tui.widgets.glyphs import glyphs

WIDEST: Final = 96
_PROTOCOLS: Final = {
    ("nvmeof", "tcp"): "NVMe/TCP", ("nvmeof", "rdma"): "NVMe/RDMA", ("iscsi", "tcp"): "iSCSI", ("iscsi", "iser"): "iSER",
}  # fmt: skip
_GAP: Final = 2
_LEAST: Final = 18
"""Least width of a readable box."""
_MOST_ROWS: Final = 24
"""Largest number of lines for disks in one box; further disks are counted."""
class Scene(NamedTuple):
    """Disks that a drawing may show."""

    disks: Mapping[str, Disk] | None
    """Present disks by id; None if they are unknown. A chosen disk that is not among them is drawn as missing."""
    bind: Mapping[str, tuple[str, ...]]
    """Chosen disks by role: the engine names none for a role with a missing disk."""
    groups: Mapping[str, Any] = MappingProxyType({})
    """Groups of hosts by name, as the scenario has them; the first is the storage server."""


def drawing(view: LayoutView, scene: Scene, width: int) -> list[Content]:
    """Return the lines of the drawing, each at most `width` cells; none if the layout could not be read."""
    if view.stack is None:
        return []
    width = max(_LEAST, min(width, WIDEST))
    return [_target(view, width), *_hosts(scene, view.stack, view.size_bytes, width),
            *_box_of(scene, view.stack, width, width // 2)]  # fmt: skip


def _hosts(scene: Scene, top: LayerView, size_bytes: int | None, width: int) -> list[Content]:
    """Draw the hosts that the layer is exported to, the network, and the beginning of the storage server; none if there is
    no such group.
    """
    given = {setting.field: setting.given or setting.value for setting in top.settings}
    group, middle = given.get("to"), width // 2
    if not isinstance(group, str) or not group:
        return []
    found = at(scene.groups, (group, "count"), 1) if group in scene.groups else None
    count = found if isinstance(found, int) and found > 0 else 0
    refs = f"{group}-1" if count == 1 else f"{group}-1{', ' if count == 2 else ' … '}{group}-{count}"
    each = Content.styled(f"{size_text(size_bytes // count)} each", "bold") if count and size_bytes else Content("")
    lines = [ends(Content(clean(refs, 60)) if count else Content.styled("✗ no such group", BAD), each, width - 4)]
    lines.append(Content.styled("each loads a region of its own" if count != 1 else "loads all of it", DIM))
    title = Content.styled(clean(group, 31), "bold " + ACCENT)
    corner = Content.styled(plural(count, "host") if count else "", DIM)
    box = _framed(title, corner, lines, width, middle, [middle])
    transport = str(given.get("transport", ""))
    protocol = _PROTOCOLS.get((top.kind, transport), f"{top.kind} {transport}".strip())
    return [*box, _connectors([(middle, f"network, {protocol}")], width), _edge(scene, width)]


def _edge(scene: Scene, width: int) -> Content:
    """`── storage ─────────┼─────────`: from here on it is the storage server."""
    middle = width // 2
    name = cut(clean(next(iter(scene.groups), "storage server"), 31), middle - 5)
    head = Content.assemble(("── ", DIM), (name, "bold"), " ")
    rest = "─" * max(0, middle - head.cell_length) + "┼" + "─" * max(0, width - middle - 1)
    return fill(Content.assemble(head, (rest, DIM)), width)


def _target(view: LayoutView, width: int) -> Content:
    """`── target raid5 ────┬──── 5.2 TiB ──`"""
    size = f" {size_text(view.size_bytes)} ──" if view.size_bytes is not None else "──"
    name, room, middle = clean(view.name, 63), width // 2 - 4, width // 2
    name = f"target {name}" if cell_len(name) + 7 <= room else cut(name, room)
    head = Content.assemble(("── ", DIM), (name, "bold"), " ")
    before, after = "─" * max(0, middle - head.cell_length), "─" * max(0, width - middle - 1 - len(size))
    return fill(Content.assemble(head, (f"{before}┬{after}", DIM), (size, "bold")), width)


def _box_of(scene: Scene, part: LayerView | RoleView, width: int, joint: int | None) -> list[Content]:
    """Draw one part and all parts below it. `joint` is the column where the line from above meets its upper border."""
    if isinstance(part, RoleView):
        return _role(scene, part, width, joint)
    below = [(name, source) for name, sources in part.inputs.items() for source in sources]
    wants = [_needed_width(scene, source) for _, source in below]
    if len(below) > 1 and sum(wants) + _GAP * (len(below) - 1) <= width:
        return _side_by_side(scene, part, below, wants, width, joint)
    if len(below) > 1:
        return _one_by_one(scene, part, below, width, joint)
    joints = [width // 2] * len(below)
    box = _layer(part, width, joint, joints)
    for name, source in below:
        box += [_connectors([(joints[0], name)], width), *_box_of(scene, source, width, joints[0])]
    return box


def _side_by_side(
    scene: Scene,
    part: LayerView,
    below: list[tuple[str, LayerView | RoleView]],
    wants: list[int],
    width: int,
    joint: int | None,
) -> list[Content]:
    spare = width - sum(wants) - _GAP * (len(below) - 1)
    widths = [want + spare // len(below) for want in wants]
    widths[0] += width - sum(widths) - _GAP * (len(below) - 1)
    starts = [sum(widths[:number]) + _GAP * number for number in range(len(below))]
    joints = [start + each // 2 for start, each in zip(starts, widths, strict=True)]
    names = [name for name, _ in below]
    blocks = [_box_of(scene, source, each, each // 2) for (_, source), each in zip(below, widths, strict=True)]
    rope = _connectors(list(zip(joints, names, strict=True)), width)
    return [*_layer(part, width, joint, joints), rope, *beside(blocks, widths, _GAP)]


def _one_by_one(
    scene: Scene, part: LayerView, below: list[tuple[str, LayerView | RoleView]], width: int, joint: int | None
) -> list[Content]:
    """Draw inputs one below the other, on a line at the left, if they do not fit side by side."""
    lines = _layer(part, width, joint, [2])
    for number, (name, source) in enumerate(below, 1):
        last = number == len(below)
        lines.append(fill(Content.assemble("  ", ("└" if last else "├", DIM), f" {clean(name, 30)}"), width))
        margin = Content.assemble("  ", (" " if last else "│", DIM), " ")
        lines += [margin + line for line in _box_of(scene, source, max(_LEAST, width - 4), None)]
    return lines


def _needed_width(scene: Scene, part: LayerView | RoleView) -> int:
    if isinstance(part, RoleView):
        return max(_LEAST, len(part.role) + 14, *(cell_len(clean(disk, 60)) + 16 for disk in _ids(scene, part)), 26)
    inner = [[_needed_width(scene, source) for source in sources] for sources in part.inputs.values()]
    beside_each_other = sum(map(sum, inner)) + _GAP * (sum(map(len, inner)) - 1)
    return max(_LEAST, cell_len(part.words) + 15, beside_each_other)


def _layer(part: LayerView, width: int, joint: int | None, joints: list[int]) -> list[Content]:
    size = Content.styled(size_text(part.size_bytes), "bold") if part.size_bytes is not None else Content("")
    lines = [ends(Content(clean(part.words, 200)), size, width - 4)]
    if part.stripe_bytes is not None:
        lines.append(Content.styled(f"full stripe {size_text(part.stripe_bytes)}", DIM))
    lines += [Content.styled(cut(f"✗ {clean(problem.message)}", width - 4), BAD) for problem in part.problems]
    return _framed(Content.styled(clean(part.kind, 30), ACCENT), Content(""), lines, width, joint, joints)


def _role(scene: Scene, part: RoleView, width: int, joint: int | None) -> list[Content]:
    title = Content.styled(cut(f"@{clean(part.role, 31)}", width - 6), "bold " + ACCENT)
    ids = _ids(scene, part)
    if not ids:
        lines = [Content.styled(cut(f"○ {plural(part.count, 'disk')}, not chosen", width - 4), DIM)]
        return _framed(title, Content(""), lines, width, joint, [])
    return _framed(title, Content.styled(f"{len(ids)}", DIM), _disks(scene, ids, width - 4), width, joint, [])


def _ids(scene: Scene, part: RoleView) -> tuple[str, ...]:
    return part.disks or scene.bind.get(part.role, ())


def _disks(scene: Scene, ids: tuple[str, ...], width: int) -> list[Content]:
    widest = max(cell_len(clean(disk, 60)) for disk in ids) + 12
    columns = min(4, (width + 3) // (widest + 3)) if len(ids) > 6 else 1
    each = (width - 3 * (columns - 1)) // columns if columns > 1 else width
    rows = -(-len(ids) // max(1, columns))
    shown = min(rows, _MOST_ROWS)
    cells = [[_disk(scene, disk, each) for disk in ids[row::rows]] for row in range(shown)]
    lines = [Content("   ").join(row) for row in cells]
    if rows > shown:
        hidden = sum(len(ids[row::rows]) for row in range(shown, rows))
        lines.append(Content.styled(f"and {hidden} more", DIM))
    return lines


def _disk(scene: Scene, disk_id: str, width: int) -> Content:
    disk = scene.disks.get(disk_id) if scene.disks is not None else None
    gone = scene.disks is not None and disk is None
    if disk is not None and disk.reasons:
        right = Content.styled("✗ not free", BAD)
    elif gone:
        right = Content.styled("✗ missing", BAD)
    else:
        right = Content(size_text(disk.size_bytes)) if disk else Content("")
    name = cut_front(clean(disk_id, 60), max(4, width - right.cell_length - 1))
    return ends(Content.styled(name, BAD) if gone else Content(name), right, width)


def _framed(
    title: Content, corner: Content, lines: list[Content], width: int, joint: int | None, joints: list[int]
) -> list[Content]:
    upper = _border("╭╮", width, {} if joint is None else {joint: "┴"}, title, corner)
    lower = _border("╰╯", width, dict.fromkeys(joints, "┬"), Content(""), Content(""))
    side = Content.styled("│", DIM)
    return [upper, *(side + " " + fill(line, width - 4) + " " + side for line in lines), lower]


def _border(corners: str, width: int, joints: Mapping[int, str], title: Content, corner: Content) -> Content:
    signs = [corners[0], *"─" * (width - 2), corners[1]]
    taken = title.cell_length + 4 if title.cell_length else 0
    for where, sign in joints.items():
        if taken <= where < width - 1:
            signs[where] = sign
    end = corner.cell_length + 4 if corner.cell_length else 0
    head = Content.assemble((signs[0], DIM), " ", title, " ") if taken else Content.styled(signs[0], DIM)
    tail = Content.assemble(" ", corner, " ", (signs[-1], DIM)) if end else Content.styled(signs[-1], DIM)
    between = "".join(signs[head.cell_length : width - tail.cell_length])
    return fill(Content.assemble(head, (between, DIM), tail), width)


def _connectors(joints: list[tuple[int, str]], width: int) -> Content:
    """Return the line between two boxes, with the input's name beside each connector."""
    line = Content("")
    for where, name in joints:
        line = line.pad_right(max(0, where - line.cell_length))
        line = line + Content.assemble(("│", DIM), " ", clean(name, 30))
    return fill(line, width)


_LABEL = 15


def figures(view: LayoutView, width: int) -> list[Content]:
    """Return capacity, tolerated failures, write penalty, stripe and ceiling: one wrapped line each."""
    penalty, stripe = view.write_penalty, view.stripe_bytes
    facts = {
        "usable": _usable(view),
        "may fail": _may_fail(view),
        "write penalty": None if penalty is None else Content(f"{penalty:g} reads and writes of disks for one small write"),
        "full stripe": None if stripe is None else Content(size_text(stripe)),
        "ceiling": Content(_ceiling(view.ceiling)) if view.ceiling else None,
    }
    return [line for name, fact in facts.items() for line in _fact(name, fact or Content.styled("–", DIM), width)]


def short(view: LayoutView) -> str:
    """Return a layout's figures for a border: `5.2 TiB · 1 may fail · 4 I/O a write`."""
    parts = []
    if view.size_bytes is not None:
        parts.append(size_text(view.size_bytes))
    if view.may_fail is not None:
        parts.append(f"{view.may_fail} may fail")
    if view.write_penalty is not None:
        parts.append(f"{view.write_penalty:g} I/O a write")
    if view.problems:
        parts.append(plural(len(view.problems), "problem"))
    elif view.warnings:
        parts.append(plural(len(view.warnings), "warning"))
    return " · ".join(parts)


def warning_lines(warnings: Sequence[str], width: int) -> list[Content]:
    sign = Content.styled("! ", f"bold {WARN}")
    return [line for one in warnings for line in _hanging(sign, Content.styled(clean(one, 400), WARN), width)]


def load_lines(view: WorkloadView, width: int) -> list[Content]:
    """Return a workload's description and duration."""
    return [*_fact("load", Content(clean(view.words)), width), *_fact("takes", Content(duration_text(view.seconds)), width)]


def overview(preview: Preview, width: int) -> list[Content]:
    """Return all layouts in a table, and the cost of the whole run."""
    lines = [*_table(preview.layouts, width), Content("")] if preview.layouts else []
    cells = plural(preview.cells, "cell") if preview.cells else "–"
    lines += _fact("to measure", Content(cells), width)
    if preview.seconds is not None:
        takes = "at most about" if preview.ends_early else "takes about"
        lines += _fact(takes, Content(duration_text(preview.seconds)), width)
        most = preview.writes_bytes
        writes = "not known: bounded by time alone" if most is None else f"at most {size_text(most)}"
        lines += _fact("writes", Content(writes), width)
    if preview.erases:
        lines += _fact("erases", Content(plural(len(preview.erases), "disk")), width)
    return lines


_SETTINGS_OF_LVM: Final = "--config"
"""Option of every command of LVM that keeps it from asking daemons and from writing backups."""


def readable(argv: Argv) -> Argv:
    """Return a command without LVM's settings, which are the same in all of them."""
    tool = argv[0].rpartition("/")[2] if argv else ""
    if tool[:2] not in ("lv", "vg", "pv") or _SETTINGS_OF_LVM not in argv:
        return argv
    place = argv.index(_SETTINGS_OF_LVM)
    return (*argv[:place], *argv[place + 2 :])


def command_lines(commands: Sequence[Argv], width: int, *, exact: bool = False) -> list[Content]:
    shown = commands if exact else [readable(argv) for argv in commands]
    quoted = ([clean(shlex.quote(word), 300) for word in argv] for argv in shown)
    return [Content(line) for words in quoted for line in _wrapped(words, width)]


def commands_text(commands: Sequence[Argv]) -> str:
    """Return commands for the clipboard, one per line."""
    return "".join(f"{shlex.join(argv)}\n" for argv in commands)


def heading(text: str, width: int, hint: str = "") -> Content:
    left = Content.assemble((text, f"bold {ACCENT}"), " ")
    right = Content.styled(f" {hint}" if hint else "", DIM)
    return left + Content.styled("─" * max(0, width - left.cell_length - right.cell_length), "$panel") + right


def _usable(view: LayoutView) -> Content | None:
    if view.size_bytes is None:
        return None
    if not view.raw_bytes:
        return Content.styled(size_text(view.size_bytes), "bold")
    share = f"  {view.size_bytes / view.raw_bytes * 100:.0f} % of {size_text(view.raw_bytes)} raw"
    return Content.assemble((size_text(view.size_bytes), "bold"), (share, DIM))


def _may_fail(view: LayoutView) -> Content | None:
    if view.may_fail is None:
        return None
    count = str(view.may_fail) if view.may_fail else "none"
    style = f"bold {BAD}" if not view.may_fail else "bold"
    return Content.assemble((count, style), (f"  {clean(view.may_fail_words, 300)}", DIM))


def _ceiling(ceiling: Ceiling) -> str:
    parts = [
        f"{name} {mb_s_text(rate)} MB/s"
        for name, rate in (("read", ceiling.read_bytes_per_s), ("write", ceiling.write_bytes_per_s))
        if rate is not None
    ]
    return f"{', '.join(parts)} ({clean(ceiling.source, 120)})"


def _fact(label: str, value: Content, width: int) -> list[Content]:
    return _hanging(Content.styled(label.ljust(_LABEL), DIM), value, width)


def _hanging(label: Content, value: Content, width: int) -> list[Content]:
    first, *more = value.wrap(max(10, width - label.cell_length)) or [Content("")]
    return [label + first, *(Content(" " * label.cell_length) + line for line in more)]


_COLUMNS = (("usable", 9), ("may fail", 9), ("of raw", 7), ("I/O a write", 11))
"""Titles and widths without the blank before each, the most important first."""
_MARK_WIDTH = 5
"""Width of a layout's count of problems or warnings: `  ✗ 9`."""


def _table(views: Sequence[LayoutView], width: int) -> list[Content]:
    marked = any(view.problems or view.warnings for view in views)
    left = width - (_MARK_WIDTH if marked else 0)
    names = min(28, max(8, *(cell_len(clean(view.name)) for view in views)))
    shown = [title for title, _ in _COLUMNS]
    while len(shown) > 1 and names + sum(size + 1 for title, size in _COLUMNS if title in shown) > left:
        shown.pop()
    names = max(4, min(names, left - sum(size + 1 for title, size in _COLUMNS if title in shown)))

    def row(name: str, words: Mapping[str, str]) -> str:
        cells = "".join(f" {words[title]:>{size}}" for title, size in _COLUMNS if title in shown)
        return f"{cut(name, names):<{names}}{cells}"

    head = Content.styled(row("layout", {title: title for title, _ in _COLUMNS}), DIM)
    return [head, *(Content(row(clean(view.name), _figures(view))) + _mark(view) for view in views)]


def _figures(view: LayoutView) -> dict[str, str]:
    share = f"{view.size_bytes / view.raw_bytes * 100:.0f} %" if view.size_bytes is not None and view.raw_bytes else "–"
    return {
        "usable": size_text(view.size_bytes) if view.size_bytes is not None else "–",
        "may fail": str(view.may_fail) if view.may_fail is not None else "–",
        "of raw": share,
        "I/O a write": f"{view.write_penalty:g}" if view.write_penalty is not None else "–",
    }


def _mark(view: LayoutView) -> Content:
    if view.problems:
        return Content.styled(f"  {'✗' if glyphs().unicode else 'x'} {len(view.problems)}", BAD)
    return Content.styled(f"  ! {len(view.warnings)}", WARN) if view.warnings else Content("")


def _wrapped(words: list[str], width: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) + 2 > width:
            yield f"{line} \\"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield line
