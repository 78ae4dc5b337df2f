"""The screen Plan: what it asks, shows and copies, and what it takes to start."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path

import msgspec
import pytest
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made
from rich.console import Console
from textual.widgets import Button, Input

from raidtui.front.plan import lines_to_type
from raidtui.model.disk import Look, Reason
from raidtui.model.plan import Kept, Options, Step
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.protocol import DiskList
from raidtui.tui.draft import EMPTY, with_role
from raidtui.tui.plan.panes import (
    StepTree,
    changed_disk,
    commands_text,
    findings,
    groups,
    missing,
    overview,
    remedy_of,
    request_of,
)
from raidtui.tui.shared import DisksSeen

ONE, TWO = "S64GNE0R100001", "S64GNE0R100002"
DRAFT = with_role(EMPTY._replace(document=made.SCENARIO), "data", [ONE, TWO])
BUSY = Problem("not-free.mounted", f"disk {TWO} is not free: mounted on /srv", TWO, "Unmount it.", 3)
WRONG = Problem("members", "raid1 wants at least 2 members", "$.layouts.raid1.md.on", "Give the role more disks.", 2)


def listed(*disks) -> DiskList:
    return DiskList("raidtui.disks/1", "stor1", "boot", disks)


BOTH = listed(made.disk(1, diskseq=1), made.disk(2, diskseq=2))


@pytest.fixture
def show(stage):
    """Run a conversation with the screen that shows this plan of this draft."""

    def run(talk, plan=None, size=SMALL, draft=DRAFT, disks=BOTH, start=None):
        stage.answers(
            watch_disks={"events": [disks], "until": "never", "then": []},
            plan=plan or {"result": made.plan()},
            start=start or {"result": {"run": made.RUN}},
        )
        app = stage.app()
        app.notices, app.followed, app.copied = [], [], []
        app.notify = lambda words, **options: app.notices.append(words)
        app.follow_run = app.followed.append
        app.copy_to_clipboard = app.copied.append

        async def whole(pilot):
            await until(pilot, lambda: app.disks is not None)
            app.change_draft(draft, "a test")
            await pilot.press("3")
            await until(pilot, lambda: "planning" not in words(app))
            await talk(pilot, app)

        drive(app, whole, size)

    return run


def words(app) -> str:
    """All of the overview, as text."""
    plan = next(screen for screen in app.screen_stack if type(screen).__name__ == "PlanScreen")
    out = io.StringIO()
    Console(file=out, width=100).print(plan.query_one("#plan-words").content)
    return out.getvalue()


def dialog(app) -> str:
    return type(app.screen).__name__


# What is asked, and what is made of the answer.


def test_the_engine_is_asked_for_the_draft_as_it_is(show, stage):
    async def talk(pilot, app):
        assert "tiny: One disk against a mirror" in words(app)

    show(talk)
    (asked,) = stage.requests("plan")
    assert json.loads(asked["params"]["document"]) == DRAFT.document
    assert asked["params"]["bind"] == {"data": [ONE, TWO]}


def test_options_that_no_longer_fit_the_draft_are_left_out():
    options = Options(True, ("raid1", "raid9"), ("gone",))
    request = request_of(DRAFT._replace(bind={**DRAFT.bind, "nobody": ("S9",), "data": (ONE,)}), options)
    assert request.options == Options(True, ("raid1",), ())
    assert request.bind == {"data": (ONE,)}


def test_hosts_of_a_scenario_are_named_with_a_key(show, stage):
    draft = DRAFT._replace(document={**DRAFT.document, "hosts": {"storage": {}, "clients": {"count": 2}}})

    async def talk(pilot, app):
        await pilot.press("h")
        assert dialog(app) == "AskText"
        await pilot.press(*"root@c1,", "enter")
        await until(pilot, lambda: dialog(app) == "PlanScreen")
        assert stage.requests("plan")[-1]["params"]["hosts"] == {"clients": ["root@c1"]}

    show(talk, draft=draft)
    assert request_of(DRAFT, Options(), {"clients": ("c1",)}).hosts == {}
    assert remedy_of(Problem("hosts-missing", "who", "--host clients")).key == "h"


def test_the_key_for_hosts_is_not_there_without_hosts(show):
    async def talk(pilot, app):
        await pilot.press("h")
        assert dialog(app) == "PlanScreen"

    show(talk)


def test_missing_parts_of_a_draft_are_shown_with_the_key_to_add_them(show, stage):
    async def talk(pilot, app):
        assert "Nothing to plan yet" in words(app)
        await pilot.press("s", "e", "o", "c", "y", "p", "tab")
        assert dialog(app) == "PlanScreen"
        app.change_draft(DRAFT, "whole")
        await until(pilot, lambda: "tiny" in words(app))

    show(talk, draft=EMPTY)
    assert [way.key for _, way in missing(EMPTY)] == ["1", "2", "2"]
    assert missing(DRAFT) == ()


def test_problems_are_complete_and_name_the_key_to_their_remedy(show):
    async def talk(pilot, app):
        for part in ("refused: ", "mounted on /srv", "Unmount it.", "[not-free.mounted]", "layouts.raid1.md.on"):
            assert part in words(app)
        assert not app.screen.query_one("#plan-steps").display
        await pilot.press("s")
        assert dialog(app) == "PlanScreen"

    show(talk, plan={"failure": [BUSY, WRONG]})
    assert [remedy_of(problem).key for problem in (BUSY, WRONG)] == ["1", "2"]
    assert remedy_of(Problem("engine-lost", "lost")).key == "ctrl+r"
    assert remedy_of(Problem("ambiguous-binding", "which", "$.roles.data")).key == "1"


def test_the_overview_shows_costs_disks_and_unknowns(show):
    async def talk(pilot, app):
        told = words(app)
        for part in ("about 30 s", "not known: workloads sync-4k, seq-1m are bounded", "share unknown",
                     "write cache that is on", "ERASED", ONE, "SAMSUNG", "1.7 TiB", "nothing: blank"):  # fmt: skip
            assert part in told
        assert f"raidtui --on stor1 replay tiny.json --bind data={ONE},{TWO} --erase {ONE},{TWO}" in " ".join(told.split())

    show(talk)


def test_findings_on_a_disk_are_never_guessed():
    assert findings(made.disk(1)) == "nothing: blank"
    assert findings(made.disk(1, reasons=(Reason("content", "an ext4 filesystem"),))) == "an ext4 filesystem"
    assert findings(None).startswith("unknown")


def test_a_changed_list_of_disks_requests_a_plan_and_a_changed_temperature_does_not(show, stage):
    async def talk(pilot, app):
        app.say(DisksSeen(listed(made.disk(1, diskseq=1, temperature_c=70.0), made.disk(2, diskseq=2))))
        await pilot.pause(0.1)
        assert len(stage.requests("plan")) == 1
        app.say(DisksSeen(listed(made.disk(1, diskseq=1))))
        await until(pilot, lambda: len(stage.requests("plan")) == 2)
        await pilot.press("1", "3", "p")
        await until(pilot, lambda: len(stage.requests("plan")) == 3)

    show(talk)


def test_a_rehearsal_and_a_choice_of_layouts_are_asked_for_as_the_command_line_does(show, stage):
    def options():
        return stage.requests("plan")[-1]["params"].get("options", {})

    async def talk(pilot, app):
        await pilot.press("e")
        await until(pilot, lambda: options() == {"quick": True})
        await until(pilot, lambda: "planning" not in words(app))
        await pilot.press("o", "down", "space", "ctrl+s")
        await until(pilot, lambda: options() == {"quick": True, "layouts": ["raid1"]})
        await until(pilot, lambda: "planning" not in words(app))
        await pilot.press("o", "space", "down", "enter", "down", "down", "space", "down", "space", "ctrl+s")
        assert dialog(app) == "ChoiceDialog"
        await pilot.press("space", "ctrl+s")
        await until(pilot, lambda: options() == {"workloads": ["seq-1m"]})
        await pilot.press("o", "escape")
        assert dialog(app) == "PlanScreen"

    show(talk)


def test_a_layout_is_built_for_good_and_a_second_key_measures_again(show, stage):
    def options():
        return stage.requests("plan")[-1]["params"].get("options", {})

    async def talk(pilot, app):
        await pilot.press("b")
        await pilot.press(*(["backspace"] * 40), *"raid9", "space", *"tank", "enter")
        assert dialog(app) == "AskText"
        await pilot.press(*(["backspace"] * 40), *"raid1", "space", *"tank", "enter")
        await until(pilot, lambda: options().get("keep") == {"name": "tank", "mount": "/srv/tank"})
        assert options()["layouts"] == ["raid1"]
        await until(pilot, lambda: "planning" not in words(app))
        await pilot.press("e", "b")
        await until(pilot, lambda: options() == {})

    show(talk)


def test_a_plan_that_keeps_shows_what_stays_and_copies_no_teardown():
    lines = {"/etc/fstab": ("UUID=1 /srv/tank xfs nofail 0 0",)}
    steps = (Step("1", "md.create", "Create", "build", "raid1#1", commands=(("mdadm", "--create"),)),
             Step("2", "keep", "Keep", "keep", "raid1#1"),
             Step("3", "md.stop", "Stop", "teardown", "raid1#1", commands=(("mdadm", "--stop"),)))  # fmt: skip
    plan = msgspec.structs.replace(made.plan(), steps=steps, cells=(), kept=Kept("/srv/tank", lines, ("Mind the gap.",)))
    assert [group.title for group in groups(plan)][-1] == "raid1#1: teardown, only if the build fails"
    assert "--create" in commands_text(plan)
    assert "--stop" not in commands_text(plan)
    console = Console(width=80, file=io.StringIO())
    console.print(overview(plan, (), "raidtui build"))
    shown = console.file.getvalue()
    assert all(part in shown for part in ("/srv/tank: it stays", "/etc/fstab", "UUID=1 /srv/tank", "Mind the gap."))
    assert "Cells" not in shown


# Steps.


def test_steps_are_in_order_by_block_and_phase():
    assert [(group.title, [number for number, _ in group.steps]) for group in groups(made.plan())] == [
        ("whole run: prepare", [1]),
        ("raid1#1: build", [2]),
        ("raid1#1: measure", [3, 4]),
        ("raid1#1: teardown", [5]),
    ]


def test_all_commands_are_copied_as_a_shell_would_take_them(show):
    async def talk(pilot, app):
        await pilot.press("c", "y")
        assert app.copied[0] == commands_text(made.plan())
        assert app.copied[1].startswith("raidtui --on stor1 replay tiny.json")

    show(talk)
    lines = commands_text(made.plan()).splitlines()
    assert "mdadm --create /dev/md/rtabcd1234a --level=raid1 --raid-devices=2 disk:1 disk:2" in lines
    assert all(line.startswith(("#", "mdadm ", "fio ")) or not line for line in lines)


def test_the_scenario_is_saved_for_the_command_line(show, stage):
    async def talk(pilot, app):
        await pilot.press("w", "enter")
        await until(pilot, (stage.folder / "tiny.json").exists)
        await pilot.press("ctrl+s", "escape")
        assert dialog(app) == "PlanScreen"

    show(talk)
    saved = json.loads((stage.folder / "tiny.json").read_text())
    assert (saved["name"], saved["layouts"]) == ("tiny", made.SCENARIO["layouts"])


def test_a_plan_is_requested_when_the_engine_is_back(show, stage):
    async def talk(pilot, app):
        app.link.call = lost
        await pilot.press("p")
        await until(pilot, lambda: "the ssh connection broke" in words(app))
        assert "ctrl+r" in words(app)
        del app.link.call
        app.say(DisksSeen(BOTH))
        await until(pilot, lambda: "ERASED" in words(app))

    async def lost(*_):
        raise ProblemError(Problem("engine-lost", "the ssh connection broke"))

    show(talk)


def test_a_step_opens_to_its_exact_commands(show):
    async def talk(pilot, app):
        await pilot.press("tab", "down", "down", "down", "enter")
        await pilot.pause()
        tree = app.screen.query_one(StepTree)
        (command,) = tree.cursor_node.children
        assert str(command.label).startswith("$ mdadm --create /dev/md/rtabcd1234a")
        await pilot.press("right", "left", "j", "k", "h", "l")
        await pilot.press("escape")
        assert not app.screen.query_one("#plan-steps").display

    show(talk)


def test_a_long_plan_is_shown_closed_and_opens_group_by_group(show):
    steps = tuple(step for _ in range(100) for step in made.plan().steps)

    async def talk(pilot, app):
        tree = app.screen.query_one(StepTree)
        assert len(tree.root.children) == 400
        assert not any(node.is_expanded or node.children for node in tree.root.children)
        await pilot.press("tab", "enter")
        await pilot.pause()
        assert len(tree.root.children[0].children) == 1

    show(talk, plan={"result": made.plan(steps=steps)})


# Disks that changed since.


def test_a_disk_of_the_plan_that_is_no_longer_free_or_another_one_is_planned_with_again(show, stage):
    async def talk(pilot, app):
        asked = 1
        for changed in (
            made.disk(2, diskseq=2, reasons=(Reason("mounted", "mounted on /srv"),)),
            made.disk(2, diskseq=2),
            made.disk(2, diskseq=2, size_bytes=1 << 40),
            made.disk(2, diskseq=2, wwid="eui.9"),
            made.disk(2, diskseq=3),
        ):
            app.say(DisksSeen(listed(made.disk(1, diskseq=1), changed)))
            asked += 1
            await until(pilot, lambda asked=asked: len(stage.requests("plan")) == asked)
        await until(pilot, lambda: "planning" not in words(app))

    show(talk)


def test_while_it_is_planned_again_there_is_no_consent(show):
    async def talk(pilot, app):
        async def never(*_):
            await asyncio.Event().wait()

        app.link.call = never
        app.say(DisksSeen(listed(made.disk(1, diskseq=1))))
        await until(pilot, lambda: "planning" in str(app.screen.query_one("#plan-overview").border_title))
        await pilot.press("s")
        assert dialog(app) == "PlanScreen"

    show(talk)


def test_a_plan_on_disks_that_were_not_seen_for_long_cannot_be_started(show, stage):
    async def talk(pilot, app):
        stage.now_s = 3600.0
        await until(pilot, lambda: "nothing can be started" in words(app))
        assert "ERASED" in words(app)
        await pilot.press("s")
        assert dialog(app) == "PlanScreen"
        app.say(DisksSeen(BOTH))
        await until(pilot, lambda: "nothing can be started" not in words(app))
        assert len(stage.requests("plan")) == 1
        await pilot.press("s")
        assert dialog(app) == "ConsentDialog"

    show(talk)


# Consent.


def test_nothing_starts_before_every_line_is_typed(show, stage):
    async def talk(pilot, app):
        await pilot.press("s")
        assert all(not line.value for line in app.screen.query(Input))
        await pilot.press("enter", "enter")
        assert dialog(app) == "ConsentDialog"
        assert "nothing was started" in str(app.screen.query_one(".wrong").content)
        await pilot.press(*"0001", "enter", *"0001", "enter", "ctrl+s")
        assert dialog(app) == "ConsentDialog"
        assert app.screen.query_one("#yes", Button).disabled
        await pilot.press("escape")
        assert dialog(app) == "PlanScreen"
        assert "nothing was started" in app.notices
        assert not app.followed

    show(talk)
    assert not stage.requests("start")


def test_the_shown_plan_is_started_and_followed(show, stage):
    async def talk(pilot, app):
        await pilot.press("s", *"0001", "enter", *"0002")
        assert not app.screen.query_one("#yes", Button).disabled
        await pilot.press("enter")
        await until(pilot, lambda: app.followed)
        assert app.followed == [made.RUN]

    show(talk)
    (asked,) = stage.requests("start")
    plan = made.plan()
    assert (asked["params"]["digest"], asked["params"]["token"]) == (plan.digest, plan.token)
    assert asked["params"]["erase"] == [ONE, TWO]
    assert asked["params"]["plan"] == stage.requests("plan")[0]["params"]


def test_the_name_of_a_pool_that_is_there_is_typed_beside_the_disks(show, stage):
    steps = (*made.plan().steps, Step("s6", "rbd.put", "Make an image in pool vms", "build", takes=("vms",)))

    async def talk(pilot, app):
        assert "Images are made in pool vms, there before the run" in words(app)
        await pilot.press("s", *"0001", "enter", *"0002", "enter", *"vm", "enter")
        assert dialog(app) == "ConsentDialog"
        await pilot.press("s", "enter")
        await until(pilot, lambda: app.followed)

    show(talk, plan={"result": made.plan(steps=steps)})
    (asked,) = stage.requests("start")
    assert (asked["params"]["erase"], asked["params"]["pools"]) == ([ONE, TWO], ["vms"])


def test_the_mouse_alone_gives_no_consent(show, stage):
    async def talk(pilot, app):
        await pilot.press("s")
        await pilot.click("#yes")
        assert dialog(app) == "ConsentDialog"
        await pilot.press("down", "up", "down")
        await pilot.click("#no")
        assert dialog(app) == "PlanScreen"

    show(talk)
    assert not stage.requests("start")


def test_disks_of_other_hosts_are_not_looked_for_among_those_of_the_storage_server(show, stage):
    there = made.print_of(2, id=f"nodes-1:{TWO}")
    there = msgspec.structs.replace(there, host="nodes-1")
    plan = made.plan(binding={"data": (made.print_of(1),), "nodes-1:osd": (there,)}, erases=(ONE, there.id),
                     looks={there.id: Look(131, 1 << 20, 1 << 30)})  # fmt: skip
    assert changed_disk(plan, BOTH) == ""
    assert changed_disk(plan, listed(made.disk(2, diskseq=2))) == f"disk {ONE} is gone"
    out = io.StringIO()
    Console(file=out, width=100).print(overview(plan, BOTH.disks, "raidtui replay x.json"))
    assert out.getvalue().count("nothing: blank") == 2


def test_the_dialog_closes_when_a_disk_of_the_plan_goes(show, stage):
    async def talk(pilot, app):
        await pilot.press("s", *"0001")
        app.say(DisksSeen(listed(made.disk(1, diskseq=1))))
        await until(pilot, lambda: dialog(app) == "PlanScreen")
        assert any(f"disk {TWO} is gone" in notice for notice in app.notices)
        await until(pilot, lambda: len(stage.requests("plan")) == 2)

    show(talk)
    assert not stage.requests("start")


def test_a_disk_that_was_plugged_in_again_is_not_the_one_that_was_planned_with():
    plan = made.plan()
    assert changed_disk(plan, BOTH) == ""
    assert "plugged in again" in changed_disk(plan, listed(made.disk(1, diskseq=9), made.disk(2, diskseq=2)))
    assert "another disk" in changed_disk(plan, listed(made.disk(1, wwid="eui.9"), made.disk(2)))
    busy = made.disk(2, diskseq=2, reasons=(Reason("mounted", "mounted on /srv"),))
    assert "not free any more: mounted on /srv" in changed_disk(plan, listed(made.disk(1, diskseq=1), busy))
    assert "is gone" in changed_disk(plan, None)


def test_a_refused_start_is_told_and_the_plan_is_made_again(show, stage):
    async def talk(pilot, app):
        await pilot.press("s", *"0001", "enter", *"0002", "enter")
        await until(pilot, lambda: "Nothing was started" in words(app) and len(stage.requests("plan")) == 2)
        await until(pilot, lambda: "planning" not in words(app))
        assert "mounted on /srv" in words(app)
        assert "ERASED" in words(app)
        await pilot.press("p")
        await until(pilot, lambda: "Nothing was started" not in words(app))

    show(talk, start={"failure": [BUSY]})


def test_one_code_is_typed_for_more_than_four_disks_alike(show, stage):
    prints = tuple(made.print_of(number) for number in range(1, 8))
    plan = made.plan(binding={"data": prints}, erases=tuple(one.id for one in prints))

    async def talk(pilot, app):
        await pilot.press("s")
        assert len(app.screen.query(Input)) == 1
        await pilot.press(*lines_to_type(plan)[0].expected, "enter")
        await until(pilot, lambda: app.followed)

    show(talk, plan={"result": plan}, disks=listed(*(made.disk(n, diskseq=n) for n in range(1, 8))))
    assert len(stage.requests("start")[0]["params"]["erase"]) == 7


def test_a_plan_that_erases_nothing_asks_with_no_as_the_default(show):
    async def talk(pilot, app):
        await pilot.press("s", "enter")
        assert dialog(app) == "PlanScreen"
        assert not app.followed
        await pilot.press("s")
        await pilot.click("#yes")
        await until(pilot, lambda: app.followed)

    show(talk, plan={"result": made.plan(erases=())})


def test_hostile_names_neither_colour_nor_break_the_screen(show):
    prints = (made.print_of(4, id=made.HOSTILE, serial=made.HOSTILE, model="[bold]\x9b2J"),)
    scenario = {**made.SCENARIO, "name": "[red]x[/]", "title": made.HOSTILE}
    plan = made.plan(binding={"[b]": prints}, erases=(made.HOSTILE,), scenario=scenario, warnings=(made.HOSTILE,))

    async def talk(pilot, app):
        assert "[red]x[/]" in words(app)
        assert "\x1b" not in words(app)
        await pilot.press("s", "escape", "tab", "c", "y")

    show(talk, plan={"result": plan}, disks=listed(made.disk(4, id=made.HOSTILE, diskseq=4)))


# Looks.


def test_a_plan_on_a_small_terminal_looks_like_this(show):
    async def talk(pilot, app):
        await same_picture(pilot, "plan-80")
        await pilot.press("s")
        await until(pilot, lambda: len(app.screen.query(Input)) == 2)
        for line in app.screen.query(Input):
            line.cursor_blink = False
        await pilot.press(*"0001", "enter", *"00")
        await pilot.pause()
        await same_picture(pilot, "plan-80-consent")

    show(talk)


def test_a_plan_on_a_large_terminal_looks_like_this(show):
    async def talk(pilot, app):
        await pilot.press("tab", "down", "down", "down", "enter")
        await pilot.pause()
        await same_picture(pilot, "plan-200")

    show(talk, size=LARGE)


def test_problems_look_like_this(show):
    async def talk(pilot, app):
        await same_picture(pilot, "plan-80-refused")

    show(talk, plan={"failure": [BUSY, WRONG]})
