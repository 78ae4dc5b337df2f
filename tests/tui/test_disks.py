"""The screen Disks: what it shows, selects, filters, sorts, and gives to roles, while disks come and go."""

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
import msgspec
from rich.console import Console
from textual.widgets import Input

from raidtui.client.engine_client import ENGINE_LOST
from raidtui.model.disk import Disk, Link, Reason
from raidtui.model.problem import Problem, fail
from raidtui.model.protocol import DiskList
from raidtui.model.smart import SMART_SCHEMA, Smart
from raidtui.tui.disks.entries import (
    DiskEntries,
    facts_of,
    fitting,
    ids_by_name,
    kind_words,
    link_words,
    ordered,
    same_model,
    used_by,
)
from raidtui.tui.disks.table import DiskTable, fit_columns
from raidtui.tui.draft import EMPTY, with_role
from raidtui.tui.link import LinkState
from raidtui.tui.palette import Everything
from raidtui.tui.shared import DisksSeen
from raidtui.tui.widgets.glyphs import UNICODE

MOUNTED = Reason("mounted", "mounted on /srv (ext4, nvme2n1p1)", "Unmount it, if nothing needs it any more.")
SYSTEM = Reason("system-disk", "the running system stands on it", system=True)


def id_of(number: int) -> str:
    return f"S64GNE0R10000{number}"


def fleet() -> list[Disk]:
    """Six equal disks, of which one is mounted and one has a narrow link; one that rotates; one that Linux stands on."""
    equal = [made.disk(number, wear_percent=float(number)) for number in range(1, 7)]
    equal[1] = made.disk(2, reasons=(MOUNTED, Reason("open", "open by postgres (pid 812)")))
    equal[4] = made.disk(5, link=Link(8.0, 4, 16.0, 4), wear_percent=93.0)
    slow = made.disk(7, id="ZC1A2B3C", serial="ZC1A2B3C", model="ST16000NM001G-2KK103", name="sda", transport="sas",
                     rotational=True, link=None, size_bytes=16 * 10**12)  # fmt: skip
    root = made.disk(8, id="QM00001", serial="QM00001", model="QEMU HARDDISK", name="sdb", transport="virtio",
                     rotational=True, link=None, size_bytes=2 << 30, temperature_c=None, reasons=(SYSTEM,))  # fmt: skip
    return [*equal, slow, root]


def listed(disks) -> DiskList:
    return DiskList("raidtui.disks/1", "stor1", "boot", tuple(disks))


@pytest.fixture
def show(stage):
    """Run a conversation with the screen that shows these disks."""

    def run(talk, disks=None, size=SMALL, draft=None):
        stage.answers(watch_disks={"events": [listed(fleet() if disks is None else disks)], "until": "never", "then": []})
        app = stage.app()
        tell, app.notices = app.notify, []
        app.notify = lambda words, **options: (app.notices.append(words), tell(words, **options))

        async def whole(pilot):
            await until(pilot, lambda: app.disks is not None)
            if draft is not None:
                app.change_draft(draft, "a test")
            await pilot.pause()
            await talk(pilot, app)

        drive(app, whole, size)

    return run


def table(app) -> DiskTable:
    return app.screen.query_one(DiskTable)


def said(app) -> str:
    return "\n".join(app.notices)


def words(app) -> str:
    """The details of the disk under the cursor."""
    Console(file=(out := io.StringIO()), width=100).print(app.screen.query_one("#disk-words").content)
    return out.getvalue()


# Words.


def test_kind_says_how_a_disk_is_attached_and_whether_it_rotates():
    assert kind_words(made.disk(1)) == "nvme"
    assert kind_words(made.disk(1, transport="virtio", rotational=True)) == "virtio/hdd"
    assert kind_words(made.disk(1, transport="sas", rotational=None)) == "sas"


def test_a_link_below_its_maximum_has_a_sign():
    assert link_words(Link(16.0, 4, 16.0, 4), UNICODE) == "4.0 x4"
    assert link_words(Link(8.0, 4, 16.0, 4), UNICODE) == "3.0 x4 ↓"
    assert link_words(None, UNICODE) == "–"


def test_the_count_of_further_reasons_is_never_cut():
    disk = fleet()[1]
    assert used_by(disk) == "mounted on /srv (ext4, nvme2n1p1) +1 more"
    assert used_by(disk, 18) == "mounted o… +1 more"


def test_hostile_strings_are_harmless_in_every_word():
    facts = facts_of(made.disk(4, id=made.HOSTILE, serial=made.HOSTILE, model="[bold]\x9b2J\x7f"))
    assert "\x1b" not in "".join(word for word in facts[3:])
    assert facts.id == made.HOSTILE


# Rows.


def test_every_word_of_the_filter_must_fit():
    entries = DiskEntries().entries(fleet(), with_role(EMPTY, "data", [id_of(1)]))

    def found(wanted):
        return [entry.id for entry in fitting(entries, wanted)]

    assert found("sas") == ["ZC1A2B3C"]
    assert found("SAMSUNG srv") == [id_of(2)]
    assert found("data") == [id_of(1)]
    assert found("system") == ["QM00001"]
    assert found("14.6") == ["ZC1A2B3C"]
    assert found("nothing like it") == []


def test_absent_values_sort_last_in_both_directions():
    entries = DiskEntries().entries(fleet(), EMPTY)
    for descending in (False, True):
        ids = [entry.id for entry in ordered(entries, "wear", descending)]
        assert set(ids[-3:]) == {id_of(2), "ZC1A2B3C", "QM00001"}
    names = [made.disk(number, id=f"D{number}", name=f"nvme{number}n1") for number in (10, 9, 1)]
    assert [e.id for e in ordered(DiskEntries().entries(names, EMPTY), "name")] == ["D1", "D9", "D10"]


def test_same_model_selects_free_disks_of_the_same_model_and_size():
    entries = DiskEntries().entries(fleet(), EMPTY)
    assert same_model(entries, entries[1]) == {id_of(number) for number in (1, 3, 4, 5, 6)}
    assert same_model(entries, entries[-1]) == frozenset()


def test_a_draft_may_name_disks_by_wwn():
    disks = fleet()
    assert ids_by_name(disks)[disks[0].wwid] == id_of(1)
    entries = DiskEntries().entries(disks, with_role(EMPTY, "data", [disks[0].wwid]))
    assert [entry.role for entry in entries if entry.role] == ["data"]
    assert not any(entry.facts.gone for entry in entries)


@pytest.mark.parametrize("width", range(20, 240, 7))
def test_columns_fit_whatever_the_width_and_serials_are_whole_where_there_is_room(width):
    columns = fit_columns(DiskEntries().entries(fleet(), EMPTY), width, UNICODE)
    assert sum(column.width + 1 for column in columns) + 3 <= max(width, 20)
    if width >= 76:
        assert {"state", "serial", "model", "size", "role", "used"} <= {column.key for column in columns}
        assert next(column.width for column in columns if column.key == "serial") >= len(id_of(1))


# The screen.


def test_disks_appear_and_disappear_with_the_list_of_the_engine(show):
    async def talk(pilot, app):
        assert len(table(app).row_keys) == 8
        app.say(DisksSeen(listed(fleet()[:2])))
        await until(pilot, lambda: list(table(app).row_keys) == [id_of(1), id_of(2)])
        app.say(DisksSeen(listed([])))
        await until(pilot, lambda: not table(app).row_keys)
        assert "No disks were found on stor1" in table(app).empty
        app.say(DisksSeen(listed(fleet())))
        await until(pilot, lambda: len(table(app).row_keys) == 8)

    show(talk)


def test_the_empty_table_shows_that_raidtui_is_connecting(stage):
    app = stage.app()

    async def talk(pilot):
        assert table(app).empty == "connecting to stor1 …"

    drive(app, talk)


def test_free_disks_are_selected_one_by_one_and_by_range(show):
    async def talk(pilot, app):
        await pilot.press("space")
        assert table(app).selected == {id_of(1)}
        await pilot.press("down", "shift+down", "shift+down")
        assert table(app).selected == {id_of(1), id_of(3), id_of(4), id_of(5)}
        await pilot.press("escape")
        assert not table(app).selected

    show(talk)


def test_selecting_a_used_disk_shows_its_reason(show):
    async def talk(pilot, app):
        await pilot.press("down", "space")
        assert not table(app).selected
        await pilot.pause()
        assert "mounted on /srv" in said(app)
        assert "Unmount it" in said(app)

    show(talk)


def test_all_alike_selects_free_disks_of_this_model_and_size(show):
    async def talk(pilot, app):
        await pilot.press("a")
        assert table(app).selected == {id_of(number) for number in (1, 3, 4, 5, 6)}

    show(talk)


def test_the_mouse_selects_and_sorts(show):
    async def talk(pilot, app):
        await pilot.click(DiskTable, offset=(1, 1))
        await pilot.click(DiskTable, offset=(1, 3))
        assert table(app).selected == {id_of(1), id_of(3)}
        await pilot.click(DiskTable, offset=(4, 0))
        assert table(app).sort_key == "state"
        assert table(app).row_keys[-1] == "QM00001"
        await pilot.click(DiskTable, offset=(4, 0))
        assert table(app).row_keys[0] == "QM00001"

    show(talk)


def test_keys_sort(show):
    async def talk(pilot, app):
        await pilot.press("greater_than_sign")
        await pilot.pause()
        assert table(app).sort_key == "state"

    show(talk)


def test_selected_disks_are_given_to_a_role(show):
    async def talk(pilot, app):
        await pilot.press("space", "down", "space", "r")
        await pilot.press("enter")
        assert app.draft.bind == {"data": (id_of(1), id_of(3))}
        assert app.draft.document["roles"]["data"]["count"] == 2
        assert not table(app).selected
        await pilot.press("r", *["backspace"] * 7, *"fast", "enter")
        assert app.draft.bind["fast"] == (id_of(4),)
        await pilot.press("ctrl+z")
        assert "fast" not in app.draft.bind
        await pilot.press("ctrl+y")
        assert "fast" in app.draft.bind

    show(talk)


def test_a_role_of_the_draft_can_be_chosen_and_a_disk_moves(show):
    async def talk(pilot, app):
        await pilot.press("r", "down", "down", "enter")
        assert app.draft.bind == {"journal": (id_of(3), id_of(1))}

    show(talk, draft=with_role(with_role(EMPTY, "data", [id_of(1)]), "journal", [id_of(3)]))


def test_an_invalid_role_name_is_refused(show):
    async def talk(pilot, app):
        await pilot.press("r", "space", "x", "enter")
        assert type(app.screen).__name__ == "AskText"
        await pilot.press("escape")
        assert not app.draft.bind

    show(talk)


def test_a_disk_that_is_not_free_gets_no_role(show):
    async def talk(pilot, app):
        await pilot.press("down", "r")
        await pilot.pause()
        assert table(app).has_focus
        assert "is not free" in said(app)
        assert not app.draft.bind

    show(talk)


def test_a_disk_is_taken_out_of_its_role(show):
    async def talk(pilot, app):
        await pilot.press("x")
        assert app.draft.bind == {"data": (id_of(3),)}
        await pilot.press("down", "down", "delete")
        assert app.draft.bind == {}

    show(talk, draft=with_role(EMPTY, "data", [id_of(1), id_of(3)]))


def test_a_missing_chosen_disk_stays_in_the_draft_and_is_shown_as_gone(show):
    async def talk(pilot, app):
        app.say(DisksSeen(listed([disk for disk in fleet() if disk.id != id_of(3)])))
        await until(pilot, lambda: len(app.disks.disks) == 7)
        assert app.draft.bind == {"data": (id_of(1), id_of(3))}
        assert table(app).row_keys[-1] == id_of(3)
        words = [str(cell) for cell in table(app).rows.cells(id_of(3))]
        assert f"gone: {id_of(3)}" in words
        assert table(app).rows.state(id_of(3)) == "alert"
        await pilot.press("end", "space", "r")
        await pilot.pause()
        assert "cannot be selected" in said(app)
        await pilot.press("x")
        assert app.draft.bind == {"data": (id_of(1),)}
        await pilot.pause()
        assert id_of(3) not in table(app).row_keys

    show(talk, draft=with_role(EMPTY, "data", [id_of(1), id_of(3)]))


def test_a_disappearing_disk_loses_its_selection(show):
    async def talk(pilot, app):
        await pilot.press("space", "down", "space")
        app.say(DisksSeen(listed(fleet()[1:])))
        await until(pilot, lambda: id_of(1) not in table(app).row_keys)
        await pilot.pause()
        assert table(app).selected == {id_of(3)}
        await pilot.press("r", "enter")
        assert app.draft.bind == {"data": (id_of(3),)}

    show(talk)


def test_typing_filters_and_escape_shows_all_again_with_the_selection_kept(show):
    async def talk(pilot, app):
        await pilot.press("space", "slash", *"sas")
        assert list(table(app).row_keys) == ["ZC1A2B3C"]
        await pilot.press("enter", "space")
        await pilot.press("escape")
        assert len(table(app).row_keys) == 8
        assert table(app).selected == {id_of(1), "ZC1A2B3C"}
        await pilot.press("slash", *"zzz")
        assert "No disk fits the filter: zzz" in table(app).empty
        await pilot.press("escape")
        assert table(app).has_focus

    show(talk)


def test_details_open_as_their_own_pane_on_a_small_terminal(show):
    async def talk(pilot, app):
        pane = app.screen.query_one("#disk-detail")
        assert not pane.display
        await pilot.press("enter")
        assert pane.display
        assert not app.screen.query_one("#disk-list").display
        await pilot.press("tab")
        assert not pane.display
        await pilot.press("tab")
        assert pane.display
        await pilot.press("escape")
        assert not pane.display
        assert table(app).has_focus

    show(talk)


def test_details_stand_beside_the_table_on_a_large_terminal(show):
    async def talk(pilot, app):
        assert app.screen.query_one("#disk-detail").display
        await pilot.press("tab")
        assert not table(app).has_focus
        await pilot.press("tab")
        assert table(app).has_focus

    show(talk, size=LARGE)


def test_a_thousand_disks_are_filtered_and_sorted(show):
    disks = [made.disk(n, id=f"S{n:04}", serial=f"S{n:04}", name=f"nvme{n}n1", wwid=f"eui.{n:016x}") for n in range(1000)]

    async def talk(pilot, app):
        await pilot.press("end", "a")
        assert len(table(app).selected) == 1000
        await pilot.press("slash", *"s099")
        assert len(table(app).row_keys) == 10

    show(talk, disks)


def test_strings_of_disks_are_never_markup(show):
    odd = made.disk(
        4, id=made.HOSTILE, serial=made.HOSTILE, model="[bold]\x9b2J\x7f", reasons=(Reason("x", "[red]bad[/]"),)
    )

    async def talk(pilot, app):
        await pilot.press("space", "enter", "tab", "slash", "left_square_bracket", "enter")
        await pilot.pause()
        assert "[red]bad[/]" in said(app)

    show(talk, [odd], draft=with_role(EMPTY, "data", ["[gone]"]))


# How old it is.


def head(app) -> str:
    return str(app.screen.query_one("Head").render()).rstrip()


def test_the_age_of_the_list_is_shown_and_marked_when_stale(show, stage):
    async def talk(pilot, app):
        app.say(DisksSeen(msgspec.structs.replace(listed(fleet()), age_s=2.0, again_s=30.0)))
        await until(pilot, lambda: head(app).endswith("disks seen 2 s ago"))
        for now_s, words in (
            (7.5, "disks seen 9 s ago"),
            (57.0, "disks seen 59 s ago"),
            (58.0, "! disks last seen 1 min ago: stale"),
            (7200.0, "! disks last seen 2 h ago: stale"),
        ):
            stage.now_s = now_s
            await until(pilot, lambda words=words: head(app).endswith(words))
        app.say(DisksSeen(listed(fleet())))
        await until(pilot, lambda: head(app).endswith("disks seen 0 s ago"))

    show(talk)


def test_the_age_goes_on_while_the_engine_is_lost(show, stage):
    async def talk(pilot, app):
        app.link._connect = gone
        app.link._client.close()
        await until(pilot, lambda: app.link_state.problem is not None)
        stage.now_s = 89.0
        await until(pilot, lambda: head(app).endswith("disks seen 1 min ago"))
        stage.now_s = 90.0
        await until(pilot, lambda: head(app).endswith("stale"))

    def gone():
        raise fail(ENGINE_LOST, "the ssh connection broke")

    show(talk)


SMART = Smart(SMART_SCHEMA, id_of(1), passed=True, power_on_hours=26_280, spare_percent=98, media_errors=1,
              self_test="Extended: Completed without error at 26100 h")  # fmt: skip


def test_a_disk_is_asked_for_its_smart_data_once_and_only_when_the_cursor_rests_on_it(show, stage):
    stage.answers(smart={"result": SMART})

    def asked():
        return [one["params"]["disk"] for one in stage.requests("smart")]

    async def talk(pilot, app):
        await until(pilot, lambda: "26,280 h (3.0 years)" in words(app))
        await pilot.press("down", "down", "down", "up")
        await until(pilot, lambda: id_of(3) in asked())
        await pilot.press("home")
        assert "1 uncorrected !" in words(app)
        await pilot.pause(0.8)
        assert len(asked()) == len(set(asked()))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: asked().count(id_of(1)) == 2)

    show(talk, size=LARGE)


def test_a_disk_is_not_asked_for_its_smart_data_while_nobody_looks_or_a_run_goes_on(show, stage):
    async def talk(pilot, app):
        await pilot.pause(0.8)
        assert not stage.requests("smart"), "the details are hidden"
        app.run_words = "run x"
        await pilot.press("enter")
        await pilot.pause(0.8)
        assert not stage.requests("smart")
        app.run_words = ""
        await pilot.press("escape", "enter")
        await until(pilot, lambda: stage.requests("smart"))

    show(talk)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_age_draws_one_line_and_no_more(show, stage, size):
    async def talk(pilot, app):
        if size == LARGE:
            await until(pilot, lambda: stage.requests("smart"))
        await pilot.pause(0.3)
        drawn, send = [], type(app)._display
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(app), "_display", lambda self, screen, what: (drawn.append(what), send(self, screen, what)))
            stage.now_s = 5.0
            await until(pilot, lambda: head(app).endswith("5 s ago"))
        assert {line for update in drawn for line, *_ in update.spans} == {0}

    show(talk, size=size)


def test_the_refresh_key_looks_at_the_disks_and_shows_progress(show, stage):
    async def talk(pilot, app):
        stage.now_s = 20.0
        answered = asyncio.Event()
        call, asked = app.link.call, []

        async def slow(method, *rest):
            if method != "disks":
                return await call(method, *rest)
            asked.append(method)
            await answered.wait()
            return msgspec.structs.replace(listed(fleet()[:3]), at="2026-11-23T21:24:12+00:00")

        app.link.call = slow
        await pilot.press("ctrl+r", "ctrl+r")
        await until(pilot, lambda: head(app).endswith("disks seen 20 s ago, looking …"))
        answered.set()
        await until(pilot, lambda: len(table(app).row_keys) == 3)
        await until(pilot, lambda: head(app).endswith("disks seen 0 s ago"))
        assert asked == ["disks"]
        app.link.call = call

    show(talk)


def test_a_failed_look_shows_its_reason_and_can_be_repeated(show, stage):
    async def talk(pilot, app):
        for _ in range(2):
            app.notices.clear()
            await pilot.press("ctrl+r")
            await until(pilot, lambda: "sysfs cannot be read" in said(app))

    stage.answers(disks={"failure": [Problem("bug", "sysfs cannot be read")]})
    show(talk)


def test_the_refresh_key_reconnects_without_a_connection(show, stage):
    async def talk(pilot, app):
        tried = []
        app.action_reconnect = lambda: tried.append(1)
        app.link_state = LinkState(problem=Problem("engine-lost", "gone"))
        await pilot.press("ctrl+r")
        assert tried == [1]

    show(talk)


def test_the_key_is_in_the_help_and_in_the_palette(show):
    async def talk(pilot, app):
        found = [active.binding for active in app.screen.active_bindings.values() if active.binding.id == "disks.refresh"]
        assert [one.key for one in found] == ["ctrl+r"]
        assert "ctrl+r" in DiskTable.HELP
        hits = [hit async for hit in Everything(app.screen).discover()]
        assert any("Look at every disk" in hit.help for hit in hits)

    show(talk)


def test_details_follow_the_list_and_show_the_remedies(show):
    async def talk(pilot, app):
        await until(pilot, lambda: "Free: nothing was found" in words(app))
        app.say(DisksSeen(listed([made.disk(1, reasons=(Reason("filesystem", "ext4", "wipefs -a /dev/nvme1n1"),))])))
        await until(pilot, lambda: "wipefs" in words(app))
        mounted = (Reason("mounted", "mounted on /a", "umount /a"), Reason("partitions", "has 1 partition"))
        app.say(DisksSeen(listed([made.disk(1, reasons=mounted)])))
        await until(pilot, lambda: "umount /a" in words(app))
        assert "wipefs" not in words(app)
        assert words(app).count("→") == 1

    show(talk, size=LARGE)


def test_selecting_a_used_disk_shows_its_first_remedy(show):
    reasons = (Reason("holder", "/dev/md0 stands on it"), Reason("mounted", "mounted on /a", "umount /a"))
    root = (Reason("mounted", "mounted on /", "umount /"), SYSTEM)

    async def talk(pilot, app):
        await pilot.press("space")
        await until(pilot, lambda: "umount /a" in said(app))
        await pilot.press("home", "down", "space")
        await until(pilot, lambda: "it cannot be freed" in said(app))
        assert "umount /\n" not in said(app) + "\n"

    show(talk, [made.disk(1, reasons=reasons), made.disk(2, reasons=root)])


CHOSEN = with_role(with_role(EMPTY, "data", [id_of(1), id_of(3)]), "journal", ["S-GONE-77"])


def test_disks_on_a_small_terminal_look_like_this(show):
    async def talk(pilot, app):
        await pilot.press("down", "down", "down", "space")
        await pilot.pause()
        await same_picture(pilot, "disks-80")
        await pilot.press("up", "up", "up", "enter")
        await pilot.pause()
        await same_picture(pilot, "disks-80-details")

    show(talk, draft=CHOSEN)


def test_disks_on_a_large_terminal_look_like_this(show, stage):
    stage.answers(smart={"result": SMART})

    async def talk(pilot, app):
        await same_picture(pilot, "disks-200")
        await pilot.press("down", "down", "down", "space", "r")
        app.screen.query_one(Input).cursor_blink = False
        await pilot.press("home", "end")
        await pilot.pause()
        await same_picture(pilot, "disks-200-role")

    show(talk, size=LARGE, draft=CHOSEN)
