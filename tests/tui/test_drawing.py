"""Drawings of stacks, as text. `RAIDTUI_WRITE_GOLDEN=1 pytest tests/tui/test_drawing.py` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_compose import BOUND, DISKS, HOSTILE, IDS, disk, previewed

from raidtui.model.describe import LayerView, LayoutView, RoleView
from raidtui.model.problem import Problem
from raidtui.tui.compose.drawing import Scene, drawing
from raidtui.tui.compose.lists import ascii_signs, cut_front

UNICODE, ASCII = (lambda line: line), ascii_signs
FOLDER = Path(__file__).parent / "drawings"
THERE = {each.id: each for each in DISKS}
VIEWS = {view.name: view for view in previewed(BOUND).layouts}
JOURNALED = VIEWS["raid5-journal"]
MANY = tuple(f"S64GNE0R1{number:05}" for number in range(30))
NESTED = LayoutView(
    "xfs-on-lvm",
    LayerView(
        "filesystem", "$.layouts.x.filesystem", "xfs",
        {"on": (LayerView("lvm", "$.layouts.x.filesystem.on.lvm", "linear over 2",
                          {"on": (JOURNALED.stack, RoleView("fast", 2))}, size_bytes=5 << 40),)},
        size_bytes=5 << 40,
    ),
    size_bytes=5 << 40,
)  # fmt: skip
WRONG = LayoutView(
    "wrong",
    LayerView("md", "$.layouts.wrong.md", "raid5 of 2", {"on": (RoleView("data", 2),)},
              problems=(Problem("md-members", "raid5 needs at least 3 members; there are 2"),)),
)  # fmt: skip
WIDE = LayoutView("wide", LayerView("md", "$", "raid6 of 30", {"on": (RoleView("data", 30, MANY),)}))
CASES = {
    "journal-76": (JOURNALED, THERE, 76, UNICODE),
    "journal-76-ascii": (JOURNALED, THERE, 76, ASCII),
    "journal-40": (JOURNALED, THERE, 40, UNICODE),
    "journal-missing-76": (JOURNALED, {key: value for key, value in THERE.items() if key != IDS[4]}, 76, UNICODE),
    "nested-88": (NESTED, THERE, 88, UNICODE),
    "nested-40-ascii": (NESTED, THERE, 40, ASCII),
    "wrong-60": (WRONG, THERE, 60, UNICODE),
    "many-96": (WIDE, {name: disk(1, id=name) for name in MANY}, 96, UNICODE),
}


@pytest.mark.parametrize("name", CASES)
def test_a_drawing_looks_as_it_did(name):
    view, disks, width, signs = CASES[name]
    drawn = "".join(f"{line.plain.rstrip()}\n" for line in map(signs, drawing(view, Scene(disks, {}), width)))
    path = FOLDER / f"{name}.txt"
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(drawn)
    assert drawn == path.read_text()


roles = st.builds(
    lambda name, disks: RoleView(name, len(disks), tuple(disks), None),
    st.text(max_size=40), st.lists(st.text(max_size=80), max_size=40),
)  # fmt: skip
layers = st.recursive(
    roles,
    lambda below: st.builds(
        lambda kind, words, inputs, size: LayerView(kind, "$", words, {k: tuple(v) for k, v in inputs.items()}, (), size),
        st.text(max_size=40), st.text(max_size=120),
        st.dictionaries(st.text(max_size=12), st.lists(below, max_size=3), max_size=3),
        st.none() | st.integers(0, 1 << 60),
    ),
    max_leaves=8,
)  # fmt: skip


@given(layers, st.text(max_size=70), st.integers(1, 140), st.sampled_from([UNICODE, ASCII]))
def test_no_drawing_exceeds_its_width(stack, name, width, signs):
    view = LayoutView(name, stack if isinstance(stack, LayerView) else LayerView("md", "$", "", {"on": (stack,)}))
    for line in map(signs, drawing(view, Scene(THERE, {}), width)):
        assert "\n" not in line.plain
        if width >= 60:
            assert line.cell_length <= width


def test_ascii_drawings_are_ascii():
    for view in VIEWS.values():
        assert all(ascii_signs(line).plain.isascii() for line in drawing(view, Scene(THERE, {}), 60))


def test_hostile_names_are_escaped_and_never_markup():
    view = LayoutView("x", LayerView("md", "$", "[red]raid1", {"on": (RoleView("data", 1, (HOSTILE,)),)}))
    drawn = "\n".join(line.plain for line in drawing(view, Scene({}, {}), 80))
    assert "\x1b" not in drawn
    assert "\\x1b" in drawn
    assert "[red]raid1" in drawn


def test_a_disk_of_a_role_that_the_engine_could_not_bind_is_still_drawn_by_its_id():
    unbound = msgspec.structs.replace(JOURNALED.stack.inputs["journal"][0], disks=())
    stack = msgspec.structs.replace(JOURNALED.stack, inputs={**JOURNALED.stack.inputs, "journal": (unbound,)})
    there = {key: value for key, value in THERE.items() if key != IDS[4]}
    drawn = drawing(LayoutView("r", stack), Scene(there, BOUND.bind), 80)
    assert any(IDS[4] in line.plain and "missing" in line.plain for line in drawn)


def test_a_layout_that_could_not_be_read_has_no_drawing():
    assert drawing(LayoutView("x"), Scene(THERE, {}), 80) == []


def test_a_serial_that_just_fits_is_not_cut():
    assert [cut_front("S64GNE", width) for width in (7, 6, 5, 1)] == ["S64GNE", "S64GNE", "…4GNE", "…"]
