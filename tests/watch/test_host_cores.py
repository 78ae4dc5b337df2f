"""Cores of a host: all of it from /proc, and the work of a tree of processes, those that have ended too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from raidtui.stack.catalog import all_layers
from raidtui.watch.cores import CoreWatch

OF_LAYERS = [layer.threads for layer in all_layers().values()]
KTHREAD = 0x00208040
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BURN = "import time; until = time.process_time() + {}\nwhile time.process_time() < until: pass"


def thread(procfs: Path, pid: int, name: str, ticks: int) -> None:
    (procfs / str(pid)).mkdir(exist_ok=True)
    (procfs / str(pid) / "stat").write_text(f"{pid} ({name}) S 2 0 0 0 -1 {KTHREAD} 0 0 0 0 0 {ticks} 0 0 20 0 1 0 5\n")


def stat(procfs: Path, *ticks: int) -> None:
    (procfs / "stat").write_text(f"cpu  {' '.join(map(str, ticks))} 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")


def test_modes_and_threads_are_shares_of_the_hosts_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    clock = SimpleNamespace(monotonic=iter([10.0, 11.0]).__next__)
    monkeypatch.setattr("raidtui.watch.cores.time", clock)
    stat(tmp_path, 0, 0, 0, 0, 0, 0, 0, 0)
    thread(tmp_path, 7, "kworker/0:1H-nvmet_tcp_wq", 0)
    thread(tmp_path, 8, "migration/0", 0)
    watch = CoreWatch(None, OF_LAYERS, tmp_path)
    watch.start()
    # Half of four cores: 100 of 400 ticks user and nice, 60 system, 40 interrupts; the rest idle or waiting.
    stat(tmp_path, 90, 10, 60, 150, 50, 10, 30, 0)
    thread(tmp_path, 7, "kworker/1:0H-nvmet_tcp_wq", TICKS_PER_S)
    thread(tmp_path, 8, "migration/0", TICKS_PER_S // 2)
    thread(tmp_path, 9, "md127_raid5", 2 * TICKS_PER_S)
    cores = watch.stop()
    assert cores is not None
    assert (cores.cpus, cores.busy, cores.user, cores.system, cores.softirq) == (4, 2.0, 1.0, 0.6, 0.4)
    assert cores.storage == pytest.approx(1.0, abs=0.2), "without raidtui's own"
    assert list(cores.threads) == ["md127_raid5", "kworker/nvmet_tcp_wq", "others"]
    assert cores.threads["md127_raid5"] == pytest.approx(4 * cores.threads["others"], rel=0.01)
    assert cores.storage_threads == pytest.approx(sum(cores.threads.values()) - cores.threads["others"])


def test_without_a_tick_nothing_is_known(tmp_path: Path) -> None:
    stat(tmp_path, 1, 1, 1, 1, 1, 1, 1, 1)
    watch = CoreWatch(None, OF_LAYERS, tmp_path)
    watch.start()
    assert watch.stop() is None


def test_the_work_of_a_tree_is_counted_whether_its_processes_live_or_have_ended() -> None:
    """A shell whose child burns half a second and ends, and another that burns a second and lives."""
    living = BURN.format(1) + "\ntime.sleep(60)"
    ends = BURN.format(0.5)
    parent = f"import subprocess, sys, time; sys.stdin.readline(); subprocess.run([sys.executable, '-c', {ends!r}])"
    parent += f"; subprocess.Popen([sys.executable, '-c', {living!r}]); print('begun', flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             start_new_session=True)  # fmt: skip
    try:
        watch = CoreWatch(child.pid, OF_LAYERS)
        watch.start()
        began = time.monotonic()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        until, used_s = time.monotonic() + 60, 0.0
        while used_s < 1.5 and time.monotonic() < until:
            time.sleep(0.5)
            cores = watch.stop()
            assert cores is not None
            used_s = (cores.workload_user + cores.workload_system) * (time.monotonic() - began)
        # The starts of three interpreters are in it.
        assert 1.5 <= used_s < 4.0
        assert cores.busy > 0
    finally:
        os.killpg(child.pid, 9)
        child.wait()
