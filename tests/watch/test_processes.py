"""Processes of a cell: what each used between looks, also when children end, and never what another one did before."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from raidtui.base.paths import ENTRY
from raidtui.inventory.blocks import Blocks, Node
from raidtui.watch import neighbours, processes
from raidtui.watch.neighbours import LOOK_SHARE, MOST_NEIGHBOURS, Seen, Sums, runs_engine
from raidtui.watch.open_files import OpenFiles, root_port
from raidtui.watch.processes import ProcessWatch, Workload

BEGAN = 1000.0


def seen(name: str, cpu_s: float = 0.0, *, parent: int = 1, children_s: float = 0.0, written: int = 0,
         began_s: float = BEGAN) -> Seen:  # fmt: skip
    return Seen(name, parent, began_s, cpu_s, children_s, written)


def used(*looks: Mapping[int, Seen], open_on: Mapping[int, str] | None = None) -> dict[str, tuple[float, int]]:
    """Cores and bytes of each process by name, of looks over ten seconds."""
    others = Sums()
    for look in looks:
        others.add(look, lambda pid: frozenset((open_on or {}).get(pid, "").split()))
    return {one.name: (one.cores, one.written_bytes) for one in others.neighbours(10.0, {}, {})}


def test_what_a_process_used_before_the_cell_does_not_count() -> None:
    assert used({7: seen("old", 500.0, written=1 << 30)}, {7: seen("old", 502.0, written=1 << 30)}) == {"old": (0.2, 0)}


def test_a_process_that_began_during_the_cell_counts_whole() -> None:
    assert used({1: seen("init")}, {1: seen("init"), 9: seen("dd", 3.0, written=1 << 20, began_s=1003.0)}) == {
        "dd": (0.3, 1 << 20)
    }


def test_a_process_that_a_look_missed_is_not_taken_for_a_new_one() -> None:
    older = {1: seen("init", began_s=2000.0)}
    assert used(older, {**older, 9: seen("db", 900.0)}, {**older, 9: seen("db", 902.0)}) == {"db": (0.2, 0)}


def test_the_work_of_a_child_that_came_and_went_is_its_parents() -> None:
    first = {5: seen("make", children_s=100.0)}
    assert used(first, {5: seen("make", children_s=104.0, written=1 << 20)}) == {"make": (0.4, 1 << 20)}
    others = Sums()
    for cpu_s, children_s in ((1.0, 100.0), (1.1, 104.0)):
        others.add({5: seen("make", cpu_s, children_s=children_s)}, lambda pid: frozenset())
    assert [one.of_children for one in others.neighbours(10.0, {}, {})] == [True]


def test_a_child_that_ends_is_not_counted_twice() -> None:
    first = {5: seen("sh"), 6: seen("dd", 50.0, parent=5, written=1 << 30)}
    second = {5: seen("sh"), 6: seen("dd", 52.0, parent=5, written=(1 << 30) + (1 << 20))}
    third = {5: seen("sh", children_s=53.0, written=(1 << 30) + (1 << 20))}
    assert used(first, second, third) == {"dd": (0.2, 1 << 20), "sh": (0.1, 0)}


def test_a_family_that_ends_is_not_charged_to_its_grandparent() -> None:
    init = seen("systemd", children_s=10.0)
    first = {1: init, 5: seen("sh", 1.0), 6: seen("dd", 50.0, parent=5)}
    assert used(first, {1: seen("systemd", children_s=61.0)}) == {}


def test_a_number_that_is_used_again_is_another_process() -> None:
    assert used({7: seen("big", 500.0)}, {7: seen("new", 1.0, began_s=1001.0)}) == {"new": (0.1, 0)}


def test_disks_that_a_writer_holds_open_are_told_apart() -> None:
    others, opened = Sums(), {7: "sda", 8: "sdx", 9: ""}
    for number in (0, 1):
        written = number << 24
        look = {pid: seen(name, written=written) for pid, name in ((7, "a"), (8, "b"), (9, "c"), (10, "idle"))}
        look[10] = seen("idle")
        others.add(look, lambda pid: frozenset(opened[pid].split()))
    own, beside, unknown = others.neighbours(10.0, {"sda": "SER1"}, {"sdx": 1 << 24})
    assert (own.name, own.own_disks, own.beside, own.unknown_disks) == ("a", ("SER1",), (), False)
    assert (beside.name, beside.own_disks, beside.beside) == ("b", (), ("sdx",))
    assert (unknown.name, unknown.unknown_disks) == ("c", True)


def test_no_process_that_wrote_with_a_disk_of_the_run_open_is_left_out() -> None:
    """Neither for writing little nor for being one of many, beside processes that are busier."""
    others, writers, busy = Sums(), range(100, 110), range(200, 220)
    for number in (0, 1):
        quiet = {pid: seen("writer", written=512 * number) for pid in writers}
        loud = {pid: seen("busy", 5.0 * number, written=number << 30) for pid in busy}
        others.add(quiet | loud, lambda pid: frozenset({"sda"} if pid in writers else ()))
    named = others.neighbours(10.0, {"sda": "SER1"}, {})
    assert [one.pid for one in named] == list(writers)
    assert {one.written_bytes for one in named} == {512}
    assert [one.name for one in others.neighbours(10.0, {}, {})] == ["busy"] * MOST_NEIGHBOURS, "it holds another disk"


@pytest.mark.parametrize(
    ("words", "is_engine"),
    [
        (("python3", "-I", str(ENTRY), "engine"), True),
        (("/usr/bin/python3", "/usr/local/bin/raidtui", "engine", "--simulate"), True),
        (("python3", "-I", str(ENTRY), "runner", "/x"), False),
        (("python3", "engine"), False),
        ((), False),
    ],
)
def test_engines_are_raidtuis_own(words: tuple[str, ...], is_engine: bool) -> None:
    assert runs_engine(words) is is_engine


def test_files_open_for_writing_are_followed_to_their_disk(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    (folder / "fd").mkdir(parents=True)
    (folder / "fdinfo").mkdir()
    for fd, flags, mount in (("3", "0100001", 30), ("4", "0100000", 31), ("5", "02", 99)):
        (folder / "fd" / fd).touch()
        (folder / "fdinfo" / fd).write_text(f"pos:\t0\nflags:\t{flags}\nmnt_id:\t{mount}\nino:\t5\n")
    (folder / "mountinfo").write_text("30 1 8:1 / /data rw - ext4 /dev/sda1 rw\n31 1 8:16 / /read rw - xfs /dev/sdb rw\n")
    numbers = {"sda": 0, "sda1": 1, "sdb": 16}
    nodes = [Node(name, os.makedev(8, minor), name[:3]) for name, minor in numbers.items()]
    assert OpenFiles(tmp_path, Blocks(nodes)).disks(7) == {"sda"}
    assert OpenFiles(tmp_path, Blocks(nodes)).disks(8) == frozenset()


@pytest.mark.parametrize(
    ("folder", "port"),
    [
        ("/sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/nvme/nvme0", "0000:00:02.0"),
        ("/sys/devices/pci0000:00/0000:00:04.0/virtio1/host0/target0:0:1/0:0:1:0", "0000:00:04.0"),
        ("/sys/devices/virtual/nvme-subsystem/nvme-subsys0", ""),
    ],
)
def test_disks_of_one_controller_or_switch_share_a_root_port(folder: str, port: str) -> None:
    assert root_port(Path(folder)) == port


def test_a_workload_and_a_neighbour_of_this_machine_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    spin = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"
    # A neighbour is no child of the runner: here it is declared to be none.
    neighbour = subprocess.Popen([sys.executable, "-c", spin.format(30)])
    real = processes.descendants
    for module in (processes, neighbours):
        monkeypatch.setattr(module, "descendants", lambda pid: [one for one in real(pid) if one != neighbour.pid])
    watch = ProcessWatch({}, every_s=0.25)
    try:
        before = psutil.Process(neighbour.pid).cpu_times()
        watch.start()
        began_s, own = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"x = bytearray(40 << 20)\n{spin.format(2.5)}"], check=True)
        workload_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - own.ru_utime
        host = watch.stop()
        span_s, after = time.monotonic() - began_s, psutil.Process(neighbour.pid).cpu_times()
    finally:
        watch.close()
        neighbour.kill()
        neighbour.wait()
    assert watch.failure == ""
    # However busy the machine is: as much as the kernel says of each.
    cores = (after.user + after.system - before.user - before.system) / span_s
    assert {one.pid: one.cores for one in host.neighbours}[neighbour.pid] == pytest.approx(cores, rel=0.2, abs=0.05)
    assert os.getpid() not in {one.pid for one in host.neighbours}
    assert host.workload.user_s == pytest.approx(workload_s, abs=0.01)
    assert workload_s > 0
    assert host.workload.memory_max_bytes > 40 << 20
    assert host.workload.threads == 1
    assert host.workload.context_switches > 0
    assert len(host.workload.at_s) == len(host.workload.series["user_cores"]) >= 3
    assert host.memory_available_bytes


def test_a_sample_of_a_workload_costs_less_than_half_a_percent_of_the_machine() -> None:
    child = subprocess.Popen(["sleep", "30"])
    workload = Workload(psutil, ())
    try:
        began_s = time.thread_time()
        for _ in range(20):
            workload.sample()
        a_second_s = (time.thread_time() - began_s) / 20
    finally:
        child.kill()
        child.wait()
    # Looks at all processes come on top of it: they are paced to a thousandth of all CPUs.
    assert workload.memory_max_bytes > 0
    assert a_second_s + LOOK_SHARE * os.cpu_count() < 0.005 * os.cpu_count()


def test_psutil_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert not processes.installed()
