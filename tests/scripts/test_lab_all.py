"""The one table of `make lab-all`: what counts as passed, what is kept, and which workloads a brief run takes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts/lab_all"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"lab_all_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checks, jobs, report, wanted = load("checks"), load("jobs"), load("report"), load("wanted")
GOOD: dict[str, Any] = {
    "complete": True,
    "layouts": [{"layout": "a", "status": "built", "read_back": {"md": {"level": "raid5"}}, "taken_down": True}],
    "cells": [{"id": "a/w/1", "valid": True}],
}
BLANK: dict[str, Any] = {"not blank": [], "left": [], "canary": True}
PLAN = {"steps": [{"id": "001", "title": "create", "commands": [["mdadm", "--create"]]}]}


def events(*commands: list[str]) -> list[dict[str, Any]]:
    return [
        {"kind": "run-started", "plan": PLAN},
        {"kind": "step-done", "step": "001", "outcome": "created", "commands": list(commands)},
    ]


def test_a_layout_that_did_all_it_should_passes() -> None:
    columns, wrong = checks.looks(checks.of_result(GOOD, "a"), checks.of_journal(events(["mdadm", "--create"])), BLANK)
    assert columns == dict.fromkeys(report.COLUMNS, True)
    assert wrong == []


@pytest.mark.parametrize(
    ("column", "result", "commands", "outside"),
    [
        ("built", {"layouts": [{"layout": "a", "status": "failed"}]}, [["mdadm", "--create"]], {}),
        ("built", {"layouts": []}, [["mdadm", "--create"]], {}),
        ("read back", {"layouts": [{**GOOD["layouts"][0], "read_back": {}}]}, [["mdadm", "--create"]], {}),
        ("measured", {"cells": [{"id": "a/w/1", "valid": False, "reasons": ["degraded"]}]}, [["mdadm", "--create"]], {}),
        ("measured", {"cells": []}, [["mdadm", "--create"]], {}),
        ("measured", {"complete": False}, [["mdadm", "--create"]], {}),
        ("gone", {"layouts": [{**GOOD["layouts"][0], "taken_down": False}]}, [["mdadm", "--create"]], {}),
        ("gone", {}, [["mdadm", "--create"]], {"left": ["/sys/block/md127"]}),
        ("blank", {}, [["mdadm", "--create"]], {"not blank": ["S1"]}),
        ("canary", {}, [["mdadm", "--create"]], {"canary": False}),
        ("commands", {}, [["mdadm", "--create", "--run"]], {}),
        ("commands", {}, [], {}),
    ],
)
def test_whatever_is_wrong_shows_in_its_column(column: str, result: Any, commands: Any, outside: Any) -> None:
    found = checks.of_result({**GOOD, **result}, "a")
    columns, _ = checks.looks(found, checks.of_journal(events(*commands)), {**BLANK, **outside})
    assert not columns[column]


@pytest.mark.parametrize(
    ("promised", "executed", "facts", "kept"),
    [
        (["zfs", "create", "p/fs"], ["lzc_create", "p/fs"], {"same_as": ["zfs", "create", "p/fs"]}, True),
        (["zfs", "create", "p/fs"], ["lzc_create", "p/fs"], {"same_as": ["zfs", "create", "-V", "1", "p/fs"]}, False),
        (["zfs", "destroy", "p/vol"], ["lzc_destroy", "p/vol"], {}, True),
        (["zfs", "destroy", "p/vol"], ["lzc_destroy", "q/vol"], {}, False),
        (["integritysetup", "open", "/dev/md/x", "n"], ["bd_crypto_integrity_open", "/dev/md127", "n"],
         {"same_as": [["integritysetup", "format"], ["integritysetup", "open", "/dev/md127", "n"]]}, True),
        (["cryptsetup", "close", "n"], ["bd_crypto_luks_close", "n"], {}, True),
        (["cryptsetup", "close", "n"], ["bd_crypto_luks_close", "m"], {}, False),
        (["sgdisk", "--zap-all", "/dev/a"], ["bd_part"], {"erased": ["disk:a"]}, True),
        (["sgdisk", "--zap-all", "/dev/a"], ["bd_part"], {"erased": []}, False),
        (["mdadm", "--stop", "/dev/md/x"], ["mdadm", "--stop", "/dev/md/y"], {"erased": ["disk:a"]}, False),
        (["fio", "--rw=read", "--filename=/dev/md/x"], ["fio", "--rw=read", "--filename=/proc/self/fd/100"], {}, True),
        (["fio", "--rw=read", "--filename=/dev/md/x"], ["fio", "--rw=write", "--filename=/proc/self/fd/100"], {}, False),
        (["dd", "of=/run/raidtui/mnt/rta/dd.out"], ["dd", "of=/proc/self/fd/100/dd.out"], {}, True),
    ],
)  # fmt: skip
def test_what_a_library_did_is_what_was_promised(promised: Any, executed: Any, facts: Any, kept: bool) -> None:
    plan = {"steps": [{"id": "001", "title": "x", "commands": [promised]}]}
    end = {"kind": "step-done", "step": "001", "commands": [executed], "facts": facts}
    columns, _ = checks.of_journal([{"kind": "run-started", "plan": plan}, end])
    assert columns["commands"] is kept


def test_without_a_result_or_a_run_nothing_passes() -> None:
    columns, wrong = checks.looks(checks.of_result(None, "a"), checks.of_journal([]), BLANK)
    assert not any(columns[name] for name in ("built", "read back", "measured", "gone", "commands"))
    assert wrong == ["there is no result", "the run did not begin"]


def test_what_passed_is_kept_until_its_source_changes(tmp_path: Path) -> None:
    good = report.Row("s", "a", dict.fromkeys(report.COLUMNS, True), 3.0)
    bad = report.Row("s", "b", {**good.passed_columns, "blank": False}, 4.0, ("not blank: S1",))
    of_good, of_bad, never = (report.wish("s", layout, b"1") for layout in "abc")
    first = report.Report(tmp_path, resume=False)
    first.add(of_good, bad._replace(layout="a"))
    first.add(of_good, good)
    first.add(of_bad, bad)
    rows = report.Report(tmp_path, resume=True).rows([of_good, of_bad, never])
    assert rows[:2] == [good, bad]
    assert not rows[2].passed
    text = report.table(rows)
    assert "1 of 3 passed" in text
    assert "not blank: S1" in text
    assert "it was not run to its end" in text
    again = report.Report(tmp_path, resume=True)
    assert again.known(of_good)
    assert not again.known(report.wish("s", "a", b"2"))
    assert not again.known(of_bad)
    assert not report.Report(tmp_path, resume=False).known(of_good)


@pytest.mark.parametrize(
    ("test", "wrong"), [("assert True", ()), ("assert False", ("FAILED",)), ("import os; os._exit(7)", ("pytest ended",))]
)
def test_what_a_file_of_tests_says_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, wrong: Any) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    path = tmp_path / "test_some.py"
    path.write_text(f"import pytest\n@pytest.mark.lab\ndef test_it():\n    {test}\n")
    kept, of_file = report.Report(tmp_path / "report", resume=False), report.wish("test_some", "", b"1")
    load("rows").run_tests(tmp_path, path, of_file, kept, 1)
    (row,) = kept.rows([of_file])
    assert row.passed == (not wrong)
    assert len(row.wrong) == len(wrong)
    assert all(text.startswith(begins) for text, begins in zip(row.wrong, wrong, strict=True))
    assert "test_some.py::test_it" in (tmp_path / "report/test_some.txt").read_text()


def done(path: Path) -> None:
    with path.open("a") as file:
        file.write("x")


def lost(path: Path) -> None:
    path.touch()
    raise RuntimeError("a lab did not come up")


def test_jobs_are_done_side_by_side_and_one_that_breaks_stops_no_other(tmp_path: Path) -> None:
    work = [partial(lost, tmp_path / "lost"), *(partial(done, tmp_path / str(number)) for number in range(4))]
    with pytest.raises(RuntimeError, match="1 of 5 broke"):
        jobs.side_by_side(work, 2)
    assert [(tmp_path / str(number)).read_text() for number in range(4)] == ["x"] * 4


@pytest.mark.parametrize("number", jobs.ENDS)
def test_who_ends_them_ends_them_all(number: int) -> None:
    """Many short jobs: whatever a process is just doing, it ends, and leaves none behind."""
    many = """
from functools import partial
from os import getpid
from jobs import side_by_side
side_by_side([partial(print, flush=True), *[getpid] * 9999], 2)
"""
    with subprocess.Popen([sys.executable, "-c", many], cwd=SCRIPTS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          start_new_session=True) as run:  # fmt: skip
        assert run.stdout is not None
        run.stdout.readline()
        os.killpg(run.pid, number)
        assert run.wait(60) == 128 + number
        with pytest.raises(ProcessLookupError):
            os.killpg(run.pid, 0)


@pytest.mark.parametrize("number", jobs.ENDS)
def test_tests_that_are_ended_take_their_labs_down(tmp_path: Path, number: int) -> None:
    path = tmp_path / "test_some.py"
    path.write_text("""
import pathlib, time, pytest
HERE = pathlib.Path(__file__).parent
@pytest.fixture
def lab():
    yield
    time.sleep(2)
    (HERE / "down").touch()
@pytest.mark.lab
def test_it(lab):
    (HERE / "up").touch()
    time.sleep(300)
""")
    one = f"""
from functools import partial
from pathlib import Path
from jobs import side_by_side
from report import Report, wish
from rows import run_tests
here = Path({str(tmp_path)!r})
report = Report(here / "report", resume=False)
side_by_side([partial(run_tests, here, here / "test_some.py", wish("test_some", "", b"1"), report, 1)], 1)
"""
    quiet = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-c", one], cwd=SCRIPTS, stdout=quiet, start_new_session=True) as run:
        until = time.monotonic() + 60
        while not (tmp_path / "up").exists() and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(run.pid, number)
        run.wait(60)
    assert (tmp_path / "down").exists()


def test_every_shipped_scenario_gets_the_disks_of_its_roles_and_two_workloads_a_layout() -> None:
    found = {one.name: one for one in wanted.shipped_scenarios()}
    assert {name: len(disks) for name, disks in found["lvm-cache-vs-zfs"].roles.items()} == {"slow": 12, "fast": 1}
    assert {spec.kind for spec in found["lvm-cache-vs-zfs"].roles["slow"]} == {"hdd"}
    for one in found.values():
        assert all(1 <= len(one.two_of(layout)) <= 2 for layout in one.layouts)
    assert found["iser-nvmeof"].clients == found["export-to-clients"].clients == {"clients": 2}
    assert {name for name, one in found.items() if one.clients} == {"iser-nvmeof", "export-to-clients"}
    assert found["habr-nvme-local"].two_of("md-raid5") == ["seq-write-4m-q32", "seq-read-4m-q32"]
    assert found["habr-nvme-local"].two_of("zfs64-raidz-8k") == ["files-seq-write-4m", "files-seq-read-4m"]
