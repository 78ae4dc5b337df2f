"""fio's job files become workloads that measure the same, and whatever does not come over is said or refused by name."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.engine.compose.reading import read_document
from raidtui.foreign import fio_options
from raidtui.foreign.documents import READERS
from raidtui.foreign.sources import Imported, Source
from raidtui.model.problem import ProblemError
from raidtui.model.units import Size

READER = READERS["fio-job"]
CAMPAIGN = """
; what one campaign typed on its command line, as a file
[global]
ioengine=libaio
direct=1
invalidate=1
runtime=60
time_based
filename=/dev/nvme1n1
stonewall

[seq_mbs_write_T1Q32]
bs=4M
iodepth=32
rw=write

[rand_iops_write_T4Q128]   # four jobs
bs=4k
iodepth=128
numjobs=4
group_reporting
rw=randwrite
randrepeat=0

[rand_iops_write_T1Q1]
bs=4k
iodepth=1
fsync=1
rw=randwrite
randrepeat=0
"""


def read(text: str, *, leave_out: bool = False, name: str = "a job.fio") -> Imported:
    return READER.read([Source(name, text.encode())], leave_out=leave_out)


def fio(text: str, **more: Any) -> dict[str, Any]:
    """The options of the only workload of a job file."""
    (workload,) = read(f"[job]\ndirect=1\nruntime=5\ntime_based\n{text}", **more).document["workloads"].values()
    return dict(workload["fio"])


def refusals(text: str) -> list[str]:
    with pytest.raises(ProblemError) as caught:
        read(text)
    assert {problem.code for problem in caught.value.problems} == {"import-fio-job"}
    assert all(problem.place.startswith("a job.fio") for problem in caught.value.problems)
    return [problem.message for problem in caught.value.problems]


def test_a_campaign_comes_over_whole() -> None:
    imported = read(CAMPAIGN)
    same = {"ioengine": "libaio", "runtime": "60s"}
    assert imported.document["workloads"] == {
        "seq_mbs_write_t1q32": {"fio": {"rw": "write", "bs": "4MiB", "iodepth": 32, **same}},
        "rand_iops_write_t4q128": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 128, "numjobs": 4, **same}},
        "rand_iops_write_t1q1": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 1, "fsync": 1, **same}},
    }
    assert imported.suffix == ".scenario.json"
    scenario = read_document(json.dumps(imported.document)).scenario
    assert (scenario.name, list(scenario.layouts)) == ("a-job", ["disk"])
    assert [note.partition(": left out: ")[0] for note in imported.notes] == [
        "a job.fio: filename",
        "a job.fio: stonewall",
        "a job.fio: group_reporting",
    ]


def test_it_is_recognised_by_its_sections() -> None:
    assert READER.claims(Source("x", CAMPAIGN.encode()))
    assert not READER.claims(Source("x", b'{"fio version": "fio-3.33", "jobs": []}'))
    assert not READER.claims(Source("x", b"[Unit]\nDescription=a service\n"))
    assert not any(reader.claims(Source("x", CAMPAIGN.encode())) for name, reader in READERS.items() if name != "fio-job")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        # fio's defaults are written down: its engine, its block, its page cache, its repeated offsets.
        ("", {"rw": "read", "ioengine": "psync", "bs": "4KiB"}),
        ("rw=randread", {"randrepeat": True}),
        ("rw=randread\nrandrepeat=0", {}),
        ("readwrite=randrw\nrwmixwrite=40", {"rw": "randrw", "rwmixread": 60}),
        ("rw=randread\npercentage_random=20", {"percentage_random": 20}),
        ("rw=write\nbs=8k,64k", {"bs": "64KiB"}),
        ("blocksize=64kb", {"bs": "64KiB"}),
        ("bs=4kib", {"bs": "4000B"}),
        ("kb_base=1000\nbs=4kib", {"bs": "4KiB"}),
        ("kb_base=1000\nsize=1g", {"size": "1000000000B"}),
        ("bsrange=4k-4k", {"bs": "4KiB"}),
        ("bssplit=4k/60:64k/40", {"bssplit": "4KiB/60:64KiB/40"}),
        ("bssplit=4k/10:64k/50:32k/", {"bssplit": "4KiB/10:64KiB/50:32KiB/40"}),
        ("size=50%\noffset=1g", {"size": "50%", "offset": "1GiB"}),
        ("ramp_time=2m\nthinktime=100", {"ramp_time": "120s", "thinktime": "0.100ms"}),
        ("iodepth=8\nioengine=libaio\nlatency_target=500000\nlatency_window=5s", {"latency_target": "500ms"}),
        ("rate=10m\nrw=write", {"rate": "10MiB"}),
        ("rate=,5m\nrw=write", {"rate": "5MiB"}),
        ("rw=randread\nrandom_distribution=zoned:50/5:30/15:20/", {"random_distribution": "zoned:50/5:30/15:20/80"}),
        ("rw=write\nbuffer_compress_percentage=50\ndedupe_percentage=30", {"buffer_compress_percentage": 50}),
        ("rw=write\nsync=1\nend_fsync=1", {"sync": "sync", "end_fsync": True}),
        ("iodepth_batch=4\niodepth=8\nioengine=io_uring", {"iodepth_batch_submit": 4}),
        ("directory=/data\nnrfiles=4\nfilesize=1m\nsize=4m", {"nrfiles": 4, "filesize": "1MiB"}),
    ],
)
def test_options_mean_what_they_mean_to_fio(text: str, options: dict[str, Any]) -> None:
    found = fio(text)
    assert {**found, **options} == found
    assert not set(found) & {"direct", "why_buffered"}, "it is direct"


def test_what_goes_through_the_page_cache_says_so() -> None:
    (options,) = (entry["fio"] for entry in read("[a]\nrw=write\nruntime=5\ntime_based").document["workloads"].values())
    assert not options["direct"]
    assert "job file" in options["why_buffered"]
    assert "buffered" not in fio("buffered=0")


def test_a_job_that_ends_with_its_size_ends_here_as_well() -> None:
    imported = read("[a]\ndirect=1\nrw=write\nsize=1g")
    (options,) = (entry["fio"] for entry in imported.document["workloads"].values())
    assert (options["time_based"], options["runtime"]) == (False, "1h")
    assert any("runtime" in note for note in imported.notes)


def test_files_become_a_filesystem_and_devices_do_not() -> None:
    assert list(read("[a]\ndirectory=/data\ndirect=1").document["layouts"]) == ["xfs"]
    assert list(read("[a]\nfilename=/dev/sdb\ndirect=1").document["layouts"]) == ["disk"]
    assert "measures files" in refusals("[a]\nfilename=/dev/sdb\n[b]\nstonewall\nfilename=data.bin")[0]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("exec_prerun=touch /tmp/x", "exec_prerun: runs a command"),
        ("exec_postrun=sh -c 'id'", "exec_postrun: runs a command"),
        ("include other.fio", "include other.fio: opens a file"),
        ("read_iolog=/etc/passwd", "read_iolog: opens a file"),
        ("write_iolog=/etc/x", "write_iolog: opens a file"),
        ("ioengine=exec", "ioengine: exec"),
        ("ioengine=external:/tmp/x.so", "ioengine: external"),
        ("rw=trim", "rw: trim"),
        ("rw=randread:8", "rw: randread:8"),
        ("bs=${SIZE}", "${SIZE} is not a plain size"),
        ("numjobs=$ncpus", "$ncpus is not a plain size"),
        ("size=(1024*4)", "(1024*4) is not a plain size"),
        ("rw=randrw\nbs=4k,8k", "4k,8k differs for reads and writes"),
        ("bsrange=4k-64k", "blocks of any size"),
        ("verify=crc32c", "verify: has no counterpart here"),
        ("zonemode=zbd", "zonemode: has no counterpart here"),
        ("cpus_allowed=0-3", "cpus_allowed: has no counterpart here"),
        ("mem=mmaphuge:/etc/x", "mem: has no counterpart here"),
        ("loops=3", "loops: has no counterpart here"),
        ("no_such_option=1", "no_such_option: has no counterpart here"),
        ("ioengine=libaio\niodepth=8\nbuffered=1", "libaio keeps no queue"),
        ("random_distribution=zoned_abs:50/10G:50/90G", "is not a distribution"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name_or_left_out_and_said(line: str, named: str) -> None:
    text = f"[a]\n{line}\n[b]\nstonewall\nrw=read\ndirect=1\n"
    assert any(named in message for message in refusals(text))
    imported = read(text, leave_out=True)
    assert "b" in imported.document["workloads"]
    assert any(named.partition(": ")[2] in note for note in imported.notes)
    assert "/etc" not in json.dumps(imported.document)


def test_a_number_of_files_that_is_none_is_refused_by_name() -> None:
    assert "nrfiles: many is not a plain size" in refusals("[a]\ndirect=1\nsize=1g\nfilesize=1m\nnrfiles=many\n")


def test_jobs_that_run_together_are_not_taken_for_jobs_in_turn() -> None:
    (message,) = refusals("[writer]\nrw=write\ndirect=1\n[reader]\nrw=read\ndirect=1\n")
    assert message == "reader and writer run at the same time in fio, and one after another here"
    assert len(read("[a]\nrw=write\n[b]\nrw=read\n", leave_out=True).document["workloads"]) == 2


def test_jobs_of_one_name_stay_apart_and_later_globals_hold_for_later_jobs() -> None:
    text = "[global]\ndirect=1\nbs=4k\n[x]\n[global]\nbs=8k\nstonewall\n[x]\n"
    assert [w["fio"]["bs"] for w in read(text).document["workloads"].values()] == ["4KiB", "8KiB"]
    assert list(read(text).document["workloads"]) == ["x", "x-2"]


@pytest.mark.parametrize("text", ["", "[global]\nbs=4k\n", "bs=4k\n[a]\n", "\xff", "[a]\n" * 300, "[a]\nrw=trim\n"])
def test_what_is_no_job_file_is_refused(text: str) -> None:
    with pytest.raises(ProblemError):
        READER.read([Source("x", text.encode("latin-1"))], leave_out=False)


WORDS = st.text(alphabet=string.ascii_letters + string.digits + "=:%/,.[]_$(){}\n ;#-", max_size=60)
OPTIONS = st.sampled_from(
    ["rw", "bs", "bssplit", "size", "runtime", "rate", "iodepth", "numjobs", "rwmixread", "ioengine", "direct", "sync"]
)


@given(st.lists(st.tuples(OPTIONS, WORDS), max_size=8))
def test_no_job_file_makes_it_stumble(pairs: list[tuple[str, str]]) -> None:
    text = "[a]\n" + "".join(f"{name}={value}\n" for name, value in pairs)
    try:
        assert read(text, leave_out=True).document["workloads"]
    except ProblemError:
        assert "\n" in text


@given(st.integers(0, 10**15 - 1))
def test_sizes_keep_every_byte(count: int) -> None:
    assert Size(fio_options.size(str(count), 1024)).bytes == count
