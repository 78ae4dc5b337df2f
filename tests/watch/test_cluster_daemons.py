"""Daemons that serve a layout: found by executable, whatever they are called, and what they used and moved."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from raidtui.watch.cores import CoreWatch
from raidtui.watch.daemons import Seen, kind_of, used
from raidtui.watch.network import sent_bytes

BURNS = """
import pathlib, sys, time
pathlib.Path('/proc/self/comm').write_text('osd1')
print('begun', flush=True)
sys.stdin.readline()
until = time.process_time() + 0.5
while time.process_time() < until:
    pass
print('done', flush=True)
sys.stdin.readline()
"""


def test_a_daemon_is_known_by_its_executable_alone() -> None:
    kinds = {"vitastor-osd": "osd"}
    assert [kind_of(f"/usr/bin/vitastor-osd{end}", kinds) for end in ("", " (deleted)", "2")] == ["osd", "osd", None]
    assert kind_of("", kinds) is None


def test_a_process_with_another_name_is_counted_with_its_time_and_memory(tmp_path: Path) -> None:
    """A copy of the interpreter that calls itself `osd1` burns half a second."""
    daemon = tmp_path / "vitastor-osd"
    shutil.copy(Path(sys.executable).resolve(), daemon)
    home = {**os.environ, "PYTHONHOME": sys.base_prefix}
    with subprocess.Popen([daemon, "-c", BURNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=home) as one:
        assert one.stdin is not None
        assert one.stdout is not None
        assert one.stdout.readline() == "begun\n"
        watch, began_s = CoreWatch(), time.monotonic()
        watch.start({"vitastor-osd": "osd", "etcd-of-nobody": "etcd"})
        one.stdin.write("\n")
        one.stdin.flush()
        assert one.stdout.readline() == "done\n"
        cores, took_s = watch.stop(), time.monotonic() - began_s
        one.stdin.write("\n")
    assert cores is not None
    assert list(cores.daemons) == ["osd"], "a kind that is not there is absent, not 0"
    osd = cores.daemons["osd"]
    assert osd.processes == 1
    assert osd.cores * took_s == pytest.approx(0.5, abs=0.15)
    assert osd.memory_bytes > 1 << 20
    assert (osd.read_bytes is None) == (osd.written_bytes is None)
    assert cores.sent_bytes is not None


def test_without_daemons_nothing_of_them_is_counted() -> None:
    watch = CoreWatch()
    watch.start()
    time.sleep(0.05)
    cores = watch.stop()
    assert cores is None or (cores.daemons, cores.sent_bytes) == ({}, None)


def test_daemons_are_summed_by_kind_and_those_that_ended_are_left_out() -> None:
    before = {
        (1, 1.0): Seen("osd", 10.0, 1.0, 1.0, 100, 10, 20),
        (2, 1.0): Seen("osd", 10.5, 2.0, 1.0, 100, 10, 20),
        (3, 1.0): Seen("mon", 10.0, 5.0, 5.0, 100, 10, 20),
    }
    after = {
        (1, 1.0): Seen("osd", 20.0, 3.0, 2.0, 150, 10, 1020),
        (2, 1.0): Seen("osd", 20.5, 3.0, 1.5, 250, 30, 2020),
        (4, 15.0): Seen("mgr", 20.0, 9.0, 9.0, 70, 5, None),
    }
    found = used(before, after)
    assert list(found) == ["mgr", "osd"]
    osd = found["osd"]
    assert (osd.processes, osd.user, osd.system, osd.memory_bytes) == (2, 0.3, 0.15, 400)
    assert (osd.read_bytes, osd.written_bytes) == (20, 3000)
    assert found["mgr"].cores == 0.0, "it began in the cell: nobody knows over which time its work is spread"
    assert (found["mgr"].read_bytes, found["mgr"].written_bytes) == (5, None)


def test_bytes_of_bonds_and_bridges_are_not_counted_again(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    lines = [f"{name}: 1 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0" for name, sent in (("lo", 5), ("eth0", 70), ("bond0", 70))]
    (tmp_path / "net/dev").write_text("\n".join(["Inter-|", " face |", *lines]) + "\n")
    (tmp_path / "sys/eth0/device").mkdir(parents=True)
    (tmp_path / "sys/bond0").mkdir()
    assert sent_bytes(tmp_path, tmp_path / "sys") == 75
    assert sent_bytes(tmp_path / "none", tmp_path / "sys") is None
