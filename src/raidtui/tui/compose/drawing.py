"""The drawing of a layout, as lines of text: from its target down to the disks. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.model.describe import LayerView, LayoutView, RoleView
from raidtui.model.disk import Disk, host_of, plain_role
from raidtui.model.units import size_text
from raidtui.tui.compose.document import at
from raidtui.tui.compose.lists import ACCENT, BAD, DIM, beside, cut, cut_front, ends, fill

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
    above = _hosts(scene, view.stack, view.size_bytes, width)
    if view.on_each_of:
        above = [_edge(f"on each of {refs_words(view.on_each_of)}", width)]
    return [_target(view, width), *above, *_box_of(scene, view.stack, width, width // 2)]


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
    refs = refs_words([f"{group}-{number}" for number in range(1, count + 1)])
    each = Content.styled(f"{size_text(size_bytes // count)} each", "bold") if count and size_bytes else Content("")
    lines = [ends(Content(refs) if count else Content.styled("✗ no such group", BAD), each, width - 4)]
    lines.append(Content.styled("each loads a region of its own" if count != 1 else "loads all of it", DIM))
    title = Content.styled(clean(group, 31), "bold " + ACCENT)
    corner = Content.styled(plural(count, "host") if count else "", DIM)
    box = _framed(title, corner, lines, width, middle, [middle])
    transport = str(given.get("transport", ""))
    protocol = _PROTOCOLS.get((top.kind, transport), f"{top.kind} {transport}".strip())
    storage = cut(next(iter(scene.groups), "storage server"), 31)
    return [*box, _connectors([(middle, f"network, {protocol}")], width), _edge(storage, width)]


def refs_words(refs: Sequence[str]) -> str:
    """`nodes-1, nodes-2`; of more than two the first and the last: `nodes-1 … nodes-8`."""
    return clean(", ".join(refs) if len(refs) <= 2 else f"{refs[0]} … {refs[-1]}", 60)


def _edge(where: str, width: int) -> Content:
    """`── storage ─────────┼─────────`: from here on it is on this server, or on each of these."""
    middle = width // 2
    head = Content.assemble(("── ", DIM), (cut(clean(where, 80), width - 6), "bold"), " ")
    if head.cell_length > middle:
        return fill(Content.assemble(head, ("─" * (width - head.cell_length), DIM)), width)
    rest = "─" * (middle - head.cell_length) + "┼" + "─" * max(0, width - middle - 1)
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
    there = (ids for role, ids in scene.bind.items() if host_of(role) and plain_role(role) == part.role)
    here = part.disks or scene.bind.get(part.role, ())
    return tuple(dict.fromkeys((*here, *(disk for ids in there for disk in ids))))


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
    # Of a host that nobody has looked at yet, no disk is known.
    seen = {host_of(known) for known in scene.disks or ()}
    gone = scene.disks is not None and disk is None and (host_of(disk_id) in seen or not _of_group(scene, disk_id))
    if disk is not None and disk.reasons:
        right = Content.styled("✗ not free", BAD)
    elif gone:
        right = Content.styled("✗ missing", BAD)
    else:
        right = Content(size_text(disk.size_bytes)) if disk else Content("")
    name = cut_front(clean(disk_id, 60), max(4, width - right.cell_length - 1))
    return ends(Content.styled(name, BAD) if gone else Content(name), right, width)


def _of_group(scene: Scene, disk_id: str) -> bool:
    """Return True if the disk is one of another host: `nodes-1:S4EV…`."""
    return host_of(disk_id).rpartition("-")[0] in scene.groups


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
