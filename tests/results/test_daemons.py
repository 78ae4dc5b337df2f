"""Daemons of a cluster in a result: tables by host and kind, rates for each of their cores, bytes for each byte."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from test_comparing import cell, result
from test_cores import used

from raidtui.model.host import DaemonUse, HostCores
from raidtui.model.plan import Amplification
from raidtui.model.result import Cell, Result
from raidtui.results.compare import compare, compare_many
from raidtui.results.daemons import byte_lines, daemon_lines
from raidtui.results.extract import lean_extract
from raidtui.results.formats import FORMATS
from raidtui.results.metrics import metrics_of
from raidtui.tui.results import pages

MIB = 1 << 20
OSD = DaemonUse(2, 0.5, 0.25, 64 * MIB, 0, 6 * MIB)
HERE = HostCores(
    4, 2.0, user=1.0, system=0.5, workload_user=0.4, workload_system=0.1, threads={"kworker/rbd": 0.2, "others": 0.1},
    daemons={"mon": DaemonUse(1, 0.05, 0.0, 32 * MIB, 0, 4096), "osd": OSD}, sent_bytes=5 * MIB,
)  # fmt: skip
THERE = HostCores(4, 1.0, daemons={"osd": DaemonUse(1, 0.2, 0.0, 32 * MIB, 0, 3 * MIB)}, sent_bytes=MIB)
UP = {"osd": 3, "mon": 1}


def served(up: dict[str, int] = UP, **facts: object) -> Cell:
    one = cell("copies", "w", 1000)
    facts = {"cores": HERE, "serving": {"nodes-1": THERE}, "write_amplification": 3.0,
             "expected_write_amplification": Amplification("2 copies", 2.0), **facts}  # fmt: skip
    return msgspec.structs.replace(used(one, 2.0), daemons=up, **facts)


def of(*cells: Cell) -> Result:
    return result(*cells, loads=("w",), order=("copies",))


def test_each_host_has_its_kinds_and_all_of_them_carry_the_rate() -> None:
    found = [line[2:] for line in daemon_lines(compare(of(served())))]
    assert found == [
        ("storage", "mon", "1", "0.05", "32.0 MiB", "0 B", "4.0 KiB", "–"),
        ("storage", "osd", "2", "0.75", "64.0 MiB", "0 B", "6.0 MiB", "–"),
        ("storage", "client", "–", "0.70", "–", "–", "–", "–"),
        ("nodes-1", "osd", "1", "0.20", "32.0 MiB", "0 B", "3.0 MiB", "–"),
        ("nodes-1", "client", "–", "0.00", "–", "–", "–", "–"),
        ("all hosts", "daemons", "4 of 4", "1.00", "–", "–", "–", "1,000 IOPS"),
        ("all hosts", "all", "–", "1.70", "–", "–", "–", "588 IOPS"),
    ]


def test_the_page_of_a_result_has_the_sums() -> None:
    page = pages.summary(of(served()), 100).plain
    assert "1.00 cores, 4 of 4 processes, 1,000 IOPS for each" in page
    assert "1.70 cores, 588 IOPS for each" in page


@pytest.mark.parametrize("up", [{"osd": 9, "mon": 1}, {}])
def test_without_all_daemons_there_is_no_rate_for_each_core(up: dict[str, int]) -> None:
    found = of(served(up))
    last = list(daemon_lines(compare(found)))[-2:]
    assert [line[-1] for line in last] == ["–", "–"]
    assert last[0][4] == ("4 of 10" if up else "4")
    assert not {"daemon cores", "per daemon core"} & set(metrics_of(compare(found)))


def test_a_layout_is_compared_by_the_cores_of_its_daemons() -> None:
    found = of(served(), served(cores=msgspec.structs.replace(HERE, daemons={**HERE.daemons, "osd": OSD}), round=2))
    assert {"daemon cores", "per daemon core"} <= set(metrics_of(compare(found)))
    numbers = [compare_many([found], metric=name).rows[0].entries[0] for name in ("daemon cores", "per daemon core")]
    assert [one and one.typical for one in numbers] == pytest.approx([1.0, 1000.0])


def test_bytes_are_told_for_each_byte_where_all_osds_were_seen() -> None:
    one = served()
    moved = one.summary.written_bytes
    (line,) = byte_lines(compare(of(one)))
    assert line == ("copies", "w", "2.00×", "3.00×", "0.00×", f"{6 * MIB / moved:.2f}×")
    (line,) = byte_lines(compare(of(served({"osd": 4, "mon": 1}))))
    assert line[4:] == ("–", "–")
    silent = msgspec.structs.replace(HERE, sent_bytes=None)
    (line,) = byte_lines(compare(of(served(cores=silent))))
    assert line[5] == "–", "what one host does not tell is not 0"


def test_a_result_without_daemons_has_no_table() -> None:
    bare = compare(of(cell("copies", "w", 1000)))
    assert (list(daemon_lines(bare)), list(byte_lines(bare))) == ([], [])


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_every_text_format_has_the_tables(name: str) -> None:
    text = FORMATS[name].write(compare(of(served()))).decode()
    assert "4 of 4" in text
    assert "by design" in text.lower()


def test_lines_of_cells_and_thousands_of_results_know_them() -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(compare(of(served()))).decode())))
    assert [float(row["daemon_cores"]) for row in rows] == pytest.approx([1.0])
    found, _ = lean_extract(msgspec.json.encode(of(served())))
    assert list(found.points[0].hosts) == ["storage", "nodes-1"]
    assert found.points[0].daemon_cores == pytest.approx(1.0)
