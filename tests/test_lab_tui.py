"""The screens against a real server: from an empty start to an exported comparison, with keys, and what comes between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from lab_harness import start_lab
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.front.typed_consent import lines_to_type
from raidtui.lab.control import Lab
from raidtui.tui.app import RaidtuiApp
from raidtui.tui.plan.consent_dialog import ConsentDialog

pytestmark = pytest.mark.lab

PATIENCE_S = 240.0
"""A scan takes seconds on an emulated machine, and many of them when it is busy."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Lab]:
    lab = start_lab("tui", "6x1G")
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Lab) -> Path:
    # The lab's own address is in the state folder: it is looked up before that is turned elsewhere.
    where = place(f"lab:{bench.name}")
    monkeypatch.setattr("test_lab_tui.WHERE", where, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    return tmp_path


WHERE: Any = None


def application(folder: Path) -> RaidtuiApp:
    return RaidtuiApp(lambda: EngineClient(WHERE), place=WHERE.name, on="lab", folder=folder)


def drive(app: RaidtuiApp, talk: Any, size: tuple[int, int] = (80, 24)) -> None:
    async def whole() -> None:
        async with app.run_test(size=size) as pilot:
            await talk(pilot)

    asyncio.run(whole())


async def until(pilot: Pilot[Any], holds: Any, what: str) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while not holds():
        assert asyncio.get_running_loop().time() < end, f"it never came to be: {what}"
        await pilot.pause(0.1)
    await pilot.pause()


async def keys(pilot: Pilot[Any], text: str) -> None:
    names = {" ": "space", "-": "minus", ".": "full_stop", "/": "slash", "_": "underscore"}
    await pilot.press(*(names.get(character, character) for character in text))


async def give_role(pilot: Pilot[Any], app: RaidtuiApp, role: str, serials: list[str]) -> None:
    """Select disks with the cursor and space, and give them to a role."""
    table = app.screen.query_one("DiskTable")
    for serial in serials:
        await pilot.press("home")
        for _ in app.disks.disks if app.disks else ():
            if table.cursor_key == serial:
                break
            await pilot.press("down")
        await pilot.press("space")
        assert serial in table.selected
    await pilot.press("r", "ctrl+u")
    await keys(pilot, role)
    await pilot.press("enter")
    await until(pilot, lambda: sorted(app.draft.bind.get(role, ())) == serials, f"role {role}")


def planned(screen: Any, *, quick: bool = False) -> bool:
    return screen._plan is not None and not screen._busy and screen._plan.options.quick == quick


async def consent(pilot: Pilot[Any], app: RaidtuiApp, *, quick: bool) -> None:
    """Go to the plan, and type what it asks for, disk by disk."""
    await pilot.press("3")
    screen = app.screen
    await until(pilot, lambda: planned(screen, quick=quick), "a plan")
    await pilot.press("s")
    await until(pilot, lambda: isinstance(app.screen, ConsentDialog), "the question for consent")
    for line in lines_to_type(screen._plan):
        await keys(pilot, line.expected)
        await pilot.press("enter")
    await until(pilot, lambda: app.current_mode == "run", "the run")


def test_composed_consented_run_watched_compared_and_exported_with_keys_alone(
    bench: Lab, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(folder)
    serials = sorted(bench.serials)
    seen: dict[str, Any] = {}

    async def talk(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.disks is not None, "disks")
        await give_role(pilot, app, "data", serials[:4])
        await give_role(pilot, app, "journal", serials[4:5])
        await pilot.press("2")
        compose = app.screen
        await until(pilot, lambda: compose.kinds is not None, "the kinds of layers")
        await pilot.press("l")
        await keys(pilot, "raid5")
        await pilot.press("enter", "enter", "end", "home")
        form = compose.query_one("#form")
        form.focus()
        form.go(next(key for key in form.keys if key[0][-1] == "journal" and not key[1]))
        await pilot.press("enter", "home", "down", "enter", "escape")
        await pilot.press("l")
        await keys(pilot, "raid10")
        await pilot.press("enter", "w", "enter", "w", "down", "down", "enter")
        await pilot.press("s", "enter")
        await until(pilot, lambda: (folder / "my-layouts.json").exists(), "the scenario file")
        seen["layouts"], seen["bind"] = app.draft.document["layouts"], app.draft.bind
        await pilot.press("3")
        plan = app.screen
        await until(pilot, lambda: planned(plan), "a plan")
        seen["digest in full"] = plan._plan.digest
        await pilot.press("e")
        await until(pilot, lambda: planned(plan, quick=True), "a rehearsal")
        seen["digest"] = plan._plan.digest
        await consent(pilot, app, quick=True)
        await until(pilot, lambda: app.desk.story is not None and app.desk.story.view.finished is not None, "the run's end")
        seen["exit"] = app.desk.story.view.finished.exit
        seen["cells"] = [(cell.layout, cell.valid) for cell in app.desk.story.view.cells]
        await pilot.press("5")
        results = app.screen
        await until(pilot, lambda: results.query_one("LiveTable").cursor_key is not None, "the result in the library")
        await pilot.press("space", "c")
        await pilot.pause(1)
        await pilot.press("e", "enter")
        await until(pilot, lambda: [path for path in folder.iterdir() if path.is_file() and path.name != "my-layouts.json"],
                    "the exported comparison")  # fmt: skip

    drive(app, talk)
    assert seen["layouts"] == {
        "raid5": {"md": {"level": "raid5", "on": "@data", "journal": "@journal"}},
        "raid10": {"md": {"level": "raid10", "on": "@data"}},
    }
    assert seen["exit"] == 0
    assert sorted(seen["cells"]) == [("raid10", True)] * 2 + [("raid5", True)] * 2
    monkeypatch.undo()
    # The same file, headless, on the same disks: the same plan.
    bench.put_file(folder / "my-layouts.json", "/root/my-layouts.json")
    bind = [word for role, ids in seen["bind"].items() for word in ("--bind", f"{role}={','.join(ids)}")]
    for words, name in (((), "digest in full"), (("--quick",), "digest")):
        said = bench.raidtui("plan", "/root/my-layouts.json", *bind, *words, "--json")
        assert json.loads(said.text)["digest"] == seen[name]
