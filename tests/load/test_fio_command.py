"""The command line: what is fixed, what follows from options, and that fio takes it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raidtui.base import proc
from raidtui.load.fio import ENGINE
from raidtui.load.fio.command import command, prefill_spec
from raidtui.load.fio.spec import RANDOM, WRITES, FioSpec, region_of
from raidtui.model.convert import decode
from raidtui.model.image import image_address
from raidtui.model.units import Duration, Extent

SIZE = 8 << 30
FIXED = ("--thread=1", "--allow_file_create=0", "--allow_mounted_write=0", "--group_reporting=1", "--exitall_on_error=1")


@st.composite
def specs(draw: st.DrawFn) -> FioSpec:
    """Any combination that is honest."""
    rw = draw(st.sampled_from(["read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"]))
    ioengine = draw(st.sampled_from(["io_uring", "libaio", "psync", "pvsync2", "sync"]))
    options: dict[str, object] = {"rw": rw, "ioengine": ioengine, "runtime": draw(st.sampled_from(["1.5s", "60s", "2m"]))}
    maybe: dict[str, st.SearchStrategy[object]] = {
        "numjobs": st.integers(1, 8),
        "ramp_time": st.sampled_from(["0s", "5s", "250ms"]),
        "time_based": st.booleans(),
        "size": st.sampled_from(["1GiB", "20%", "1.5GB"]),
        "offset": st.sampled_from(["1GiB", "20%"]),
        "thinktime": st.sampled_from(["0.1ms", "1ms"]),
    }
    if ioengine in ("io_uring", "libaio"):
        maybe |= {"iodepth": st.integers(4, 256), "iodepth_batch_submit": st.integers(1, 4), "iodepth_low": st.just(2)}
        maybe |= {"iodepth_batch_complete_min": st.just(1), "iodepth_batch_complete_max": st.integers(1, 4)}
    if ioengine == "io_uring":
        maybe |= {"hipri": st.booleans(), "fixedbufs": st.booleans(), "registerfiles": st.booleans()}
    if rw in WRITES:
        maybe |= {"fsync": st.integers(0, 99), "fdatasync": st.integers(0, 99), "end_fsync": st.booleans()}
        maybe |= {"sync": st.sampled_from(["none", "sync", "dsync"]), "buffer_compress_percentage": st.integers(0, 100)}
        maybe |= {"dedupe_percentage": st.integers(0, 99)}
    if rw in ("rw", "readwrite", "randrw"):
        maybe["rwmixread"] = st.integers(0, 100)
    if rw in RANDOM:
        maybe |= {"percentage_random": st.integers(0, 100), "randrepeat": st.booleans(), "norandommap": st.booleans()}
        maybe["random_distribution"] = st.sampled_from(
            ["random", "zipf:1.2", "zipf:0.9", "pareto:0.2", "normal:20", "zoned:60/10:30/20:10/70"]
        )
    if draw(st.booleans()):
        options["bssplit"] = draw(st.sampled_from(["4KiB/60:64KiB/40", "512B/100", "1MiB/10:8KiB/90"]))
    else:
        options["bs"] = draw(st.sampled_from(["512B", "4KiB", "64KiB", "1MiB", "4.5KiB"]))
    for name, values in maybe.items():
        if draw(st.booleans()):
            options[name] = draw(values)
    options |= draw(st.sampled_from([{}, {"rate": "10MB"}, {"rate_iops": 500}]))
    if options.get("iodepth") and draw(st.booleans()):
        options |= {"latency_target": "0.75ms", "latency_window": "500ms", "latency_percentile": 99.9}
    if not options.get("iodepth"):
        options = {name: value for name, value in options.items() if not name.startswith(("iodepth_", "latency_"))}
    spec = decode(FioSpec, options)
    assert ENGINE.check(spec, "$") == []
    assert ENGINE.check_target(spec, "$", SIZE) == []
    return spec


@given(specs(), st.one_of(st.none(), st.just(SIZE)))
def test_no_option_can_become_another(spec: FioSpec, size_bytes: int | None) -> None:
    argv = command(spec, ["/proc/self/fd/7", "/proc/self/fd/8"], size_bytes=size_bytes)
    assert all(re.fullmatch(r"--[a-z_-]+(=[A-Za-z0-9_./:%+-]+)?", word, re.ASCII) for word in argv[1:])
    assert [word for word in argv if word.startswith("--filename=")] == [
        "--filename=/proc/self/fd/7",
        "--filename=/proc/self/fd/8",
    ]
    for word in FIXED:
        assert argv.count(word) == 1
    assert ("--readonly" in argv) == (not spec.writes)
    names = [word.partition("=")[0] for word in argv[1:]]
    assert sorted(set(names)) == sorted(
        n for n in set(names) if names.count(n) == (2 if n in ("--name", "--filename") else 1)
    )


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(specs(), st.booleans())
def test_fio_takes_every_honest_workload(spec: FioSpec, planned: bool) -> None:
    if proc.find_tool("fio") is None:
        pytest.skip("fio is not installed")
    argv = ENGINE.command(spec, ("/proc/self/fd/0",), size_bytes=None if planned else SIZE)
    finished = proc.run([argv[0], "--parse-only", *argv[1:]], timeout_s=20, env={})
    assert finished.error_text == ""


@given(specs(), st.integers(SIZE, 4 * SIZE))
def test_a_region_stays_within_its_target(spec: FioSpec, size_bytes: int) -> None:
    region = region_of(spec, size_bytes)
    if not ENGINE.check_target(spec, "$", size_bytes):
        assert region.offset >= 0
        assert region.size > 0
        assert region.end <= size_bytes


@given(st.integers(1, SIZE // 512), st.integers(0, SIZE // 512))
def test_prefill_covers_the_region_whole_and_nothing_beyond_the_device(region: int, more: int) -> None:
    region_bytes, size_bytes = region * 512, (region + more) * 512
    spec = prefill_spec(FioSpec(rw="read", runtime=Duration("1s"), size=Extent(f"{region_bytes}B")), size_bytes)
    assert ENGINE.check(spec, "$") == []
    covered = region_of(spec, size_bytes).size
    assert region_bytes <= covered <= size_bytes
    assert covered % spec.largest_block_bytes == 0


def test_shares_of_a_target_that_exists_are_the_same_bytes_on_every_device() -> None:
    spec = decode(FioSpec, {"rw": "randread", "bs": "4KiB", "runtime": "5s", "size": "50%", "offset": "25%"})
    argv = command(spec, ["/dev/a"], size_bytes=100 << 20)
    assert {"--size=52428800", "--offset=26214400"} < set(argv)
    assert {"--size=50%", "--offset=25%"} < set(command(spec, ["/dev/a"]))


def test_a_workload_without_a_region_reaches_the_last_whole_mebibyte() -> None:
    spec = decode(FioSpec, {"rw": "randread", "bs": "4KiB", "runtime": "5s"})
    assert "--size=104857600" in command(spec, ["/dev/a"], size_bytes=(100 << 20) + 4096)


def test_colons_in_a_path_do_not_make_it_two_files() -> None:
    spec = decode(FioSpec, {"rw": "read", "bs": "4KiB", "runtime": "5s"})
    assert command(spec, ["/dev/disk/by-path/pci-0000:03"])[-1] == r"--filename=/dev/disk/by-path/pci-0000\:03"


@pytest.mark.parametrize("path", ["/dev/a\nexec_prerun=id", "/dev/a\0", "/dev/\x1b[0m"])
def test_a_path_that_is_not_plain_text_is_no_target(path: str) -> None:
    spec = decode(FioSpec, {"rw": "read", "bs": "4KiB", "runtime": "5s"})
    with pytest.raises(ValueError, match="is not a valid path"):
        command(spec, [path])





def test_the_reason_for_buffered_io_is_not_given_to_fio() -> None:
    spec = decode(
        FioSpec,
        {"rw": "read", "bs": "4KiB", "runtime": "5s", "direct": False, "why_buffered": "x\n--exec_prerun=id"},
    )
    assert not any("exec" in word for word in command(spec, ["/dev/a"]))


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({"rw": "randwrite", "bssplit": "4KiB/60:64KiB/40"}, 1),
        ({"rw": "randwrite", "bssplit": "4KiB/60:64KiB/40", "norandommap": True}, 1),
        ({"rw": "write", "bssplit": "4KiB/60:64KiB/40"}, 0),
        ({"rw": "randwrite", "bs": "4KiB"}, 0),
    ],
)
def test_fio_must_not_cut_the_blocks_of_a_mix(options: dict[str, Any], added: int) -> None:
    argv = command(decode(FioSpec, {"runtime": "1s", **options}), ["/dev/x"], size_bytes=1 << 30)
    assert argv.count("--norandommap=1") == added


def test_an_image_is_opened_by_fios_own_engine() -> None:
    spec = decode(FioSpec, {"rw": "randread", "bs": "4KiB", "ioengine": "io_uring", "iodepth": 4, "runtime": "5s"})
    argv = command(spec, ("rbd:pool/one", "rbd:pool/two"), size_bytes=SIZE, kind="image")
    assert [word for word in argv if "ioengine" in word] == ["--ioengine=rbd"]
    assert not [word for word in argv if word.startswith(("--filename", "--directory"))]
    assert argv[-4:] == ("--name=d1", "--clientname=admin", "--pool=pool", "--rbdname=two")
    argv = command(spec, ("rbd:pool/one:id=bench:conf=/etc/ceph/b.conf",), size_bytes=SIZE, kind="image")
    assert argv[:3] == ("/usr/bin/env", "CEPH_CONF=/etc/ceph/b.conf", "fio")
    assert "--clientname=bench" in argv


def test_an_image_of_vitastor_is_opened_by_an_engine_in_a_file() -> None:
    spec = decode(FioSpec, {"rw": "write", "bs": "4MiB", "numjobs": 2, "runtime": "5s"})
    argv = command(spec, ("vitastor:image=one", "vitastor:image=two:etcd_address=h1:2379/v3,h2:2379"), kind="image")
    assert [word for word in argv if "ioengine" in word] == ["--ioengine=libfio_vitastor.so"]
    assert argv[0] == "fio"
    assert argv[-5:] == ("--name=d0", "--image=one", "--name=d1", "--image=two", "--etcd=h1:2379/v3,h2:2379")


@given(st.from_regex(
    r"rbd:[a-z0-9-]{1,9}/[a-z0-9-]{1,9}(:id=[a-z.]{1,9})?(:conf=/[a-z/.]{1,9})?"
    r"|vitastor:image=[a-z0-9-]{1,9}(:config_path=/[a-z/.]{1,9})?(:etcd_address=[a-z0-9:/,]{1,20})?", fullmatch=True,
))
def test_an_address_of_an_image_is_read_back_as_it_was_written(text: str) -> None:
    assert str(image_address(text)) == text
