"""The live table: what it draws, what it draws again, its keys and its mouse."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pilot import drive
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from raidtui.tui.widgets.glyphs import UNICODE
from raidtui.tui.widgets.live_table import LiveTable
from raidtui.tui.widgets.table_line import Cell, Column, LineBuilder, Selection, fit, place_columns
from raidtui.tui.widgets.table_view import Rows

COLUMNS = (
    Column("name", "Device", 10),
    Column("note", "Note", 10, flexible=True),
    Column("util", "%util", 6, "right", "busy"),
)


class Made(Rows):
    """Rows from a dict; counts whose cells were asked for."""

    def __init__(self, rows: dict[str, Sequence[str | Text]], states: dict[str, str] | None = None) -> None:
        self.rows = rows
        self.states = states or {}
        self.asked: list[str] = []

    @property
    def keys(self) -> Sequence[str]:
        return list(self.rows)

    def cells(self, key: str) -> Sequence[str | Text]:
        self.asked.append(key)
        return self.rows[key]

    def state(self, key: str) -> str:
        return self.states.get(key, "")


def devices(count: int, note: str = "") -> Made:
    return Made({f"sd{i}": (f"sd{i}", note, f"{i}.0") for i in range(count)})


class Table(LiveTable):
    """Remembers what it was asked to draw again."""

    drawn: tuple[Region, ...] = ()

    def refresh(self, *regions: Region, **how: Any) -> Any:
        self.drawn += regions or (Region(-1, -1, 0, 0),)
        return super().refresh(*regions, **how)

    def text(self) -> list[str]:
        return [self.render_line(y).text for y in range(self.size.height)]

    def styles_of(self, y: int) -> dict[str, Style | None]:
        return {segment.text.strip(): segment.style for segment in self.render_line(y)}


class Host(App[None]):
    def __init__(self, **how: Any) -> None:
        super().__init__()
        self.how = how
        self.heard: list[tuple[str, object]] = []

    def compose(self) -> ComposeResult:
        yield Table(COLUMNS, **self.how)

    def on_live_table_highlighted(self, event: LiveTable.Highlighted) -> None:
        self.heard.append(("highlighted", event.key))

    def on_live_table_chosen(self, event: LiveTable.Chosen) -> None:
        self.heard.append(("chosen", event.key))

    def on_live_table_header_pressed(self, event: LiveTable.HeaderPressed) -> None:
        self.heard.append(("header", event.key))

    def on_live_table_unselectable(self, event: LiveTable.Unselectable) -> None:
        self.heard.append(("unselectable", event.key))

    def on_live_table_selection_changed(self, event: LiveTable.SelectionChanged) -> None:
        self.heard.append(("selected", set(event.table.selected)))


Talk = Callable[[Host, Table, Pilot[Any]], Any]


def talk_to(talk: Talk, size: tuple[int, int] = (40, 10), rows: Made | None = None, **how: Any) -> None:
    host = Host(**how)

    async def conversation(pilot: Pilot[Any]) -> None:
        table = host.query_one(Table)
        if rows is not None:
            table.show(rows)
        await pilot.pause()
        host.heard.clear()
        await talk(host, table, pilot)

    drive(host, conversation, size)


def test_titles_stand_above_the_rows_and_a_flexible_column_takes_what_is_left() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        first, second = table.text()[:2]
        assert first == " Device     Note                  %util "
        assert second == " sd0        quiet                   0.0 "

    talk_to(talk, rows=devices(3, "quiet"))


def test_without_rows_it_says_so() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        assert any("no disks [here]" in line for line in table.text())
        assert table.cursor_key is None
        await pilot.press("down", "enter", "space", "end", "pageup")
        assert host.heard == []

    talk_to(talk, empty="no disks [here]", multi=True)


def test_only_rows_in_view_are_asked_for() -> None:
    rows = devices(1000)

    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        assert set(rows.asked) == {f"sd{i}" for i in range(9)}

    talk_to(talk, rows=rows)


def test_only_lines_that_changed_are_drawn_again() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.drawn = ()
        table.show(devices(5))
        assert table.drawn == ()
        changed = devices(5)
        changed.rows["sd3"] = ("sd3", "", "77.0")
        table.show(changed)
        assert table.drawn == (Region(0, 4, 40, 1),)

    talk_to(talk, rows=devices(5))


def test_what_comes_after_the_last_changed_column_is_not_sent_again() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        changed = devices(5)
        changed.rows["sd1"] = ("sdx", "", "1.0")
        table.drawn = ()
        table.show(changed)
        assert table.drawn == (Region(0, 2, 11, 1),)

    talk_to(talk, rows=devices(5), size=(60, 10))


def test_a_text_that_its_owner_changes_in_place_is_seen() -> None:
    cell = Text("idle")
    rows = Made({"sda": ("sda", cell, "1")})

    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        cell.append(" no more")
        table.show(rows)
        assert "idle no more" in table.text()[1]

    talk_to(talk, rows=rows)


def test_the_cursor_stays_on_its_row_when_rows_move() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.cursor_key = "sd2"
        table.show(Made({key: (key, "", "") for key in ("sd9", "sd2", "sd0")}))
        assert table.cursor_key == "sd2"
        await pilot.press("up")
        assert table.cursor_key == "sd9"

    talk_to(talk, rows=devices(5))


def test_when_the_row_under_the_cursor_goes_the_nearest_gets_it() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.cursor_key = "sd4"
        table.show(devices(3))
        await pilot.pause()
        assert table.cursor_key == "sd2"
        assert host.heard[-1] == ("highlighted", "sd2")
        table.show(devices(0))
        assert table.cursor_key is None

    talk_to(talk, rows=devices(5))


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        (("down",), 1), (("j", "j", "k"), 1), (("end",), 99), (("G", "g"), 0), (("pagedown",), 8),
        (("pagedown", "pageup"), 0), (("home",), 0), (("up",), 0),
    ],
)  # fmt: skip
def test_keys_move_the_cursor_and_keep_it_in_view(keys: tuple[str, ...], row: int) -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press(*keys)
        await pilot.pause()
        assert table.cursor_key == f"sd{row}"
        assert any(line.startswith(f" sd{row} ") for line in table.text())

    talk_to(talk, rows=devices(100))


def test_enter_and_a_double_click_open_a_row() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        await pilot.click(Table, offset=(5, 3), times=2)
        assert [key for what, key in host.heard if what == "chosen"] == ["sd1", "sd2"]

    talk_to(talk, rows=devices(5))


def test_the_titles_sort_by_click_and_by_keys_and_show_the_order() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.sort_by("util", True)
        assert "%util▼" in table.text()[0]
        table.sort_by("util", False)
        assert "%util▲" in table.text()[0]
        await pilot.click(Table, offset=(3, 0))
        await pilot.press("less_than_sign", "greater_than_sign")
        assert host.heard == [("header", "name"), ("header", "note"), ("header", "name")]

    talk_to(talk, rows=devices(5))


def test_other_columns_can_be_shown() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.columns = COLUMNS[:1]
        assert table.text()[0].split() == ["Device"]

    talk_to(talk, rows=devices(5))


def test_the_first_column_stays_when_the_others_are_scrolled() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press("right", "right", "right")
        await pilot.pause()
        assert table.text()[1].startswith(" sd0 ")
        assert table.text()[1].rstrip().endswith("0.0")
        await pilot.press("left", "left", "left")
        assert "note" in table.text()[1]

    talk_to(talk, rows=devices(5, "note"), size=(20, 10))


def test_space_selects_and_a_sign_shows_it() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "space")
        assert table.selected == {"sd1"}
        assert table.text()[2].startswith(" ● sd1")
        await pilot.press("up", "space")
        assert table.selected == set()
        assert host.heard[-1] in [("selected", set()), ("highlighted", "sd2")]

    talk_to(talk, rows=devices(5), multi=True)


def test_nothing_is_selected_where_that_is_not_asked_for() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press("space", "v", "shift+down")
        await pilot.click(Table, offset=(5, 3), control=True)
        assert table.selected == set()

    talk_to(talk, rows=devices(5))


def test_ranges_grow_and_shrink_with_shift_and_with_v() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press("shift+down", "shift+down", "shift+up")
        assert table.selected == {"sd0", "sd1"}
        await pilot.press("end", "v", "up", "up", "v", "up")
        assert table.selected == {"sd0", "sd1", "sd4", "sd3", "sd2"}
        table.selected = {"sd1", "gone"}
        await pilot.press("home", "v", "down", "escape", "down")
        assert table.selected == {"sd0", "sd1"}

    talk_to(talk, rows=devices(5), multi=True)


def test_the_mouse_selects_with_control_and_shift() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.click(Table, offset=(8, 2), control=True)
        await pilot.click(Table, offset=(8, 4), shift=True)
        assert table.selected == {"sd1", "sd2", "sd3"}
        await pilot.click(Table, offset=(8, 3), control=True)
        assert table.selected == {"sd1", "sd3"}

    talk_to(talk, rows=devices(5), multi=True)


def test_a_border_does_not_shift_what_is_clicked_on() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.styles.border = ("round", "red")
        await pilot.pause()
        await pilot.click(Table, offset=(8, 3))
        assert table.cursor_key == "sd1"
        await pilot.click(Table, offset=(2, 1))
        assert host.heard[-1] == ("header", "name")
        assert len(table.render_lines(Region(0, 0, 40, 10))) == 10

    talk_to(talk, rows=devices(5))


def test_what_cannot_be_selected_is_left_out_and_told() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        await pilot.press("space", "home", "shift+down")
        assert ("unselectable", "sd0") in host.heard
        assert table.selected == {"sd1"}

    talk_to(talk, rows=devices(3), multi=True, selectable=lambda key: key != "sd0")


def test_rows_that_went_are_no_longer_selected() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        table.selected = {"sd1", "sd4"}
        table.show(devices(3))
        await pilot.pause()
        assert table.selected == {"sd1"}
        assert host.heard[-1] == ("selected", {"sd1"})

    talk_to(talk, rows=devices(5), multi=True)


def test_a_state_and_a_named_style_look_as_the_theme_says() -> None:
    rows = devices(3)
    rows.rows["sd1"] = ("sd1", Text("hot", style="alert"), "no style")
    rows.states["sd2"] = "dim"

    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        alert = table.get_component_rich_style("livetable--alert").color
        assert table.styles_of(2)["hot"].color == alert  # type: ignore[union-attr]
        assert table.render_line(3)._segments[0].style.color != table.render_line(2)._segments[0].style.color  # type: ignore[union-attr]

    talk_to(talk, rows=rows)


def test_a_theme_is_followed_at_once() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        before = list(table.render_lines(Region(0, 0, 40, 10))[2])
        host.theme = "textual-light"
        await pilot.pause()
        assert list(table.render_lines(Region(0, 0, 40, 10))[2]) != before

    talk_to(talk, rows=devices(3))


odd_words = ["[/dev/sda]", "日本語テスト", "\x1b[31mred", "a\tb\nc", "e\u0301\u0301"]
odd_text = st.text(max_size=30) | st.sampled_from(odd_words)


@settings(max_examples=200, deadline=None)
@given(st.lists(odd_text | odd_text.map(lambda t: Cell(t, "alert", ((0, 3, "x"), (1, 2, "y")))), max_size=4),
       st.lists(st.integers(1, 12), min_size=4, max_size=4), st.sampled_from(["left", "right"]))  # fmt: skip
def test_a_line_is_as_wide_as_its_columns_whatever_is_in_it(cells: list[Any], widths: list[int], align: Any) -> None:
    builder = LineBuilder(Style(), lambda style: Style(bold=True), UNICODE)
    for cell, width in zip(cells, widths, strict=False):
        builder.cell(cell, width, align)
    segments: list[Segment] = builder.segments()
    assert sum(cell_len(segment.text) for segment in segments) == sum(w + 1 for _, w in zip(cells, widths, strict=False))
    assert not any(unicodedata.category(sign) in ("Cc", "Cf") for segment in segments for sign in segment.text)


@given(odd_text.filter(str.isprintable), st.integers(1, 20))
def test_a_text_that_is_cut_ends_in_dots(text: str, width: int) -> None:
    shown, _ = fit(text, width, "left", "…")
    assert cell_len(shown) == width
    assert shown.endswith("…") or cell_len(text) <= width


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=8), st.integers(0, 200))
def test_columns_never_overlap_and_fill_the_width(spec: list[tuple[int, bool]], width: int) -> None:
    columns = [Column(str(i), "", w, flexible=flexible) for i, (w, flexible) in enumerate(spec)]
    places, used = place_columns(columns, width, 1)
    for column, place, after in zip(columns, places, [*places[1:], None], strict=True):
        assert place.width >= column.width
        assert after is None or place.x + place.width < after.x
    if any(column.flexible for column in columns):
        assert used >= width


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from("abcdef"), max_size=20))
def test_a_range_is_always_what_lies_between_anchor_and_cursor(moves: list[str]) -> None:
    selection = Selection()
    selection.begin_range("c")
    for key in moves:
        selection.extend_to(key, "abcdef")
    last = moves[-1] if moves else None
    first, end = sorted(("c", last)) if last else ("", "")
    assert selection.keys == ({key for key in "abcdef" if first <= key <= end} if last else set())


@pytest.mark.parametrize("odd", ["[/dev/sda]", "日本語のとても長い名前です", "\x1b[31mred\x1b[0m", "a\nb", "\u202eabc"])
def test_odd_names_neither_crash_nor_colour_the_screen(odd: str) -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        assert all(cell_len(line) == 40 and line.isprintable() for line in table.text())

    talk_to(talk, rows=Made({odd: (odd, Text(odd), odd)}))


def test_lines_are_filled_to_the_scroll_bar_and_the_wheel_moves_the_view() -> None:
    async def talk(host: Host, table: Table, pilot: Pilot[Any]) -> None:
        assert {cell_len(strip.text) for strip in table.render_lines(Region(0, 0, 40, 10))} == {39}
        table.scroll_to(y=50, animate=False)
        await pilot.pause()
        assert table.text()[1].startswith(" sd50 ")
        assert table.cursor_key == "sd0"
        await pilot.press("down")
        await pilot.pause()
        assert table.text()[1].startswith(" sd1 ")

    talk_to(talk, rows=devices(100))


def test_every_binding_has_an_id_and_a_tooltip() -> None:
    for binding in LiveTable.BINDINGS:
        assert binding.id.startswith("table.")  # type: ignore[union-attr]
        assert binding.tooltip  # type: ignore[union-attr]
