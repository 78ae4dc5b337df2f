"""Freeing a disk on the screen Disks: what is shown, refusals, the typed consent, progress, and the list afterwards."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made
from rich.console import Console
from textual.widgets import Button, Input

from raidtui.front.free import line_to_type
from raidtui.model.disk import Reason
from raidtui.model.free import FREE_SCHEMA, Freed, FreePlan, FreeProgress
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList
from raidtui.tui.disks.table import DiskTable
from raidtui.tui.palette import Everything

ONE, TWO = "S64GNE0R100001", "S64GNE0R100002"
STALE = (
    Reason("md-superblock", "superblock of md array stor1:1 (raid5), not assembled", "mdadm --zero-superblock"),
    Reason("partitions", "has 2 partitions"),
)
LEFT = made.disk(1, reasons=STALE)
MOUNTED = made.disk(2, reasons=(Reason("mounted", "mounted on /srv (ext4, nvme2n1p1)", "umount /srv"),))
PLAN = FreePlan(FREE_SCHEMA, LEFT, "1f3a" * 16, 1920.0)
SAVED = f"/var/lib/raidtui/freed/20261126-070000-{ONE}"
DONE = Freed(FREE_SCHEMA, ONE, "written zeroes", 1874.0, SAVED)
GOING = FreeProgress("writing zeroes", 0.42)


def listed(*disks) -> DiskList:
    return DiskList("raidtui.disks/1", "stor1", "boot", disks)


@pytest.fixture
def show(stage):
    """Run a conversation with the screen of a server that has a stale disk, a mounted one and a free one."""

    def run(talk, size=SMALL, **answers):
        stage.answers(**({
            "watch_disks": {"events": [listed(LEFT, MOUNTED, made.disk(3))], "until": "never", "then": []},
            "disks": {"result": listed(made.disk(1), MOUNTED, made.disk(3))},
            "free_look": {"result": PLAN},
            "free": {"events": [GOING], "until": "doctor", "then": [], "result": DONE},
            "doctor": {"result": None},
        } | answers))  # fmt: skip
        app = stage.app()
        tell, app.notices = app.notify, []
        app.notify = lambda words, **options: (app.notices.append(words), tell(words, **options))

        async def whole(pilot):
            await until(pilot, lambda: app.disks is not None and app.screen.query_one(DiskTable).row_keys)
            await talk(pilot, app)

        drive(app, whole, size)

    return run


def dialog(app) -> str:
    return type(app.screen).__name__


def words(app, of: str = ".asked Static") -> str:
    Console(file=(out := io.StringIO()), width=70).print(app.screen.query_one(of).content)
    return " ".join(out.getvalue().split())


def used_by(app, disk: str = ONE) -> str:
    table = app.screen.query_one(DiskTable)
    return str(table.rows.cells(disk)[-1])


def test_what_is_on_the_disk_is_shown_as_the_command_line_shows_it_and_escape_touches_nothing(show, stage):
    async def talk(pilot, app):
        await pilot.press("f")
        await until(pilot, lambda: dialog(app) == "FreeDialog")
        said = words(app)
        for part in (f"{ONE} (SAMSUNG", "is used by nobody, and carries:", *(reason.message for reason in STALE), "ERASED"):
            assert part in said
        await pilot.press(*"0001", "escape")
        assert dialog(app) == "DisksScreen"
        assert "nothing was erased" in app.notices

    show(talk)
    assert [one["params"] for one in stage.requests("free-look")] == [{"disk": ONE}]
    assert not stage.requests("free")


def test_typed_consent_erases_the_disk_with_progress_and_the_list_is_true_afterwards(show, stage):
    async def talk(pilot, app):
        await pilot.press("f")
        await until(pilot, lambda: dialog(app) == "FreeDialog")
        await pilot.press("0", "enter")
        assert app.screen.query_one("#yes", Button).disabled
        assert "not right" in str(app.screen.query_one(".wrong").content)
        await pilot.press("backspace", *ONE, "enter")
        assert dialog(app) == "DisksScreen"
        await until(pilot, lambda: used_by(app).startswith("freeing 42 %"))
        await pilot.press("f")
        assert any("being freed, 42 %: writing zeroes" in notice for notice in app.notices)
        await pilot.press("enter")
        assert "It is being freed, 42 %: writing zeroes." in words(app, "#disk-words")
        await pilot.press("escape")
        await app.link.call("doctor")
        await until(pilot, lambda: app.disks.disks[0].free)
        await until(pilot, lambda: used_by(app) == "")
        assert "Free: nothing was found on it" in words(app, "#disk-words")
        assert SAVED in words(app, "#disk-words").replace(" ", "")
        assert any(f"4 MiB as they were: {SAVED} on the server" in notice for notice in app.notices)

    show(talk)
    (asked,) = stage.requests("free")
    assert asked["params"] == {"disk": ONE, "digest": PLAN.digest, "erase": ONE}


def test_a_disk_in_use_says_why_it_cannot_be_freed_and_the_way_out(show, stage):
    why = f"{TWO} cannot be freed: mounted on /srv (ext4, nvme2n1p1) [mounted]"

    async def talk(pilot, app):
        await pilot.press("down", "f")
        await until(pilot, lambda: dialog(app) == "Told")
        assert why in words(app, "VerticalScroll Static")
        assert "→ umount /srv" in words(app, "VerticalScroll Static")
        await pilot.press("escape", "down", "f")
        assert any("is free: there is nothing on it" in notice for notice in app.notices)
        assert dialog(app) == "DisksScreen"

    show(talk, free_look={"failure": [Problem("not-freeable", why, TWO, "umount /srv", 3)]})
    assert len(stage.requests("free-look")) == 1
    assert not stage.requests("free")


def test_a_refusal_of_the_engine_is_told_and_the_disk_is_no_longer_shown_as_being_freed(show, stage):
    problem = Problem("free-consent", f"{ONE}, or what is on it, is not what was shown", ONE, "Look at it again.", 3)

    async def talk(pilot, app):
        await pilot.press("f")
        await until(pilot, lambda: dialog(app) == "FreeDialog")
        await pilot.press(*"0001", "enter")
        await until(pilot, lambda: any("not what was shown" in notice for notice in app.notices))
        await until(pilot, lambda: used_by(app).startswith("superb"))
        assert not app.freeing

    show(talk, free={"failure": [problem]}, disks={"result": listed(LEFT, MOUNTED)})


def test_leaving_raidtui_while_a_disk_is_freed_asks_first(show, stage):
    async def talk(pilot, app):
        await pilot.press("f")
        await until(pilot, lambda: dialog(app) == "FreeDialog")
        await pilot.press(*"0001", "enter")
        await until(pilot, lambda: used_by(app).startswith("freeing 42 %"))
        await pilot.press("q")
        assert dialog(app) == "Confirm"
        assert f"1 disk is being freed: {ONE}." in words(app, ".asked")
        await pilot.press("n")
        assert dialog(app) == "DisksScreen"
        await app.link.call("doctor")
        await until(pilot, lambda: app.disks.disks[0].free)
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)

    show(talk)


def test_the_dialog_closes_when_the_disk_goes(show, stage):
    async def talk(pilot, app):
        await pilot.press("f")
        await until(pilot, lambda: dialog(app) == "FreeDialog")
        app.look_at_disks()
        await until(pilot, lambda: dialog(app) == "DisksScreen")
        assert any(f"nothing was erased: disk {ONE} is gone" in notice for notice in app.notices)

    show(talk, disks={"result": listed(MOUNTED)})


def test_the_palette_finds_it_by_its_words(show):
    async def talk(pilot, app):
        palette = Everything(app.screen)
        for word in ("free", "wipe", "erase", "stale", "superblock"):
            hits = [hit async for hit in palette.search(word)]
            assert any(hit.text.startswith("Free it") for hit in hits)

    show(talk, explain={"result": []}, describe={"failure": [Problem("x", "x")]})


def test_the_end_to_type_is_no_end_of_another_disk_of_the_server():
    other = made.disk(1, id="X0001", serial="X0001")
    assert line_to_type(PLAN, [LEFT, MOUNTED]).expected == "0001"
    assert line_to_type(PLAN, [LEFT, other]).expected == "00001"


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), ((120, 40), "120"), (LARGE, "200")])
def test_the_question_looks_like_this(show, size, name):
    async def talk(pilot, app):
        await pilot.press("f")
        await until(pilot, lambda: dialog(app) == "FreeDialog")
        await asyncio.sleep(2.2)  # the notice about the look goes
        app.screen.query_one(Input).cursor_blink = False
        await pilot.press(*"0001")
        await same_picture(pilot, f"free-{name}")

    show(talk, size)
