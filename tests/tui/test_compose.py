"""The screen Compose, driven by keys and mouse over an engine that describes and previews as the real one does."""

from __future__ import annotations

import json
from asyncio import Future
from pathlib import Path

import pytest
from compose_pilot import at_line, at_option, drawn, lines, opened, previewed, typed
from made_compose import BOUND, DISKS, DOCUMENT, HOSTILE, IDS
from msgspec import structs
from pilot import LARGE, SMALL, drive, until

from raidtui.engine.compose.reading import read_document
from raidtui.front.kept import keep, kept_path, kept_scenarios
from raidtui.model.disk import Reason
from raidtui.tui.compose.begin_from import BeginFrom
from raidtui.tui.draft import Draft


def test_from_an_empty_start_by_keys_alone_to_a_file_that_is_a_valid_scenario(shop, tmp_path):
    app = shop.app()

    async def talk(pilot):
        screen = await opened(pilot)
        await pilot.press("r", "enter", "r", "enter")
        assert list(app.draft.document["roles"]) == ["data", "journal"]
        await pilot.press("l")
        await typed(pilot, "raid5")
        await pilot.press("enter")
        await at_option(pilot, screen, "journal")
        await pilot.press("enter", "home", "down", "enter")
        assert app.draft.document["layouts"]["raid5"]["md"] == {"level": "raid5", "on": "@data", "journal": "@journal"}
        await pilot.press("l")
        await typed(pilot, "raid10")
        await pilot.press("enter")
        await pilot.press("w", "enter", "w", "down", "down", "enter")
        assert len(app.draft.document["workloads"]) == 2
        await pilot.press("s", "enter")
        await until(pilot, lambda: (tmp_path / "my-layouts.json").exists())
        await until(pilot, lambda: not app.history.unsaved)

    drive(app, talk)
    scenario = read_document((tmp_path / "my-layouts.json").read_text()).scenario
    assert list(scenario.layouts) == ["raid5", "raid10"]
    assert json.loads((tmp_path / "my-layouts.json").read_text()) == app.draft.document


def test_typed_text_is_checked_and_previewed_before_it_is_applied(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await at_option(pilot, screen, "chunk")
        await pilot.press("enter")
        await typed(pilot, "128")
        assert "such as" in screen.query_one("#wrong").render().plain
        await typed(pilot, "KiB")
        assert screen.query_one("#wrong").render().plain == ""
        assert app.draft == BOUND, "nothing is taken yet"
        await until(pilot, lambda: "chunk 128KiB" in drawn(screen))
        await pilot.press("escape")
        await until(pilot, lambda: "chunk 64KiB" in drawn(screen))
        assert app.draft == BOUND
        await pilot.press("enter")
        await typed(pilot, "256KiB")
        await pilot.press("enter")
        assert app.draft.document["layouts"]["raid5"]["md"]["chunk"] == "256KiB"
        assert screen.query_one("#form").has_focus

    drive(app, talk, LARGE)


def test_fast_typing_requests_one_preview(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await at_option(pilot, screen, "chunk")
        await pilot.press("enter")
        await previewed(pilot, screen)
        before = len(shop.asked("preview"))
        await pilot.press("1", "0", "2", "4", "K", "i", "B")
        await pilot.press("enter")
        await until(pilot, lambda: "chunk 1024KiB" in drawn(screen))
        assert len(shop.asked("preview")) - before < 7
        assert '"1024KiB"' in shop.asked("preview")[-1]["document"]

    drive(app, talk, LARGE)


def test_an_invalid_text_does_not_change_the_option(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await at_option(pilot, screen, "chunk")
        await pilot.press("enter", "x", "enter")
        assert screen.query_one("#typed").has_focus, "it goes on until it is right or left"
        screen.focus_pane("outline")
        await pilot.pause()
        assert app.draft == BOUND

    drive(app, talk, LARGE)


def test_form_and_preview_follow_the_cursor(shop):
    async def talk(pilot):
        screen = await opened(pilot)
        seen = []
        for _ in range(8):
            await pilot.press("down")
            seen.append((screen.here, screen.query_one("#form-pane").border_title))
        assert (("roles", "data"), "data · role") in [(path, title.split(" · ")[0] + " · role") for path, title in seen]
        await pilot.press("enter", "down", "down")
        assert screen.query_one("#form").highlighted == 2
        screen.go(("layouts", "raid10"))
        assert screen.query_one("#form").highlighted == 0
        assert screen.query_one("#form").has_focus

    drive(shop.app(BOUND), talk)


def test_choices_skip_refused_ones_and_delete_omits_the_option(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5-journal")
        await at_option(pilot, screen, "level")
        await pilot.press("right")
        md = app.draft.document["layouts"]["raid5-journal"]["md"]
        assert md["level"] == "raid6"
        await previewed(pilot, screen)
        await pilot.press("right")
        assert app.draft.document["layouts"]["raid5-journal"]["md"]["level"] == "raid4", "raid10 takes no journal"
        await pilot.press("left", "left")
        await at_option(pilot, screen, "journal")
        await pilot.press("delete")
        assert "journal" not in app.draft.document["layouts"]["raid5-journal"]["md"]

    drive(app, talk, LARGE)


def test_refused_options_and_choices_show_their_reason_and_cannot_be_chosen(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid10")
        assert any(
            "journal" in line and "refused: raid10 has no write journal" in line
            for line in lines(screen, "#form")
        )
        await at_option(pilot, screen, "journal")
        await pilot.press("enter")
        assert screen.query_one("#form").has_focus
        await at_option(pilot, screen, "consistency")
        await pilot.press("enter")
        refused = [option for option in screen.query_one("#choices").options if option.disabled]
        assert refused
        assert all("refused: " in option.prompt.plain for option in refused)

    drive(app, talk, LARGE)


def test_several_devices_go_into_one_input_with_space(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid10")
        await at_option(pilot, screen, "on")
        await pilot.press("enter", "home", "down", "space")
        assert app.draft.document["layouts"]["raid10"]["md"]["on"] == ["@data", "@journal"]
        await pilot.press("space", "escape")
        assert app.draft.document["layouts"]["raid10"]["md"]["on"] == "@data"

    drive(app, talk, LARGE)


def test_layers_go_on_top_and_below_and_are_taken_away_one_by_one(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await pilot.press("t")
        await typed(pilot, "raid1 ")
        await pilot.press("enter")
        top = app.draft.document["layouts"]["raid5"]["md"]
        assert (top["level"], top["on"]["md"]["level"]) == ("raid1", "raid5")
        await at_line(pilot, screen, "layouts", "raid5", "md", "on", "md")
        await pilot.press("b")
        await typed(pilot, "raid0")
        await pilot.press("enter")
        assert app.draft.document["layouts"]["raid5"]["md"]["on"]["md"]["on"]["md"] == {"level": "raid0", "on": "@data"}
        await pilot.press("x")
        assert app.draft.document["layouts"]["raid5"]["md"]["on"]["md"]["on"] == "@data"
        await at_line(pilot, screen, "layouts", "raid5")
        await pilot.press("x", "enter")
        assert app.draft == BOUND

    drive(app, talk, LARGE)


def test_a_layer_can_be_chosen_as_an_input(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid10")
        await at_option(pilot, screen, "on")
        await pilot.press("enter", "end", "up", "enter")
        await typed(pilot, "raid0")
        await pilot.press("enter")
        assert app.draft.document["layouts"]["raid10"]["md"]["on"] == {"md": {"level": "raid0", "on": "@data"}}

    drive(app, talk, LARGE)


def test_entries_are_copied_renamed_moved_and_removed(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await pilot.press("d")
        assert list(app.draft.document["layouts"])[:2] == ["raid5", "raid5-2"]
        assert screen.query_one("#form").has_focus
        await pilot.press("shift+down")
        assert list(app.draft.document["layouts"])[2] == "raid5-2"
        await pilot.press("shift+up")
        assert list(app.draft.document["layouts"])[1] == "raid5-2"
        await pilot.press("R")
        await pilot.press("ctrl+u")
        await typed(pilot, "wide")
        await pilot.press("enter")
        assert list(app.draft.document["layouts"])[1] == "wide"
        await pilot.press("x")
        assert "wide" not in app.draft.document["layouts"]
        await at_line(pilot, screen, "roles", "data")
        await pilot.press("R", "ctrl+u")
        await typed(pilot, "fast")
        await pilot.press("enter")
        assert app.draft.document["layouts"]["raid5"]["md"]["on"] == "@fast"
        assert app.draft.bind["fast"] == IDS[:4]

    drive(app, talk, LARGE)


def test_undo_and_redo_name_the_change(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await pilot.press("d", "u")
        assert app.draft == BOUND
        await until(pilot, lambda: any("undone: duplicate raid5" in str(toast.render()) for toast in screen.query("Toast")))
        await pilot.press("ctrl+y")
        assert "raid5-2" in app.draft.document["layouts"]
        await pilot.press("ctrl+z", "U", "u")
        assert app.draft == BOUND

    drive(app, talk, LARGE)


def test_a_problem_leads_to_the_option_that_it_is_about(shop):
    wrong = json.loads(json.dumps(DOCUMENT))
    wrong["layouts"]["raid5"]["md"]["chunk"] = "3KiB"
    app = shop.app(Draft(wrong, BOUND.bind))

    async def talk(pilot):
        screen = await opened(pilot)
        assert any("chunk" in line for line in lines(screen, "#problems"))
        screen.focus_pane("preview")
        await pilot.press("enter", "home", "enter")
        assert screen.here == ("layouts", "raid5")
        assert screen.query_one("#form").row.field.name == "chunk"
        assert screen.query_one("#form").has_focus
        await at_line(pilot, screen)
        await pilot.press("e")
        assert screen.query_one("#form").row.field.name == "chunk"
        await pilot.press("escape")
        assert screen.query_one("#outline").has_focus

    drive(app, talk, LARGE)


def test_a_missing_disk_is_marked_in_its_role_and_in_the_drawing_until_it_is_back(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5-journal")
        shop.disks(DISKS[:4])
        await until(pilot, lambda: any(IDS[4] in line and "missing" in line for line in lines(screen, "#outline")))
        await until(pilot, lambda: "missing" in drawn(screen))
        shop.disks(DISKS)
        await until(pilot, lambda: "missing" not in drawn(screen) and IDS[4] in drawn(screen))
        await at_line(pilot, screen, "bind", "journal", IDS[4])
        await pilot.press("x")
        assert "journal" not in app.draft.bind

    drive(app, talk, LARGE)


def test_the_commands_are_copied_as_a_shell_would_take_them(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await until(pilot, lambda: screen.query_one("#preview").commands)
        await pilot.press("c")
        assert "mdadm" in app.clipboard
        assert app.clipboard.endswith("\n")

    drive(app, talk, LARGE)


def test_a_changed_use_of_a_disk_requests_a_preview_and_a_changed_temperature_does_not(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await previewed(pilot, screen)
        before = len(shop.asked("preview"))
        first = DISKS[0]
        seen = app.disks_seen
        shop.disks((structs.replace(first, temperature_c=71.0), *DISKS[1:]))
        await until(pilot, lambda: app.disks_seen is not seen and app.disks.disks[0].temperature_c == 71.0)
        await pilot.pause(0.4)
        assert len(shop.asked("preview")) == before
        shop.disks((structs.replace(first, reasons=(Reason("mounted", "mounted on /srv"),)), *DISKS[1:]))
        await until(pilot, lambda: len(shop.asked("preview")) == before + 1)
        await until(pilot, lambda: any("not free: mounted on /srv" in line for line in lines(screen, "#outline")))
        assert str(screen.query_one("Head").render()).rstrip().endswith("disks seen 0 s ago")

    drive(app, talk, LARGE)


def test_the_form_of_a_role_has_the_options_of_its_disks(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "roles", "journal")
        await at_option(pilot, screen, "min_size")
        await pilot.press("enter")
        await typed(pilot, "1TB")
        await pilot.press("down")
        assert app.draft.document["roles"]["journal"]["where"] == {"min_size": "1TB"}
        assert screen.query_one("#form").row.field.name == "max_size"
        await at_option(pilot, screen, "rotational")
        await pilot.press("space")
        assert app.draft.document["roles"]["journal"]["where"]["rotational"] is True

    drive(app, talk, SMALL)


def test_one_pane_at_a_time_on_a_small_terminal_and_all_on_a_large_one(shop):
    async def talk(pilot):
        screen = await opened(pilot)
        shown = []
        for _ in range(3):
            shown.append([pane.id for pane in screen.query("#compose-panes > .pane") if pane.display])
            await pilot.press("tab")
        assert shown == [["outline-pane"], ["form-pane"], ["preview"]]
        await pilot.press("shift+tab")
        assert screen.pane == "preview"
        await pilot.resize_terminal(*LARGE)
        await pilot.pause()
        assert all(pane.display for pane in screen.query("#compose-panes > .pane"))

    drive(shop.app(BOUND), talk, SMALL)


def test_a_shipped_scenario_becomes_the_draft(shop):
    app = shop.app()

    async def talk(pilot):
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: type(app.screen).__name__ == "BeginFrom")
        await typed(pilot, "quick")
        await pilot.press("enter")
        await until(pilot, lambda: app.draft.document["name"] == "quick")
        assert not app.history.unsaved

    drive(app, talk)


def test_a_scenario_of_the_library_is_deleted_after_a_question_and_comes_back(shop):
    for name in ("old", "other"):
        keep(kept_path(name), {**DOCUMENT, "name": name}, {"data": ("S1",)})
    app = shop.app()

    def kept():
        return sorted(one.name for one in kept_scenarios())

    async def talk(pilot):
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, BeginFrom))
        dialog = app.screen
        await typed(pilot, "oldd")
        await pilot.press("left", "delete")
        assert dialog.query_one("#search").value == "old", "delete is the text's own while it has a character to delete"
        await pilot.press("delete", "enter")
        await until(pilot, lambda: app.screen is dialog)
        assert kept() == ["old", "other"], "no is the default"
        await pilot.press("delete", "down", "enter")
        await until(pilot, lambda: kept() == ["other"])
        assert not any(line.startswith("old ") for line in lines(dialog, "#entries"))
        await pilot.press("ctrl+z")
        assert kept() == ["old", "other"]
        assert any(line.startswith("old ") for line in lines(dialog, "#entries"))
        await pilot.press("ctrl+z")
        await pilot.press("ctrl+u", *"quick", "delete")
        assert app.screen is dialog, "shipped scenarios stay"

    drive(app, talk)


def test_a_scenario_file_is_opened_and_another_file_is_refused(shop, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps({**DOCUMENT, "name": "mine"}))
    (tmp_path / "bad.json").write_text('{"schema": "raidtui.scenario/1", "layouts": []}')
    app = shop.app()

    async def talk(pilot):
        screen = await opened(pilot)
        await pilot.press("o")
        await typed(pilot, "bad.json")
        await pilot.press("enter")
        await until(pilot, lambda: any("'layouts' is not" in str(toast.render()) for toast in screen.query("Toast")))
        await pilot.press("o")
        await typed(pilot, "mine.json")
        await pilot.press("enter")
        await until(pilot, lambda: app.draft.document["name"] == "mine")

    drive(app, talk)


def test_replacing_a_file_needs_confirmation(shop, tmp_path):
    target = tmp_path / "write-hole.json"
    target.write_text("precious")
    app = shop.app(BOUND)

    async def talk(pilot):
        await opened(pilot)
        await pilot.press("s", "enter")
        await until(pilot, lambda: type(app.screen).__name__ == "Pick")
        await pilot.press("enter")
        await pilot.pause()
        assert target.read_text() == "precious"
        await pilot.press("ctrl+s", "enter")
        await until(pilot, lambda: type(app.screen).__name__ == "Pick")
        await pilot.press("down", "enter")
        await until(pilot, lambda: target.read_text() != "precious")

    drive(app, talk)


def test_unsaved_changes_need_confirmation_before_they_are_lost(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        await pilot.press("x", "n")
        await until(pilot, lambda: type(app.screen).__name__ == "BeginFrom")
        await pilot.press("enter")
        await until(
            pilot, lambda: len(app.screen.query("#entries")) and "save it first" in lines(app.screen, "#entries")[0]
        )
        await pilot.press("escape")
        await pilot.pause()
        assert list(app.draft.document["layouts"]) == ["raid5-journal", "raid10"]
        await pilot.press("q")
        await until(pilot, lambda: type(app.screen).__name__ == "Pick")
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.return_code is not None or not app.is_running)

    drive(app, talk)


def test_quitting_without_changes_asks_nothing(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        await opened(pilot)
        await pilot.press("q")
        await until(pilot, lambda: app.return_code is not None or not app.is_running)

    drive(app, talk)


@pytest.mark.parametrize(("key", "mode"), [("p", "plan"), ("g", "disks")])
def test_keys_lead_to_plan_and_disks(shop, key, mode):
    async def talk(pilot):
        await opened(pilot)
        await pilot.press(key)
        await until(pilot, lambda: pilot.app.current_mode == mode)

    drive(shop.app(BOUND), talk)


def test_the_mouse_does_what_the_keys_do(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        number = [line.path for line in screen._lines].index(("layouts", "raid10"))
        await pilot.click("#outline", offset=(6, number))
        assert screen.here == ("layouts", "raid10")
        row = next(n for n, row in enumerate(screen.query_one("#form")._rows) if row.field.name == "level")
        await pilot.click("#form", offset=(6, row))
        await pilot.pause()
        await pilot.click("#choices", offset=(4, 4))
        await until(pilot, lambda: app.draft.document["layouts"]["raid10"]["md"]["level"] == "raid6")

    drive(app, talk, LARGE)


def test_hostile_names_are_shown_harmlessly(shop):
    document = {**DOCUMENT, "title": HOSTILE, "layouts": {HOSTILE: {"md": {"level": "[red]", "on": HOSTILE}}, "x": 5}}
    gone = Draft(document, {"data": (HOSTILE, "[bold]x")})

    async def talk(pilot):
        screen = await opened(pilot)
        for _ in range(25):
            await pilot.press("down")
        shown = "\n".join([*lines(screen, "#outline"), *lines(screen, "#form"), drawn(screen)])
        assert "\x1b" not in shown
        assert any("[bold]x" in line for line in lines(screen, "#outline"))

    drive(shop.app(gone), talk, LARGE)


def test_without_an_engine_the_draft_can_still_be_seen_changed_and_saved(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        app.link.close()
        await pilot.press("d")
        await until(pilot, lambda: screen.lost)
        assert "raid5-2" in app.draft.document["layouts"]
        assert "engine" in screen.query_one("#said").render().plain
        await pilot.press("s", "enter")
        await until(pilot, lambda: Path("write-hole.json").exists())

    drive(app, talk, LARGE)


def test_adding_before_the_engine_sent_its_kinds_shows_a_message(shop):
    app = shop.app(BOUND)
    app.link.call = lambda method, params, result: Future()

    async def talk(pilot):
        await pilot.press("2")
        screen = app.screen
        await until(pilot, lambda: any("raid5-journal" in line for line in lines(screen, "#outline")))
        await at_line(pilot, screen, "layouts", "raid5")
        for key in "lwtb":
            await pilot.press(key)
            assert app.screen is screen
            assert "Waiting for the server" in [each.message for each in app._notifications][-1]
            app.clear_notifications()

    drive(app, talk, LARGE)
