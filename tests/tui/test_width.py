"""Larger terminals show more: help, dialogs, details of disks, drawings side by side."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from compose_pilot import at_line, opened, previewed
from made_compose import BOUND
from pilot import LARGE, SMALL, drive, until
from rich.console import Console
from test_disks import fleet, listed, table
from textual.content import Content
from textual.widgets import Static

from raidtui.model.protocol import RunList
from raidtui.tui.compose.lists import LineList
from raidtui.tui.compose.pick import Entry, Pick
from raidtui.tui.compose.side_by_side import in_columns
from raidtui.tui.widgets.dialog import Told

MIDDLE = (120, 40)


def disks(stage, talk, size):
    stage.answers(watch_disks={"events": [listed(fleet())], "until": "never", "then": []},
                  runs={"result": RunList("raidtui.runs/1", ())})  # fmt: skip
    app = stage.app()

    async def whole(pilot):
        await until(pilot, lambda: app.disks is not None)
        await pilot.pause()
        await talk(pilot, app)

    drive(app, whole, size)


def test_help_is_whole_beside_a_table_that_still_says_what_uses_a_disk(stage):
    async def talk(pilot, app):
        await pilot.press("f1")
        await until(pilot, lambda: app.screen.query("HelpPanel #widget-help MarkdownBlock"))
        words = app.screen.query_one("HelpPanel #widget-help")
        await until(pilot, lambda: words.size.height > 10)
        assert words.virtual_size.height <= words.size.height
        assert "used" in [column.key for column in table(app).columns]
        assert not app.screen.query_one("#disk-detail").display
        await pilot.press("f1")
        assert app.screen.query_one("#disk-detail").display

    disks(stage, talk, MIDDLE)


@pytest.mark.parametrize(("size", "wide"), [(MIDDLE, False), (LARGE, True)])
def test_details_compare_a_disk_with_its_model_and_the_server_where_there_is_room(stage, size, wide):
    async def talk(pilot, app):
        Console(file=(out := io.StringIO()), width=56).print(app.screen.query_one("#disk-words", Static).content)
        words = out.getvalue()
        assert ("6 disks of this model" in words) == wide
        assert ("Capacity of this server" in words) == wide
        if wide:
            lines = words.splitlines()
            worn = next(line for line in lines if line.strip().startswith("nvme5n1"))
            assert "█" * 11 in worn
            assert worn.rstrip().endswith("93 % ! 38 °C")
            assert any(line.startswith("6 x SAMSUNG") and "10.5 TiB 5 free" in line for line in lines)

    disks(stage, talk, size)


@pytest.mark.parametrize(("size", "whole"), [(SMALL, False), (LARGE, True)])
def test_a_dialog_with_much_to_say_shows_more_of_it_in_a_larger_terminal(stage, size, whole):
    async def talk(pilot, app):
        dialog = Told("Much", "\n".join(f"line {number} " + 10 * "words " for number in range(40)))
        await app.push_screen(dialog)
        await pilot.pause()
        box, text = dialog.query_one(".box"), dialog.query_one("VerticalScroll")
        assert (text.max_scroll_y == 0) == whole
        assert (box.size.width > 100) == whole
        assert box.region.bottom <= size[1]

    disks(stage, talk, size)


@pytest.mark.parametrize(("size", "rows"), [(SMALL, 14), (LARGE, 35)])
def test_a_list_to_choose_from_is_longer_in_a_larger_terminal(stage, size, rows):
    async def talk(pilot, app):
        dialog = Pick("Many", [Entry(f"entry {number}", "a note") for number in range(60)])
        await app.push_screen(dialog)
        await pilot.pause()
        assert dialog.query_one(LineList).size.height == rows
        assert dialog.query_one(".box").region.bottom <= size[1]

    disks(stage, talk, size)


def test_lines_of_two_drawings_stand_beside_each_other():
    both = in_columns([Content("ab"), Content("c")], [Content("x"), Content("y"), Content("z")], 4)
    assert [line.plain for line in both] == ["ab     x", "c      y", "       z"]
    assert [line.plain for line in in_columns([Content("ab")], [], 4)] == ["ab"]


@pytest.mark.parametrize(("size", "wide"), [(MIDDLE, False), (LARGE, True)])
def test_other_layouts_are_drawn_side_by_side_below_the_shown_one(shop, size, wide):
    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5-journal")
        await previewed(pilot, screen)
        await pilot.pause()
        words = str(screen.query_one("#others", Static).render())
        heads = next((line for line in words.splitlines() if "raid10" in line), "")
        assert ("raid5 " in heads and "raid10 " in heads) == wide
        assert "raid5-journal" not in words

    drive(shop.app(BOUND), talk, size)
