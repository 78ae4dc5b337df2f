"""Load from several hosts by fio's client and server: job files, and the joined report.

`two-clients.json` is the report of a client of fio 3.39 for two servers, in a lab with a storage server and two hosts.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio.clients import from_hosts, job_file, read_clients
from raidtui.load.fio.command import command
from raidtui.load.fio.engine import FioEngine, asked_of
from raidtui.load.fio.report import joined_spread, summary_of
from raidtui.load.fio.spec import FioSpec
from raidtui.model.plan import OnHost
from raidtui.model.units import Duration, Extent

RAW = (Path(__file__).parents[1] / "data/fio/two-clients.json").read_bytes()
SOCKETS = {"/run/clients-1.sock": "clients-1", "/run/clients-2.sock": "clients-2"}
GIB = 1 << 30


def jobs_of(spec: FioSpec, offset_bytes: int, devices: int = 1) -> list[str]:
    argv = command(spec, [f"/proc/self/fd/{100 + number}" for number in range(devices)], size_bytes=GIB)
    return job_file(argv, offset_bytes).splitlines()


def test_a_job_file_has_the_options_of_the_command_and_the_region_of_its_host():
    lines = jobs_of(FioSpec(rw="randread", runtime=Duration("9s"), size=Extent("64MiB")), 3 * GIB, devices=2)
    assert lines[0] == "[global]"
    assert {"rw=randread", "runtime=9s", f"size={64 << 20}", f"offset={3 * GIB}", "direct=1"} <= set(lines)
    assert lines[-4:] == ["[d0]", "filename=/proc/self/fd/100", "[d1]", "filename=/proc/self/fd/101"]
    assert lines.index(f"offset={3 * GIB}") < lines.index("[d0]"), "it holds for every device"
    assert not [line for line in lines if line.startswith(("output-format", "eta", "status-interval", "readonly"))]


def test_an_offset_of_the_workload_is_within_the_region_of_its_host():
    lines = jobs_of(FioSpec(rw="write", runtime=Duration("9s"), size=Extent("64MiB"), offset=Extent("128MiB")), GIB)
    assert [line for line in lines if line.startswith("offset=")] == [f"offset={GIB + (128 << 20)}"]
    first = jobs_of(FioSpec(rw="write", runtime=Duration("9s"), size=Extent("64MiB")), 0)
    assert not [line for line in first if line.startswith("offset=")]


def test_the_client_has_a_server_and_a_job_file_for_each_host():
    argv = command(FioSpec(rw="read", runtime=Duration("9s"), size=Extent("64MiB")), ["/dev/a"], size_bytes=GIB)
    ran, files = from_hosts(argv, (OnHost("clients-1", ("a",), 0), OnHost("clients-2", ("a",), GIB)))
    assert ran[-4:] == ("--client=sock:clients-1.sock", "clients-1.fio", "--client=sock:clients-2.sock", "clients-2.fio")
    assert files == {"clients-1.fio": job_file(argv, 0), "clients-2.fio": job_file(argv, GIB)}


def test_hosts_are_joined_to_sums_and_to_percentiles_of_their_summed_histograms():
    report = read_clients(RAW, SOCKETS)
    raw = json.loads(RAW)["client_stats"]
    each, whole = raw[:2], raw[2]
    assert whole["jobname"] == "All clients"
    summary = summary_of(report, 2)
    assert summary.read.ios == sum(one["read"]["total_ios"] for one in each) == whole["read"]["total_ios"]
    assert summary.read.iops == pytest.approx(whole["read"]["iops"])
    assert summary.read.latency.mean_us == pytest.approx(whole["read"]["clat_ns"]["mean"] / 1000, rel=1e-6)
    assert summary.read.latency.max_us == whole["read"]["clat_ns"]["max"] / 1000
    merged = sorted((int(ns), n) for one in each for ns, n in one["read"]["clat_ns"]["bins"].items())
    below = sum(n for ns, n in merged if ns < summary.read.latency.p99_us * 1000)
    upto = sum(n for ns, n in merged if ns <= summary.read.latency.p99_us * 1000)
    assert below < 0.99 * summary.read.ios <= upto
    iops = {host: summary_of(part, 1).read.iops for host, part in report.hosts.items()}
    assert iops == {f"clients-{at}": pytest.approx(one["read"]["iops"]) for at, one in enumerate(each, 1)}


def test_the_joined_percentiles_of_one_host_are_its_own():
    group = read_clients(RAW, SOCKETS).hosts["clients-1"].group
    joined = joined_spread([group.read.clat_ns])
    assert {name: joined.percentile[name] for name in ("50.000000", "99.000000")} == {
        name: pytest.approx(group.read.clat_ns.percentile[name], rel=0.05) for name in ("50.000000", "99.000000")
    }


def test_a_host_without_numbers_is_named():
    with pytest.raises(ValueError, match="nothing of clients-3"):
        read_clients(RAW, {**SOCKETS, "/run/clients-3.sock": "clients-3"})


def test_every_host_runs_all_jobs_on_each_of_its_devices():
    devices = tuple(TargetDevice(-1, f"clients-{host}:{number}", GIB) for host in (1, 2) for number in (1, 2))
    target = Target(devices, on=tuple(OnHost(host, ("a", "b"), 0) for host in SOCKETS.values()))
    assert asked_of(FioSpec(rw="read", runtime=Duration("9s"), numjobs=3), target).jobs == 12
    assert FioEngine().from_hosts
