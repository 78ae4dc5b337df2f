"""Eighty columns: no word is broken in the middle, and what is copied stays on one line."""

import contextlib
import os
import pty
import subprocess
import sys

import made
import pytest

from raidtui.cli.main import COMMANDS, parser_for
from raidtui.cli.screen import wrapped
from raidtui.model.convert import encode
from raidtui.model.protocol import RunInfo, RunList


def help_at(columns, words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        parser_for(words).parse_args([*words, "-h"])
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)])
def test_the_help_breaks_no_word_and_fits(words, monkeypatch, capsys):
    narrow, wide = (help_at(columns, words, monkeypatch, capsys) for columns in (80, 1000))
    assert set(wide.split()) <= set(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 80


def test_long_lines_are_wrapped_between_words_below_their_text():
    line = "  Warning   writes do not fill the stripe, so old data is read first (read-modify-write)"
    assert wrapped(line, 60) == [
        "  Warning   writes do not fill the stripe, so old data is",
        "            read first (read-modify-write)",
    ]
    assert wrapped("  ✗ the disk is not free [mounted]", 24) == ["  ✗ the disk is not free", "    [mounted]"]
    assert wrapped("short", 60) == ["short"]


def test_a_terminal_gets_whole_words_and_a_pipe_whole_lines(tmp_path):
    argv = [sys.executable, "-m", "raidtui", "plan", "no-such-scenario"]
    terminal, ours = pty.openpty()
    env = {**os.environ, "COLUMNS": "60"}
    child = subprocess.Popen(argv, stdin=ours, stdout=ours, stderr=ours, env=env)
    os.close(ours)
    told = b""
    with contextlib.suppress(OSError):  # EIO: the other side of the terminal was closed
        while part := os.read(terminal, 65536):
            told += part
    assert child.wait(60) == 2
    os.close(terminal)
    lines = told.decode().splitlines()
    assert max(map(len, lines)) <= 60
    piped = subprocess.run(argv, stderr=subprocess.PIPE, text=True, env=env, check=False).stderr
    assert max(map(len, piped.splitlines())) > 60
    assert piped.split() == " ".join(lines).split()


@pytest.mark.parametrize("line", [f"    $ mdadm --create {'/dev/sda ' * 20}", f"  → raidtui replay x --erase {'S1,' * 40}"])
def test_commands_stay_on_one_line(line):
    assert wrapped(line, 80) == [line]


def test_names_of_runs_are_not_broken(engine, tmp_path):
    name = "a-scenario-with-quite-a-long-name"
    info = RunInfo(made.RUN, name, "interrupted", "", (), cells_done=100, cells=2000, rehearsal=True)
    engine.answers(runs={"result": RunList("raidtui.runs/1", (info,))})
    assert made.RUN in engine.run("runs").out.splitlines()[1]
    long = made.result(scenario={**made.SCENARIO, "name": name}, rehearsal=True)
    (tmp_path / "one.result.json").write_bytes(encode(long))
    assert made.RUN in engine.run("results", "--in", str(tmp_path)).out.splitlines()[1]
