"""The entry point: what is imported, what happens without a command, with a bug, and when nobody reads."""

import json
import os
import subprocess
import sys

import made
import pytest

from raidtui.cli.main import parser_for
from raidtui.model.problem import Exit

HEAVY = {"textual", "gi", "blivet", "psutil", "rich", "pyudev", "numpy"}


def modules_after(code):
    script = f"import sys\n{code}\nsys.stderr.write('\\n' + ' '.join(m.partition('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.splitlines()[-1].split())


def command(*words):
    return f"sys.argv = ['raidtui', *{list(words)!r}]\nfrom raidtui.__main__ import main\nmain()"


def test_version_loads_nothing_but_itself():
    assert not modules_after(command("--version")) & (HEAVY | {"msgspec", "argparse"})


def test_parsing_is_light():
    code = "from raidtui.cli.main import parser_for\nparser_for([]).format_help()"
    assert not modules_after(code) & (HEAVY | {"msgspec"})


@pytest.mark.parametrize("words", [("plan", "tiny.json"), ("disks",)])
def test_front_end_commands_never_load_the_engines_libraries(engine, tmp_path, words):
    (tmp_path / "tiny.json").write_text(json.dumps(made.SCENARIO))
    engine.answers(plan={"result": made.plan()}, disks={"result": made.disk_list()})
    assert not modules_after(command("--on", "stor1", *words)) & {"textual", "gi", "blivet", "psutil"}


def test_the_engine_and_the_runner_load_psutil_only_when_a_cell_begins():
    assert not modules_after("import raidtui.engine.serve, raidtui.engine.run.runner") & {"gi", "blivet", "psutil"}


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_2(engine):
    said = engine.run()
    assert said.code == 2
    assert "replay" in said.err
    assert said.out == ""


def help_of(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        parser_for(words).parse_args([*words, "--help"])
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_help_says_that_no_command_is_needed_for_the_screens(capsys):
    told = help_of(capsys)
    assert "[COMMAND ...]" in told.partition("Compose")[0]
    assert "without a command opens the screens" in told


def test_the_help_of_replay_says_what_happens_without_consent_and_where_the_result_goes(capsys):
    told = help_of(capsys, "replay")
    assert told.startswith("usage: raidtui replay [-h]")
    for part in ("Without --erase the plan is printed", "exit code is 3", "raidtui/results", "one event per line"):
        assert part in told
    assert "event" not in help_of(capsys, "plan")
    assert "with --erase for every disk" in help_of(capsys, "plan")


def test_a_mistake_of_raidtui_is_kept_in_a_file(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("raidtui.cli.runs.connect", lambda args: 1 / 0)
    said = engine.run("runs")
    (kept,) = (tmp_path / "state" / "raidtui" / "crashes").iterdir()
    assert said.code == 1
    assert str(kept) in said.err
    assert "Traceback" not in said.err
    assert "ZeroDivisionError" in kept.read_text()


def test_mistakes_of_one_second_are_kept_in_files_of_their_own(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("raidtui.cli.screen.time.strftime", lambda *_: "20260131-120000")
    monkeypatch.setattr("raidtui.cli.runs.connect", lambda args: 1 / 0)
    first = engine.run("runs")
    monkeypatch.setattr("raidtui.cli.runs.connect", lambda args: {}["gone"])
    second = engine.run("runs")
    folder = tmp_path / "state" / "raidtui" / "crashes"
    one, two = folder / "20260131-120000.txt", folder / "20260131-120000-2.txt"
    assert "ZeroDivisionError" in one.read_text()
    assert "KeyError" in two.read_text()
    assert str(one) in first.err
    assert str(two) in second.err
    assert one.stat().st_mode & 0o077 == 0


def test_the_help_has_every_exit_code(capsys):
    told = help_of(capsys)
    assert "5 measured, but a cell is invalid; or compare --fail-if is met, or lint found something" in told
    for code in Exit:
        assert f" {int(code)} " in told.partition("exit codes:")[2]


@pytest.mark.parametrize("words", [["disks", "--json"], ["disks"]])
def test_nobody_reading_is_no_error(engine, words):
    engine.answers(disks={"result": made.disk_list()})
    child = subprocess.Popen([sys.executable, "-m", "raidtui", "--on", "stor1", *words],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))  # fmt: skip
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(60) == 141
    assert err == b""


@pytest.mark.parametrize("words", [["disks", "--json"], ["disks"], ["explain", "nothing", "--json"]])
def test_a_full_disk_behind_the_output_is_said_and_no_mistake_of_raidtui(engine, tmp_path, words):
    engine.answers(disks={"result": made.disk_list()}, explain={"failure": [{"code": "usage", "message": "no"}]})
    with open("/dev/full", "w") as full:
        said = subprocess.run([sys.executable, "-m", "raidtui", "--on", "stor1", *words], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)  # fmt: skip
    assert said.returncode == 1
    assert said.stderr.splitlines() == [
        "error: the output could not be written: No space left on device",
        "  → Send it to where there is room. A run that was started goes on: `raidtui runs`.",
    ]
    assert not (tmp_path / "state" / "raidtui" / "crashes").exists()


def test_closed_streams_are_no_mistake_of_raidtui(engine):
    engine.answers(disks={"result": made.disk_list()})
    line = f"exec {sys.executable} -m raidtui --on stor1 disks <&- >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", line], timeout=60, check=False).returncode == 0
