"""A layout as a drawing: its target above, layers below, disks at the bottom. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.model.describe import LayerView, LayoutView, RoleView
from raidtui.model.disk import Disk
from raidtui.model.units import size_text
from raidtui.tui.compose.lines import ACCENT, BAD, DIM, beside, cut, cut_front, ends, fill
from raidtui.tui.widgets.glyphs import Glyphs

WIDEST: Final = 96
_GAP: Final = 2
_LEAST: Final = 18
"""A box narrower than this says nothing."""
_MOST_ROWS: Final = 24
"""Of disks in one box; what is more is counted."""


_UNBOUND: Final[Mapping[str, tuple[str, ...]]] = {}


class Pen(NamedTuple):
    """What boxes are drawn with."""

    top: str
    bottom: str
    side: str
    line: str
    down: str
    """In a box's lower border, where a line to the box below begins."""
    up: str
    """In a box's upper border, where that line ends."""
    branch: str
    last: str
    bad: str
    free: str
    ellipsis: str


class World(NamedTuple):
    """What every part of a drawing needs."""

    disks: Mapping[str, Disk] | None
    """By id; None where it is not known which are there."""
    bind: Mapping[str, tuple[str, ...]]
    pen: Pen


_UNICODE: Final = Pen("╭╮", "╰╯", "│", "─", "┬", "┴", "├", "└", "✗", "○", "…")
_ASCII: Final = Pen("++", "++", "|", "-", "+", "+", "+", "+", "!", "o", "~")


def drawing(
    view: LayoutView,
    disks: Mapping[str, Disk] | None,
    width: int,
    signs: Glyphs,
    bind: Mapping[str, tuple[str, ...]] = _UNBOUND,
) -> list[Content]:
    """The lines of the drawing, each `width` cells at most. Nothing where the layout could not be read.

    `disks` are those that are there now: one that was chosen and is not among them is drawn as missing. `bind` are those
    that were chosen: the engine names none for a role of which one is missing.
    """
    if view.stack is None:
        return []
    world = World(disks, bind, _UNICODE if signs.unicode else _ASCII)
    width = max(_LEAST, min(width, WIDEST))
    stack = _box_of(world, view.stack, width, width // 2)
    return [_target(world.pen, view, width), *stack]


def _target(pen: Pen, view: LayoutView, width: int) -> Content:
    """`── target raid5 ────┬──── 5.2 TiB ──`"""
    size = f" {size_text(view.size_bytes)} {pen.line * 2}" if view.size_bytes is not None else pen.line * 2
    whole, room = f"target {clean(view.name, 63)}", width // 2 - 4
    name = whole if cell_len(whole) <= room else cut(clean(view.name, 63), room, pen.ellipsis)
    head = Content.assemble((pen.line * 2 + " ", DIM), (name, "bold"), " ")
    middle = width // 2
    before = pen.line * max(0, middle - head.cell_length)
    after = pen.line * max(0, width - middle - 1 - len(size))
    return fill(Content.assemble(head, (before + pen.down + after, DIM), (size, "bold")), width)


def _box_of(world: World, part: LayerView | RoleView, width: int, joint: int | None) -> list[Content]:
    """One part and all below it. `joint` is where the line from above meets its upper border."""
    if isinstance(part, RoleView):
        return _role(world, part, width, joint)
    below = [(name, source) for name, sources in part.inputs.items() for source in sources]
    wants = [_wanted(world, source) for _, source in below]
    if len(below) > 1 and sum(wants) + _GAP * (len(below) - 1) <= width:
        return _side_by_side(world, part, below, wants, width, joint)
    if len(below) > 1:
        return _one_by_one(world, part, below, width, joint)
    joints = [width // 2] * len(below)
    box = _layer(world, part, width, joint, joints)
    for name, source in below:
        box += [_rope(world.pen, [(joints[0], name)], width), *_box_of(world, source, width, joints[0])]
    return box


def _side_by_side(
    world: World,
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
    blocks = [_box_of(world, source, each, each // 2) for (_, source), each in zip(below, widths, strict=True)]
    rope = _rope(world.pen, list(zip(joints, names, strict=True)), width)
    return [*_layer(world, part, width, joint, joints), rope, *beside(blocks, widths, _GAP)]


def _one_by_one(
    world: World, part: LayerView, below: list[tuple[str, LayerView | RoleView]], width: int, joint: int | None
) -> list[Content]:
    """Where they do not fit beside each other: one below the other, on a line at the left."""
    pen = world.pen
    lines = _layer(world, part, width, joint, [2])
    for number, (name, source) in enumerate(below, 1):
        last = number == len(below)
        lines.append(fill(Content.assemble("  ", (pen.last if last else pen.branch, DIM), f" {clean(name, 30)}"), width))
        margin = Content.assemble("  ", (" " if last else pen.side, DIM), " ")
        lines += [margin + line for line in _box_of(world, source, max(_LEAST, width - 4), None)]
    return lines


def _wanted(world: World, part: LayerView | RoleView) -> int:
    """How wide a part has to be to say what it has to."""
    if isinstance(part, RoleView):
        return max(_LEAST, len(part.role) + 14, *(cell_len(clean(disk, 60)) + 16 for disk in _ids(world, part)), 26)
    inner = [[_wanted(world, source) for source in sources] for sources in part.inputs.values()]
    beside_each_other = sum(map(sum, inner)) + _GAP * (sum(map(len, inner)) - 1)
    return max(_LEAST, cell_len(part.words) + 15, beside_each_other)


def _layer(world: World, part: LayerView, width: int, joint: int | None, joints: list[int]) -> list[Content]:
    pen = world.pen
    size = Content.styled(size_text(part.size_bytes), "bold") if part.size_bytes is not None else Content("")
    lines = [ends(Content(clean(part.words, 200)), size, width - 4, pen.ellipsis)]
    if part.stripe_bytes is not None:
        lines.append(Content.styled(f"full stripe {size_text(part.stripe_bytes)}", DIM))
    lines += [
        Content.styled(cut(f"{pen.bad} {clean(problem.message)}", width - 4, pen.ellipsis), BAD)
        for problem in part.problems
    ]
    return _framed(pen, Content.styled(clean(part.kind, 30), ACCENT), Content(""), lines, width, joint, joints)


def _role(world: World, part: RoleView, width: int, joint: int | None) -> list[Content]:
    pen = world.pen
    title = Content.styled(cut(f"@{clean(part.role, 31)}", width - 6, pen.ellipsis), "bold " + ACCENT)
    ids = _ids(world, part)
    if not ids:
        lines = [Content.styled(cut(f"{pen.free} {plural(part.count, 'disk')}, not chosen", width - 4, pen.ellipsis), DIM)]
        return _framed(pen, title, Content(""), lines, width, joint, [])
    count = Content.styled(f"{len(ids)}", DIM)
    return _framed(pen, title, count, _disks(world, ids, width - 4), width, joint, [])


def _ids(world: World, part: RoleView) -> tuple[str, ...]:
    return part.disks or world.bind.get(part.role, ())


def _disks(world: World, ids: tuple[str, ...], width: int) -> list[Content]:
    """One line per disk; in columns where there are many and there is room."""
    widest = max(cell_len(clean(disk, 60)) for disk in ids) + 12
    columns = min(4, (width + 3) // (widest + 3)) if len(ids) > 6 else 1
    each = (width - 3 * (columns - 1)) // columns if columns > 1 else width
    rows = -(-len(ids) // max(1, columns))
    shown = min(rows, _MOST_ROWS)
    cells = [[_disk(world, disk, each) for disk in ids[row::rows]] for row in range(shown)]
    lines = [Content("   ").join(row) for row in cells]
    if rows > shown:
        hidden = sum(len(ids[row::rows]) for row in range(shown, rows))
        lines.append(Content.styled(f"and {hidden} more", DIM))
    return lines


def _disk(world: World, disk_id: str, width: int) -> Content:
    pen = world.pen
    disk = world.disks.get(disk_id) if world.disks is not None else None
    gone = world.disks is not None and disk is None
    if disk is not None and disk.reasons:
        right = Content.styled(f"{pen.bad} not free", BAD)
    elif gone:
        right = Content.styled(f"{pen.bad} missing", BAD)
    else:
        right = Content(size_text(disk.size_bytes)) if disk else Content("")
    name = cut_front(clean(disk_id, 60), max(4, width - right.cell_length - 1), pen.ellipsis)
    return ends(Content.styled(name, BAD) if gone else Content(name), right, width, pen.ellipsis)


def _framed(
    pen: Pen, title: Content, corner: Content, lines: list[Content], width: int, joint: int | None, joints: list[int]
) -> list[Content]:
    """Lines in a box, with its title in the upper border and places where lines go up and down."""
    upper = _border(pen, pen.top, width, {} if joint is None else {joint: pen.up}, title, corner)
    lower = _border(pen, pen.bottom, width, dict.fromkeys(joints, pen.down), Content(""), Content(""))
    side = Content.styled(pen.side, DIM)
    return [upper, *(side + " " + fill(line, width - 4) + " " + side for line in lines), lower]


def _border(pen: Pen, corners: str, width: int, joints: Mapping[int, str], title: Content, corner: Content) -> Content:
    signs = [corners[0], *pen.line * (width - 2), corners[1]]
    taken = title.cell_length + 4 if title.cell_length else 0
    for where, sign in joints.items():
        if taken <= where < width - 1:
            signs[where] = sign
    end = corner.cell_length + 4 if corner.cell_length else 0
    head = Content.assemble((signs[0], DIM), " ", title, " ") if taken else Content.styled(signs[0], DIM)
    tail = Content.assemble(" ", corner, " ", (signs[-1], DIM)) if end else Content.styled(signs[-1], DIM)
    between = "".join(signs[head.cell_length : width - tail.cell_length])
    return fill(Content.assemble(head, (between, DIM), tail), width)


def _rope(pen: Pen, joints: list[tuple[int, str]], width: int) -> Content:
    """The line between two boxes, with the name of the input beside each of its strands."""
    line = Content("")
    for where, name in joints:
        line = line.pad_right(max(0, where - line.cell_length))
        line = line + Content.assemble((pen.side, DIM), " ", clean(name, 30))
    return fill(line, width)
