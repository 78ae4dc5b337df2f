"""Eighty columns: no word is broken in the middle, and what is copied stays on one line."""

import contextlib
import os
import pty
import subprocess
import sys

import made
import pytest

from raidtui.cli.main import COMMANDS, parser_for
from raidtui.cli.screen import breaks, console, table, text, wrapped
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


def test_a_word_longer_than_its_column_is_broken_behind_a_sign():
    name = "zfs-local-stripe-128k-16k-with-special-devices/and,more"
    assert breaks(name, 20) == [17, 31, 51]
    listing = table("LAYOUT", "WHAT")
    listing.add_row(text(name), text("x " * 40))
    out = console(width=44)
    with out.capture() as shown:
        out.print(listing)
    parts = [line[: line.index(" ")] for line in shown.get().splitlines()[1:] if not line.startswith(" ")]
    assert "".join(parts) == name
    assert all(part[-1] in "-/,:_." for part in parts[:-1])


def test_names_in_a_narrow_comparison_are_shortened_between_words_and_said_in_full(engine, tmp_path):
    name = "a-layout-with-quite-a-long-name-of-many-words"
    (tmp_path / "t.csv").write_text(f"layout,workload,IOPS\n{name},rand write 4k,1000\nraid5,rand write 4k,900\n")
    lines = engine.run("compare", "t.csv").out.splitlines()
    (said,) = [line for line in lines if line.endswith(f": {name}")]
    head, _, tail = said.partition(":")[0].partition("…")
    assert name.startswith(head)
    assert name.endswith(tail)
    assert head.endswith("-")
