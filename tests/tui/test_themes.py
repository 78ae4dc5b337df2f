"""Themes: each can be read by eyes of all kinds, a broken one is one notice, and plain terminals are drawn on, too."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
import made
from pictures import same_picture
from pilot import drive, until
from textual.color import Color

import raidtui.tui
from raidtui.model.cluster import ClusterList
from raidtui.model.convert import encode
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList, RunList
from raidtui.tui.results.library_pane import LibraryPane
from raidtui.tui.results.view import ResultView
from raidtui.tui.settings import choose, read_themes

NAMES = ("ansi-16", "colour-blind-safe", "high-contrast", "raidtui-dark", "raidtui-light")
SHIPPED = {theme.name: theme for theme in read_themes(Path("/nowhere"))[0]}
TEXTS = ("foreground", "text-muted", "text-disabled", "primary", "secondary", "accent", "warning", "error", "success",
         "text-primary", "text-secondary", "text-accent", "text-warning", "text-error", "text-success",
         "footer-key-foreground")  # fmt: skip
GROUNDS = ("background", "surface", "panel")
PAIRS = (
    *product(TEXTS, GROUNDS),
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("background", "primary"),
    ("background", "error"),
)
OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
NO_CLUSTERS = ClusterList("raidtui.clusters/1", "stor1")
NO_RUNS = {"result": RunList("raidtui.runs/1", ())}


def luminance(color):
    """Relative luminance as WCAG 2 defines it."""
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (color.r / 255, color.g / 255, color.b / 255)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted((luminance(Color.parse(one)), luminance(Color.parse(other))))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_measured_as_the_standard_does():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_shipped_themes_are_these_and_none_is_bad():
    assert tuple(sorted(SHIPPED)) == NAMES
    assert read_themes(Path("/nowhere"))[1] == ""


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ansi-16"])
def test_every_text_can_be_read_on_every_ground(name):
    colours = SHIPPED[name].to_color_system().generate()
    least = 7.0 if name == "high-contrast" else 4.5
    poor = {pair: round(found, 2) for pair in PAIRS if (found := contrast(*(colours[part] for part in pair))) < least}
    assert not poor


def test_every_border_stands_out_where_contrast_is_wanted():
    """WCAG 2, success criterion 1.4.11: 3:1 for what shows where a part of the screen ends."""
    files = [path for path in Path(raidtui.tui.__file__).parent.rglob("*") if path.suffix in (".py", ".tcss")]
    sources = "\n".join(path.read_text() for path in files)
    borders = set(re.findall(r"border(?:-(?:top|left|right|bottom))?: *[a-z]+ *\$([a-z-]+)", sources))
    assert {"pane-border", "primary", "error"} <= borders
    theme = SHIPPED["high-contrast"]
    colours = theme.to_color_system().generate() | theme.variables
    poor = {(border, ground): round(found, 2) for border, ground in product(borders, ("background", "surface"))
            if (found := contrast(colours[border], colours[ground])) < 3}  # fmt: skip
    assert not poor


def test_the_colour_blind_safe_states_are_of_the_palette_and_differ():
    theme = SHIPPED["colour-blind-safe"]
    states = {state: getattr(theme, state).upper() for state in ("success", "warning", "error", "accent")}
    assert set(map(str.casefold, states.values())) <= set(map(str.casefold, OKABE_ITO))
    assert len(set(states.values())) == 4
    assert not {"#009E73", "#D55E00"} & set(states.values())  # green and vermillion are what is mistaken


def test_the_sixteen_colours_are_the_terminals_own():
    theme = SHIPPED["ansi-16"]
    given = [theme.primary, theme.secondary, theme.accent, theme.warning, theme.error, theme.success, theme.foreground,
             theme.background, theme.surface, theme.panel, *theme.variables.values()]  # fmt: skip
    assert all(value.startswith("ansi_") or value in ("bold", "underline") for value in given)


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"TERM": "linux"}, "ansi-16"),
        ({"TERM": "screen"}, "ansi-16"),
        ({"TERM": "vt100"}, "ansi-16"),
        ({}, "ansi-16"),
        ({"TERM": "screen-256color"}, "raidtui-dark"),
        ({"TERM": "xterm-kitty"}, "raidtui-dark"),
        ({"TERM": "screen", "COLORTERM": "truecolor"}, "raidtui-dark"),
    ],
)
def test_the_terminal_says_which_theme_fits(env, name):
    assert choose("", list(SHIPPED.values()), env) == name
    assert choose("raidtui-light", list(SHIPPED.values()), env) == "raidtui-light"
    assert choose("no such theme", list(SHIPPED.values()), env) == name


# Themes of the operator.


def own_theme(stage, file, text):
    (stage.folder / "themes").mkdir(exist_ok=True)
    (stage.folder / "themes" / file).write_text(text)


def test_all_broken_themes_are_one_notice(stage):
    own_theme(stage, "a.toml", "name = [")
    own_theme(stage, "b.toml", 'name = "b"\nprimary = "no colour [red]x[/]"')
    own_theme(stage, "c.toml", 'name = "c"\nprimary = "#ffffff"\nsurprise = 1')
    own_theme(stage, "good.toml", 'name = "good"\nprimary = "#123456"')
    stage.answers(runs=NO_RUNS)
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.screen.query("Toast"))
        (toast,) = app.screen.query("Toast")
        words = str(toast.render())
        assert all(file in words for file in ("a.toml", "b.toml", "c.toml"))
        assert "good" in app.available_themes

    drive(app, talk)


def test_an_own_theme_replaces_the_one_of_its_name(stage):
    own_theme(stage, "mine.toml", 'name = "raidtui-dark"\nprimary = "#123456"')
    own_theme(stage, "other.toml", 'name = "mine"\nprimary = "#654321"')
    (stage.folder / "config.toml").write_text('theme = "mine"')
    app = stage.app()

    async def talk(pilot):
        assert app.theme == "mine"
        assert app.get_theme("raidtui-dark").primary == "#123456"

    drive(app, talk)


# Looks.


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_in_each_theme_looks_as_it_did(stage, name):
    folder = stage.folder / "state" / "raidtui" / "results"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent):
        part.chmod(0o700)
    (folder / f"tiny-{made.RUN}.result.json").write_bytes(encode(made.result(exit=5)))
    (stage.folder / "config.toml").write_text(f'theme = "{name}"')
    stage.answers(runs=NO_RUNS)
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        await pilot.press("5")
        await until(pilot, lambda: app.screen.query_one(LibraryPane).entries)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one(ResultView).result and app.screen.has_class("-opened"))
        await pilot.pause(0.2)
        await same_picture(pilot, f"theme-{name}")

    drive(app, talk)


def test_a_theme_reaches_new_screens_and_those_visited_before_it_which_alone_are_styled_again(stage):
    stage.answers(describe={"failure": [Problem("bug", "not today")]})
    app = stage.app()

    def ground():
        return app.screen.styles.background.hex.casefold(), app.theme_variables["background"].casefold()

    async def talk(pilot):
        parsed, reparse = [], app.stylesheet.reparse
        app.stylesheet.reparse = lambda: (parsed.append(1), reparse())
        await pilot.press("2", "1")
        assert not parsed
        app.theme = "raidtui-light"
        await pilot.pause()
        await pilot.press("5")
        assert len(parsed) == 1
        for key in ("1", "2", "5"):
            await pilot.press(key)
            await pilot.pause()
            assert len(set(ground())) == 1, key
        app.theme = "raidtui-dark"
        await pilot.pause()
        for key in ("2", "1"):
            await pilot.press(key)
            await pilot.pause()
            assert len(set(ground())) == 1, key

    drive(app, talk)


def test_hostile_disks_neither_colour_nor_crash_any_screen(stage):
    hostile = made.disk(
        1, model="[red]x[/]\x1b[31mEVIL\x07", serial="[b]\u202eS1\x9b2J", id="[b]\u202eS1\x9b2J", firmware="]0;x"
    )
    stage.answers(
        runs=NO_RUNS,
        watch_disks={
            "events": [DiskList("raidtui.disks/1", "stor1", "b", (hostile, made.disk(2)))],
            "until": "never",
            "then": [],
        },
    )
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.disks is not None)
        await pilot.press("1")
        await pilot.pause()
        assert "[red]x[/]" in app.export_screenshot(simplify=True).replace("&#160;", " ")
        for key in "12345":
            await pilot.press(key)
            await pilot.pause()
            assert not set("\x1b\x07\x9b\u202e") & set(app.export_screenshot())

    drive(app, talk, (200, 60))


# Real terminals.

COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:38|48);[25];")


def on_a_terminal(tmp_path, **env):
    """Start raidtui as a process on a terminal of its own, wait until it has drawn, leave: exit code and what it wrote."""
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"watch-disks": {"events": [made.plain(made.disk_list())], "until": "never", "then": []},
                                   "runs": made.plain(NO_RUNS), "clusters": made.plain(NO_CLUSTERS)}))  # fmt: skip
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    fake = Path(__file__).parent.parent / "cli" / "fake_engine.py"
    ssh.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}"\n')
    ssh.chmod(0o755)
    kept = {key: os.environ[key] for key in ("HOME", "PYTHONPATH") if key in os.environ}
    surroundings = {**kept, "LANG": "C.UTF-8", "FAKE_ENGINE": str(answers), "PATH": f"{ssh.parent}:{os.environ['PATH']}",
                    "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), **env}  # fmt: skip
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen([sys.executable, "-m", "raidtui", "--on", "stor1"], stdin=theirs, stdout=theirs,
                             stderr=theirs, env=surroundings, start_new_session=True)  # fmt: skip
    os.close(theirs)
    seen, asked = b"", False
    deadline = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                seen += os.read(ours, 65536)
            except OSError:
                break
        if not asked and b"S64GNE0R100001" in seen and b"Results" in seen:
            os.write(ours, b"q")
            asked = True
    code = child.wait(20)
    os.close(ours)
    return code, seen


@pytest.mark.parametrize("term", ["linux", "screen", "vt100", "xterm-256color"])
def test_plain_terminals_are_drawn_on(tmp_path, term):
    code, seen = on_a_terminal(tmp_path, TERM=term)
    assert code == 0
    assert b"S64GNE0R100001" in seen
    assert b"Traceback" not in seen
    if term != "xterm-256color":
        assert not COLOUR.search(seen)


def test_without_colours_nothing_is_coloured(tmp_path):
    code, seen = on_a_terminal(tmp_path, TERM="xterm-256color", NO_COLOR="1")
    assert code == 0
    assert b"S64GNE0R100001" in seen
    hues = set(re.findall(rb"[34]8;2;(\d+;\d+;\d+)", seen))
    assert all(len(set(hue.split(b";"))) == 1 for hue in hues)
