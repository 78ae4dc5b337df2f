"""Kernel threads in frames: summed by name, only those of storage or busy ones, and never a second that nobody watched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from raidtui.model.frame import Frame, Frames
from raidtui.stack.catalog import all_layers
from raidtui.watch.sampler import Sampler
from raidtui.watch.threads import (
    LIST_EVERY_S,
    MOST_WATCHED,
    OTHERS,
    Threads,
    busiest,
    label_of,
    look_once,
    storage_threads,
)

OF_LAYERS = [layer.threads for layer in all_layers().values()]
KTHREAD = 0x00208040
MS_PER_TICK = 1000 // os.sysconf("SC_CLK_TCK")


class Kernel:
    """A /proc of its own, and the time."""

    def __init__(self, procfs: Path) -> None:
        self.procfs = procfs
        self.now_s = 0.0
        self.threads = Threads(OF_LAYERS, procfs, lambda: self.now_s)

    def thread(self, pid: int, name: str, ticks: int, flags: int = KTHREAD) -> None:
        folder = self.procfs / str(pid)
        folder.mkdir(exist_ok=True)
        text = f"{pid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 {ticks // 2} {ticks - ticks // 2} 0 0 20 0 1 0 5\n"
        with open(folder / "stat", "r+" if (folder / "stat").exists() else "w") as file:
            file.write(text.ljust(200))

    def ended(self, pid: int) -> None:
        (self.procfs / str(pid) / "stat").unlink()
        (self.procfs / str(pid)).rmdir()

    @property
    def watched(self) -> int:
        """Files of threads that are open in this process."""
        found = 0
        for link in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                found += str(link.readlink()).startswith(str(self.procfs))
        return found

    def news(self, after_s: float = 1.0) -> dict[str, int]:
        self.now_s += after_s
        return self.threads.news()


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    found = Kernel(tmp_path)
    yield found
    found.threads.close()


def test_an_arrays_thread_counts_from_when_it_was_first_seen(kernel: Kernel) -> None:
    kernel.thread(10, "md127_raid5", 5000)
    assert kernel.news() == {}
    kernel.thread(10, "md127_raid5", 5050)
    assert kernel.news() == {"md127_raid5": 50 * MS_PER_TICK}
    assert kernel.news() == {}
    kernel.thread(10, "md127_raid5", 5060)
    assert kernel.news() == {"md127_raid5": 60 * MS_PER_TICK}


def test_threads_of_one_name_are_one_sum_and_keep_it_when_they_end(kernel: Kernel) -> None:
    for pid in (10, 11):
        kernel.thread(pid, "z_wr_iss", 0)
    kernel.news()
    kernel.thread(10, "z_wr_iss", 3)
    kernel.thread(11, "z_wr_iss", 4)
    assert kernel.news() == {"z_wr_iss": 7 * MS_PER_TICK}
    kernel.ended(10)
    kernel.thread(11, "z_wr_iss", 5)
    assert kernel.news(LIST_EVERY_S) == {"z_wr_iss": 8 * MS_PER_TICK}


def test_processes_are_no_threads_of_the_kernel(kernel: Kernel) -> None:
    kernel.thread(10, "md127_raid5", 0, flags=0x400100)
    kernel.news()
    kernel.thread(10, "md127_raid5", 100, flags=0x400100)
    assert kernel.news() == {}


def test_a_busy_thread_of_another_kind_is_watched_once_it_was_found_busy(kernel: Kernel) -> None:
    kernel.thread(10, "ksoftirqd/0", 0)
    kernel.thread(11, "kworker/3:1H-kblockd", 0)
    kernel.news()
    kernel.thread(10, "ksoftirqd/0", 500)
    kernel.thread(11, "kworker/3:1H-kblockd", 500)
    assert kernel.news(LIST_EVERY_S) == {}
    kernel.thread(10, "ksoftirqd/0", 510)
    kernel.thread(11, "kworker/3:1H-kblockd", 520)
    assert kernel.news() == {OTHERS: 10 * MS_PER_TICK, "kworker/kblockd": 20 * MS_PER_TICK}


def test_the_threads_of_what_was_just_built_are_found_at_once(kernel: Kernel) -> None:
    kernel.news()
    kernel.thread(10, "md127_raid5", 0)
    kernel.threads.list_soon()
    kernel.news()
    kernel.thread(10, "md127_raid5", 9)
    assert kernel.news() == {"md127_raid5": 9 * MS_PER_TICK}


def test_of_hundreds_only_the_busiest_are_read_every_second(kernel: Kernel) -> None:
    for pid in range(10, 10 + 3 * MOST_WATCHED):
        kernel.thread(pid, "z_rd_int", 0)
    kernel.news()
    assert kernel.watched == MOST_WATCHED
    kernel.thread(10, "z_rd_int", 50)
    kernel.news(LIST_EVERY_S)
    before = kernel.threads.news(whole=True).get("z_rd_int", 0)
    kernel.thread(10, "z_rd_int", 60)
    assert kernel.news() == {"z_rd_int": before + 10 * MS_PER_TICK}
    assert kernel.watched == MOST_WATCHED


@pytest.mark.parametrize("text", ["", "x", "10 (md0_raid1", "10 (md0_raid1) S 2", "10 (\xff) S a b c d e f g h i j k l m"])
def test_a_line_that_cannot_be_read_is_left_out(kernel: Kernel, text: str) -> None:
    (kernel.procfs / "10").mkdir()
    (kernel.procfs / "10" / "stat").write_text(text)
    assert kernel.news() == {}
    assert kernel.news(LIST_EVERY_S) == {}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("md127_raid5", "md127_raid5"), ("md127_resync", "md127_resync"), ("z_wr_int_3", "z_wr_int_3"),
        ("txg_sync", "txg_sync"), ("kworker/u8:3-dm-thin", "kworker/dm-thin"), ("kworker/R-xfsalloc", "kworker/xfsalloc"),
        ("kworker/0:1H+kblockd", "kworker/kblockd"), ("kworker/u9:0", OTHERS), ("kworker/0:1-events", OTHERS),
        ("jbd2/md127-8", "jbd2/md127-8"), ("bcache_writebac", "bcache_writebac"), ("migration/0", OTHERS),
        ("xfsaild/dm-0", "xfsaild/dm-0"), ("kcompactd0", OTHERS),
    ],
)  # fmt: skip
def test_a_thread_has_the_name_of_what_it_works_for(name: str, label: str) -> None:
    assert label_of(name, storage_threads(OF_LAYERS)) == label


def test_the_machines_own_threads_can_be_read() -> None:
    threads = Threads()
    threads.news()
    assert all(ms > 0 for ms in threads.news(whole=True).values())
    threads.close()


def test_the_busiest_thread_of_a_name_is_found_between_two_looks(kernel: Kernel) -> None:
    worker = "kworker/u4:2-kcryptd/1"
    for pid, name, ticks in ((10, "z_wr_iss", 500), (11, "z_wr_iss", 100), (12, worker, 0), (13, "md0_raid1", 7)):
        kernel.thread(pid, name, ticks)
    kernel.thread(14, "fio", 5000, flags=0)
    before = look_once(kernel.procfs)
    assert set(before) == {"10", "11", "12", "13"}
    second = 1000 // MS_PER_TICK
    kernel.thread(10, "z_wr_iss", 500 + second)
    kernel.thread(11, "z_wr_iss", 100 + 2 * second)
    kernel.thread(12, worker, second // 2)
    found = busiest(before, look_once(kernel.procfs), 2.0)
    assert found == {"z_wr_iss": 100.0, "kworker/kcryptd/1": 25.0}
    assert list(found) == ["z_wr_iss", "kworker/kcryptd/1"]


def frame(at_s: float, span_s: float | None = 1.0, *, whole: bool = False, **threads: int) -> Frame:
    return Frame(at_s, 0.0, span_s, whole, threads=threads)


def test_rates_are_percent_of_one_core_since_the_frame_before() -> None:
    frames = Frames()
    frames.apply(frame(0.0, None, whole=True))
    assert frames.thread_rates() == {}
    frames.apply(frame(1.0, md0_raid5=500))
    assert frames.thread_rates() == {"md0_raid5": 50.0}
    frames.apply(frame(3.0, 2.0, txg_sync=20))
    assert frames.thread_rates() == {"md0_raid5": 0.0, "txg_sync": 1.0}


def test_a_reader_that_begins_at_a_whole_frame_knows_no_rates_yet() -> None:
    frames = Frames()
    frames.apply(frame(9.0, whole=True, md0_raid5=5000))
    assert frames.thread_rates() == {}
    frames.apply(frame(10.0, md0_raid5=5100))
    assert frames.thread_rates() == {"md0_raid5": 10.0}


def test_journals_of_before_have_no_threads() -> None:
    old = msgspec.json.decode(b'{"at_s":1.0,"unix_s":1.0,"span_s":1.0}', type=Frame)
    frames = Frames()
    frames.apply(old)
    frames.apply(old)
    assert frames.thread_rates() == {}


def test_the_sampler_puts_them_into_its_frames(tmp_path: Path) -> None:
    (tmp_path / "diskstats").write_text("")
    (tmp_path / "stat").write_text("cpu0 1 2 3 4 5 6 7 8\nintr 5\n")
    kernel = Kernel(tmp_path)
    kernel.thread(10, "txg_sync", 0)
    taken: list[Frame] = []
    sampler = Sampler(taken.append, procfs=tmp_path, threads=kernel.threads)
    sampler.tick()
    kernel.thread(10, "txg_sync", 7)
    sampler.tick()
    sampler.tick()
    sampler.tick(whole=True)
    assert [found.threads for found in taken] == [{}, {"txg_sync": 7 * MS_PER_TICK}, {}, {"txg_sync": 7 * MS_PER_TICK}]
    sampler.close()
