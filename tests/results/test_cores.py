"""Cores that storage took: what was busy, without the workload's own work, raidtui and other processes."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from test_comparing import cell, result

from raidtui.model.host import HostCores, HostUse, Neighbour, ProcessUse, WorkloadUse, storage_cores
from raidtui.model.result import Cell, HostPart, Result
from raidtui.results.compare import compare
from raidtui.results.cores import HEADS, HOSTS_HEADS, core_lines, host_lines
from raidtui.results.extract import lean_extract
from raidtui.results.formats import FORMATS

HOST = HostUse(
    workload=WorkloadUse(user_s=5.0, system_s=9.0, series={"user_cores": [0.5]}),
    own=ProcessUse(user_s=1.0, system_s=0.5),
    engines_s=0.5,
    neighbours=(Neighbour(7, "backup", cores=0.25),),
)


def used(one: Cell, busy: float, host: HostUse | None = HOST) -> Cell:
    return msgspec.structs.replace(one, cpu_cores_used=busy, host=host, seconds=10.0)


def two_layouts() -> Result:
    return result(
        used(cell("a", "w", 1000), 2.0), used(cell("a", "w", 1200, round=2), 3.0),
        used(cell("b", "w", 900), 1.0), used(cell("b", "w", 900, round=2, reasons=["the array resynced"]), 9.0),
        loads=("w",),
    )  # fmt: skip


def test_what_is_not_storages_is_taken_off() -> None:
    assert storage_cores(2.0, HOST, 10.0) == pytest.approx(2.0 - 0.5 - 0.15 - 0.05 - 0.25)
    assert storage_cores(0.1, HOST, 10.0) == 0.0
    serves = msgspec.structs.replace(HOST, neighbours=(*HOST.neighbours, Neighbour(8, "osd1", cores=0.5, daemon="osd")))
    assert storage_cores(2.0, serves, 10.0) == storage_cores(2.0, HOST, 10.0), "a daemon of the layout is storage"


@pytest.mark.parametrize(("busy", "host", "seconds"), [(None, HOST, 10.0), (2.0, None, 10.0), (2.0, HOST, 0.0)])
def test_what_is_not_known_is_no_number(busy: float | None, host: HostUse | None, seconds: float) -> None:
    assert storage_cores(busy, host, seconds) is None


def test_a_layout_has_the_mean_of_its_valid_rounds_and_the_rate_of_each_core() -> None:
    found = list(core_lines(compare(two_layouts())))
    # 1.05 and 2.05 cores; the typical rate is the geometric mean of 1000 and 1200.
    assert found == [("a", "w", "1.55", "707 IOPS"), ("b", "w", "0.05", "18,000 IOPS")]


def test_a_result_without_cores_has_no_table() -> None:
    bare = result(cell("a", "w", 1000), loads=("w",))
    assert list(core_lines(compare(bare))) == []
    for name in ("table", "md", "html"):
        assert HEADS[-1] not in FORMATS[name].write(compare(bare)).decode().lower()


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_every_text_format_has_the_table(name: str) -> None:
    text = FORMATS[name].write(compare(two_layouts())).decode()
    assert "707 IOPS" in text
    assert "1.55" in text


def test_lines_of_cells_have_their_own_number() -> None:
    text = FORMATS["csv"].write(compare(two_layouts())).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["storage_cores"]) for row in rows] == pytest.approx([1.05, 2.05, 0.05, 8.05])


def test_thousands_of_results_know_it_too() -> None:
    found, _ = lean_extract(msgspec.json.encode(two_layouts()))
    assert [point.storage_cores for point in found.points] == pytest.approx([1.05, 2.05, 0.05, 8.05])


STORES = HostCores(4, 1.5, user=0.1, system=0.8, softirq=0.4, threads={"kworker/nvmet_tcp_wq": 0.6, "others": 0.2})
LOADS = HostCores(2, 1.0, user=0.5, system=0.3, softirq=0.2, workload_user=0.4, workload_system=0.2, own_system=0.1)


def loaded_by_two() -> Result:
    one = cell("a", "w", 1600)
    hosts = {f"clients-{number}": HostPart(write=one.summary.write, cores=LOADS) for number in (1, 2)}
    return result(msgspec.structs.replace(used(one, 1.5), hosts=hosts, cores=STORES), loads=("w",), order=("a",))


def test_each_host_has_its_cores_and_all_of_them_carry_the_rate() -> None:
    found = list(host_lines(compare(loaded_by_two())))
    client = ("1.00 of 2", "0.60", "0.20", "0.00", "0.40", "–")
    assert found == [
        ("a", "w", "storage", "1.50 of 4", "–", "0.40", "0.60", "1.20", "1,333 IOPS"),
        ("a", "w", "clients-1", *client), ("a", "w", "clients-2", *client),
        ("a", "w", "all hosts", "–", "–", "–", "–", "2.00", "800 IOPS"),
    ]  # fmt: skip
    assert list(host_lines(compare(two_layouts()))) == [], "the storage server loaded it by itself"


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_every_text_format_has_the_table_of_hosts(name: str) -> None:
    text = FORMATS[name].write(compare(loaded_by_two())).decode()
    assert "all hosts" in text
    assert HOSTS_HEADS[-1] in text.lower()


def test_thousands_of_results_know_their_hosts() -> None:
    found, _ = lean_extract(msgspec.json.encode(loaded_by_two()))
    assert list(found.points[0].hosts.items()) == [("storage", STORES), ("clients-1", LOADS), ("clients-2", LOADS)]
