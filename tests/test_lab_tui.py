"""The screens against a real server: from an empty start to an exported comparison, with keys, and what comes between."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from lab_harness import start_lab
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.front.plan import lines_to_type
from raidtui.lab import life
from raidtui.lab.control import Lab
from raidtui.tui.app import RaidtuiApp
from raidtui.tui.plan.dialogs import ConsentDialog

pytestmark = pytest.mark.lab

PATIENCE_S = 240.0
"""A scan takes seconds on an emulated machine, and many of them when it is busy."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab; it and all that the screens keep are in a folder of the test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("TERM", "xterm-256color")
        lab = start_lab("tui", "6x1100M")
        try:
            yield lab
        finally:
            lab.down()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def application(bench: Lab, folder: Path) -> RaidtuiApp:
    where = place(f"lab:{bench.name}")
    return RaidtuiApp(lambda: EngineClient(where), place=where.name, on="lab", folder=folder)


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


@pytest.mark.slow
def test_composed_consented_run_watched_compared_and_exported_with_keys_alone(bench: Lab, folder: Path) -> None:
    app = application(bench, folder)
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
    # The same file, headless, on the same disks: the same plan.
    bench.put_file(folder / "my-layouts.json", "/root/my-layouts.json")
    bind = [word for role, ids in seen["bind"].items() for word in ("--bind", f"{role}={','.join(ids)}")]
    for words, name in (((), "digest in full"), (("--quick",), "digest")):
        said = bench.raidtui("plan", "/root/my-layouts.json", *bind, *words, "--json")
        assert json.loads(said.text)["digest"] == seen[name]


@pytest.mark.slow
def test_a_killed_terminal_leaves_the_run_and_another_one_comes_back_to_it(bench: Lab, folder: Path) -> None:
    serials = sorted(bench.serials)[:4]
    chosen = ",".join(serials)
    scenario = json.loads((Path(__file__).parents[1] / "scenarios/quick.json").read_text())
    scenario["workloads"]["seq-write-1m-q8"]["fio"]["size"] = "256MiB"
    (folder / "small.json").write_text(json.dumps(scenario))
    bench.put_file(folder / "small.json", "/root/small.json")
    words = ["replay", "/root/small.json", "--quick", "--layout", "raid10", "--layout", "raid5", "--detach"]
    started = bench.raidtui(*words, "--bind", f"data={chosen}", "--erase", chosen, timeout_s=PATIENCE_S)
    assert started.code == 0, started
    run = started.text.strip()
    killed_while_drawing(bench, run)
    ends: list[Any] = []

    async def attached(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.link_state.up, "the engine")
        app.follow_run(run)
        await until(pilot, lambda: app.desk.story.view.finished is not None, "its end")
        ends.append(app.desk.story.view)

    async def opened(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.link_state.up, "the engine")
        app.open_run(run)
        await until(pilot, lambda: app.desk.story.view.finished is not None, "its end")
        ends.append(app.desk.story.view)

    app = application(bench, folder)
    drive(app, attached, (200, 60))
    app = application(bench, folder)
    drive(app, opened)
    assert ends[0].finished.exit == 0
    assert ends[0] == ends[1], "who came late has seen the same as who looks at it afterwards"


def killed_while_drawing(bench: Lab, run: str) -> None:
    """The screens in a terminal of their own, killed as soon as they show the run."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-c", _SCREENS, run, *place(f"lab:{bench.name}").argv], dict(os.environ))
    seen = read_until(terminal, b"%")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    assert b"%" in seen


def test_the_demonstration_opens_the_screens_on_its_lab(bench: Lab) -> None:
    """As `make demo` does on a terminal; q ends it, and its lab goes with it."""
    script = Path(__file__).parents[1] / "scripts/demo.py"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, str(script)], dict(os.environ))
    try:
        seen = read_until(terminal, b"6 free")
        os.write(terminal, b"q")
        said = read_until(terminal, b"lab demo is gone")
    finally:
        life.down("demo")
    assert b"6 free" in seen, seen[-2000:]
    assert b"lab demo is gone" in said, said[-2000:]
    # Not before: a terminal that goes away would end it.
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


def read_until(terminal: int, wanted: bytes) -> bytes:
    """What is written to a terminal until this is in it, or until patience or the program ends."""
    seen = b""
    end = time.monotonic() + PATIENCE_S
    while wanted not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 1.0)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen


_SCREENS = """
import os, sys
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import Place
from raidtui.tui.app import RaidtuiApp
where = Place("lab", tuple(sys.argv[2:]), dict(os.environ))
RaidtuiApp(lambda: EngineClient(where), place="lab", begin=lambda app: app.follow_run(sys.argv[1])).run()
"""


def test_a_disk_that_is_pulled_and_put_back_is_seen_at_once(bench: Lab, folder: Path) -> None:
    app = application(bench, folder)
    serial = sorted(bench.serials)[-1]

    def ids() -> set[str]:
        return {disk.id for disk in app.disks.disks} if app.disks else set()

    async def talk(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: serial in ids(), "disks")
        await give_role(pilot, app, "spare", [serial])
        await asyncio.to_thread(bench.unplug, serial)
        await until(pilot, lambda: serial not in ids(), "its absence")
        assert serial in app.screen.query_one("DiskTable").rows.keys, "chosen for a role, it is shown as gone"
        await pilot.press("2")
        await until(pilot, lambda: app.screen.preview is not None, "the preview")
        await asyncio.to_thread(bench.plug, serial)
        await until(pilot, lambda: serial in ids(), "its return")

    drive(app, talk)
