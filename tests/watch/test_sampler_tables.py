"""The sampler's frames, whatever the kernel's tables say: expanded, they are always the whole table."""

import os
import re
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raidtui.inventory.hardware import temperature_sensors
from raidtui.model.frame import Frame, Frames, MdState
from raidtui.watch.sampler import Sampler, md_state, next_tick
from raidtui.watch.table import disk_table
from raidtui.watch.temperature import Heat, Thermometer

DATA = Path(__file__).parent / "data"
NUMBERS = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20).map(lambda numbers: " ".join(map(str, numbers)))
NAME = st.text("abcdmnsv0123456789!-", min_size=1, max_size=4)
DISKS = st.dictionaries(NAME, st.tuples(st.integers(0, 999), st.integers(0, 9999999), NUMBERS), max_size=6)


def write_tables(folder: Path, disks: str, stat: str = "cpu  1 2 3\ncpu0 1 2 3 4 5 6 7 8\nintr 5\n") -> None:
    (folder / "diskstats").write_text(disks)
    (folder / "stat").write_text(stat)


def lines_of(disks: dict[str, tuple[int, int, str]]) -> str:
    return "".join(f"{major:4d} {minor:7d} {name} {text}\n" for name, (major, minor, text) in disks.items())


@settings(deadline=None)
@given(st.lists(st.tuples(DISKS, st.booleans()), min_size=1, max_size=6))
def test_frames_put_together_are_always_the_whole_table(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[dict[str, tuple[int, int, str]], bool]]
) -> None:
    procfs = tmp_path_factory.mktemp("proc")
    frames = Frames()
    write_tables(procfs, "")
    sampler = Sampler(lambda frame: frames.apply(through_journal(frame)), procfs=procfs)
    for disks, whole in steps:
        write_tables(procfs, lines_of(disks))
        sampler.tick(whole=whole)
        assert frames.devices == {name: text for name, (_, _, text) in disks.items()}
        assert frames.cpus == {"cpu0": "1 2 3 4 5 6 7 8"}
    sampler.close()


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=4))
def test_no_table_makes_the_sampler_raise_or_write_a_frame_that_cannot_be_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    procfs = tmp_path_factory.mktemp("proc")
    write_tables(procfs, "", "")
    frames = Frames()
    sampler = Sampler(lambda frame: frames.apply(through_journal(frame)), procfs=procfs)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        (procfs / "diskstats").write_bytes(data)
        (procfs / "stat").write_bytes(data)
        sampler.tick()
        for name in (*frames.devices, *frames.cpus):
            frames.rates(name)
            frames.cpu_rates(name)
    sampler.close()


def through_journal(frame: Frame) -> Frame:
    return msgspec.json.decode(msgspec.json.encode(frame), type=Frame)


def test_only_what_changed_is_in_a_frame(tmp_path: Path) -> None:
    before, after = ((DATA / f"diskstats.{name}").read_text() for name in ("before", "after"))
    write_tables(tmp_path, before, (DATA / "stat.before").read_text())
    found: list[Frame] = []
    sampler = Sampler(found.append, procfs=tmp_path)
    sampler.tick()
    write_tables(tmp_path, after, (DATA / "stat.after").read_text())
    sampler.tick()
    sampler.tick()
    sampler.tick(whole=True)
    sampler.close()
    first, second, third, fourth = found
    assert (first.span_s, first.whole, len(first.devices)) == (None, True, 10)
    assert (set(second.devices), set(second.cpus), second.whole) == ({"vda"}, {"cpu0", "cpu1"}, False)
    assert second.span_s is not None
    assert (third.devices, third.cpus, third.gone) == ({}, {}, ())
    assert (fourth.whole, len(fourth.devices), set(fourth.cpus)) == (True, 10, {"cpu0", "cpu1"})
    assert fourth.span_s is not None


def test_another_device_in_the_place_of_one_that_left_is_seen(tmp_path: Path) -> None:
    write_tables(tmp_path, "   8       0 sda 1 1\n   8      16 sdb 1 1\n")
    found: list[Frame] = []
    sampler = Sampler(found.append, procfs=tmp_path)
    sampler.tick()
    write_tables(tmp_path, "   8       0 sda 1 1\n   8      32 sdc 1 1\n")
    sampler.tick()
    write_tables(tmp_path, "   8       0 sda 1 1\n   8      48 sdc 1 1\n")
    sampler.tick()
    sampler.close()
    assert (found[1].devices, found[1].gone) == ({"sdc": "1 1"}, ("sdb",))
    assert (found[2].devices, found[2].gone) == ({"sdc": "1 1"}, ())


def test_a_core_that_goes_offline_is_gone(tmp_path: Path) -> None:
    write_tables(tmp_path, "", "cpu  1 1\ncpu0 1 1\ncpu1 1 1\nintr 1\n")
    found: list[Frame] = []
    sampler = Sampler(found.append, procfs=tmp_path)
    sampler.tick()
    write_tables(tmp_path, "", "cpu  1 1\ncpu0 1 1\nintr 1\n")
    sampler.tick()
    sampler.close()
    assert found[1].gone == ("cpu1",)


def test_a_table_of_a_thousand_devices_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "diskstats"
    path.write_text(lines_of({f"nvme{i}n1": (259, i, " ".join([str(2**60 + i)] * 17)) for i in range(1000)}))
    table = disk_table(path)
    assert len(table.read().rows) == 1000
    assert table.read().rows == {}
    table.close()


def test_the_kernel_s_own_tables_are_read() -> None:
    found: list[Frame] = []
    sampler = Sampler(found.append)
    sampler.tick()
    sampler.close()
    expected = re.findall(r"^ *\d+ +\d+ (\S+) ", Path("/proc/diskstats").read_text(), re.MULTILINE)
    assert list(found[0].devices) == expected
    assert len(found[0].cpus) == os.sysconf("SC_NPROCESSORS_ONLN")


def test_ticks_come_once_per_interval_and_stop_takes_a_last_one(tmp_path: Path) -> None:
    write_tables(tmp_path, "")
    found: list[Frame] = []
    sampler = Sampler(found.append, procfs=tmp_path, interval_s=0.05)
    began = time.monotonic()
    sampler.start()
    time.sleep(0.32)
    last = sampler.stop()
    took = time.monotonic() - began
    assert found[-1] is last
    assert sum(frame.span_s or 0 for frame in found) == pytest.approx(last.at_s - found[0].at_s)
    assert 4 <= len(found) <= took / 0.05 + 2


def test_what_the_sink_raises_is_raised_by_stop(tmp_path: Path) -> None:
    write_tables(tmp_path, "")
    found: list[Frame] = []

    def sink(frame: Frame) -> None:
        found.append(frame)
        if len(found) == 2:
            raise OSError("no space left")

    sampler = Sampler(sink, procfs=tmp_path, interval_s=0.01)
    sampler.start()
    deadline = time.monotonic() + 5
    while sampler.failure is None and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(OSError, match="no space left"):
        sampler.stop()


def test_no_table_no_sampler(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="diskstats"):
        Sampler(lambda frame: None, procfs=tmp_path)


@given(st.floats(0, 1e6), st.floats(0, 1e5), st.floats(0.01, 60))
def test_the_next_tick_is_on_the_grid_and_to_come(last_s: float, late_s: float, interval_s: float) -> None:
    next_s = next_tick(last_s, last_s + late_s, interval_s)
    assert next_s - (last_s + late_s) == pytest.approx(interval_s / 2, abs=interval_s / 2 + 1e-6)
    assert (next_s - last_s) / interval_s == pytest.approx(round((next_s - last_s) / interval_s), abs=1e-5)


def test_md_state_is_what_sysfs_says(tmp_path: Path) -> None:
    md = tmp_path / "md127" / "md"
    md.mkdir(parents=True)
    for name, text in {
        "array_state": "clean",
        "sync_action": "resync",
        "degraded": "1",
        "sync_completed": "128 / 4096",
    }.items():
        (md / name).write_text(f"{text}\n")
    assert md_state("md127", tmp_path) == MdState("clean", "resync", 1, 128, 4096)
    (md / "sync_completed").write_text("none\n")
    assert md_state("md127", tmp_path) == MdState("clean", "resync", 1, None, None)
    for name in ("sync_action", "degraded"):
        (md / name).unlink()
    assert md_state("md127", tmp_path) == MdState("clean")
    assert md_state("md126", tmp_path) == MdState()


def test_watched_arrays_are_in_every_frame(tmp_path: Path) -> None:
    write_tables(tmp_path, "")
    (tmp_path / "md0" / "md").mkdir(parents=True)
    (tmp_path / "md0" / "md" / "array_state").write_text("active\n")
    found: list[Frame] = []
    sampler = Sampler(found.append, procfs=tmp_path, sys_block=tmp_path)
    sampler.tick()
    sampler.watch_md(["md0"])
    sampler.tick()
    sampler.tick()
    sampler.close()
    assert [frame.md for frame in found] == [{}, {"md0": MdState("active")}, {"md0": MdState("active")}]


@pytest.mark.parametrize("folder", ["hwmon/hwmon2", "hwmon2", "nvme0/hwmon2"])
def test_a_temperature_is_handed_out_once(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "nvme0n1" / "device" / folder / "temp1_input"
    path.parent.mkdir(parents=True)
    path.write_text("41500\n")
    assert next(temperature_sensors(tmp_path / "nvme0n1")) == path
    thermometer = Thermometer(["nvme0n1", "sda"], sys_block=tmp_path)
    assert thermometer.news() == {}
    thermometer.read()
    assert thermometer.news() == {"nvme0n1": 41.5}
    assert thermometer.news() == {}


def test_a_disk_says_from_where_on_it_is_too_hot(tmp_path: Path) -> None:
    folder = tmp_path / "nvme0n1" / "device" / "hwmon2"
    folder.mkdir(parents=True)
    for name, millidegrees in (("temp1_input", 41500), ("temp1_max", 84000)):
        (folder / name).write_text(f"{millidegrees}\n")
    thermometer = Thermometer(["nvme0n1"], sys_block=tmp_path, dev=tmp_path)
    thermometer.start()
    assert thermometer.heat(10.0) == {"nvme0n1": Heat(84.0)}
    assert thermometer.new_limits() == {"nvme0n1": 84.0}
    assert thermometer.new_limits() == {}
    # In one go, as the kernel's files change: the thermometer may be reading.
    (folder / "next").write_text("70000\n")
    (folder / "next").rename(folder / "temp1_max")
    assert thermometer.heat(10.0) == {"nvme0n1": Heat(70.0)}
    thermometer.stop()
