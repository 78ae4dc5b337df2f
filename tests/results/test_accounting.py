"""Ceilings, shares and limiters, on cells made by hand whose answer is arithmetic, and on a recorded run."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_comparing import result

from raidtui.model.disk import Disk, Link
from raidtui.model.host import HostUse, WorkloadUse
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.plan import Amplification
from raidtui.model.result import Cell, DeviceUse, Machine, Result
from raidtui.results.accounting import Account, over_rounds
from raidtui.results.charts.summaries import _roof
from raidtui.results.compare import compare, compare_many
from raidtui.results.formats import FORMATS
from raidtui.results.limiter import NOT_KNOWN
from raidtui.results.lines import TITLE, account_lines, cell_words, expected_text
from raidtui.results.load import read_result

REAL = Path(__file__).parent.parent / "data" / "results"
MB = 10**6
BARE = {"each": {"disk": {"on": "@data"}}, "all": {"disk": {"on": "@data", "mode": "together"}}}
ARRAY = {"array": {"md": {"level": "raid1", "on": "@data"}}}
LINK = Link(8.0, 4, 8.0, 4)
"""4 lanes × 8 GT/s × 128/130 ÷ 8 = 3938 MB/s."""


def use(disk: str, mb_s: float, *, busy: float | None = 50.0, role: str = "member", read_mb_s: float = 0.0) -> DeviceUse:
    """Ten seconds of it."""
    return DeviceUse(role, disk, int(read_mb_s * 10 * MB), int(mb_s * 10 * MB), mean_utilisation_percent=busy)


def cell(
    layout: str, mb_s: float, uses: list[DeviceUse], *, round: int = 1, part: str = "", block: int = 1 << 20,
    mean_us: float = 10_000.0, way: str = "write", workload: str = "w", **more: Any,
) -> Cell:  # fmt: skip
    flow = Direction(int(mb_s * 10 * MB / block), int(mb_s * 10 * MB), mb_s * MB / block, mb_s * MB, 10.0, Latency(mean_us))
    devices = {f"nvme{n}n1": one for n, one in enumerate(uses)}
    id_ = "/".join(filter(None, (layout, part, workload, str(round))))
    return Cell(id_, layout, workload, round, True, (), part, Summary(**{way: flow}), devices=devices, device_at_s=(10.0,),
                seconds=10.5, **more)  # fmt: skip


def bare(*disks: str, alone: float, together: float, rounds: int = 1, **more: Any) -> list[Cell]:
    """Each disk alone and all of them at once; `together` is of all."""
    found = [cell("each", alone, [use(d, alone, role="target")], part=d, round=n, **more)
             for n in range(1, rounds + 1) for d in disks]  # fmt: skip
    each = together / len(disks)
    return [*found, *(cell("all", together, [use(d, each, role="target") for d in disks], round=n, **more)
                      for n in range(1, rounds + 1))]  # fmt: skip


def run(*cells: Cell, cpus: int = 8, link: Link | None = LINK, rotational: bool = False) -> Result:
    ids = sorted({one.disk for found in cells for one in found.devices.values()})
    disks = tuple(
        Disk(id=d, name=d, size_bytes=1 << 40, serial=d, wwid=d, model="M", transport="nvme", link=link,
             rotational=rotational)
        for d in ids
    )  # fmt: skip
    made = result(*cells)
    layouts = {name: layout for name, layout in {**BARE, **ARRAY}.items() if any(c.layout == name for c in cells)}
    scenario = {**made.scenario, "layouts": layouts, "workloads": {"w": {"fio": {"bs": "1MiB"}}}}
    return msgspec.structs.replace(made, scenario=scenario, disks=disks, machine=Machine("s", "6.12", cpus=cpus))


def account(*cells: Cell, **more: Any) -> Account:
    (found,) = compare(run(*cells, **more)).accounts
    return found


TWICE = Amplification("2 copies", 2.0, 2.0)


def test_a_mirror_is_held_against_half_of_what_its_disks_took_at_once() -> None:
    uses = [use("a", 700), use("b", 700)]
    one = account(*bare("a", "b", alone=1000, together=1600),
                  cell("array", 700, uses, expected_write_amplification=TWICE, write_amplification=2.01))  # fmt: skip
    assert one.solo is not None
    assert one.together is not None
    assert one.bound is not None
    assert one.solo.bytes_per_s == pytest.approx(2000 * MB)
    assert one.together.bytes_per_s == pytest.approx(1600 * MB)
    # 1600 MB/s for two copies are 800 MB/s of data: 700 are 87.5 % of it.
    assert one.bound.bytes_per_s == pytest.approx(800 * MB)
    assert one.share == pytest.approx(0.875)
    assert (one.observed, one.expected) == (2.01, TWICE)
    # 2 × 3938 MB/s.
    assert one.link_bytes_per_s == pytest.approx(2 * 8e9 * 4 * 128 / 130 / 8)


def test_reads_take_nothing_beside_and_a_mix_only_for_what_it_writes() -> None:
    read = account(*bare("a", "b", alone=1000, together=1600, way="read"), cell("array", 800, [use("a", 0), use("b", 0)],
                                                                                  way="read"))  # fmt: skip
    assert read.share == pytest.approx(0.5)
    half = Direction(100, 400 * 10 * MB, 10.0, 400.0 * MB, 10.0, Latency(100.0))
    mixed = msgspec.structs.replace(cell("array", 800, [use("a", 0), use("b", 0)], expected_write_amplification=TWICE),
                                    summary=Summary(read=half, write=half))  # fmt: skip
    # Of 800 MB/s half is written twice: 1200 of 1600.
    assert account(*bare("a", "b", alone=1000, together=1600), mixed).share == pytest.approx(0.75)


def test_ceilings_are_means_over_rounds_and_shares_too() -> None:
    first, second = bare("a", "b", alone=1000, together=1600), bare("a", "b", alone=800, together=1200)
    again = [msgspec.structs.replace(one, round=2, id=f"{one.id}+") for one in second]
    cells = [cell("array", mb_s, [use("a", 1), use("b", 1)], round=n, expected_write_amplification=TWICE)
             for n, mb_s in enumerate((350, 700), 1)]  # fmt: skip
    (one,) = over_rounds(compare(run(*first, *again, *cells)).accounts)
    assert one.solo is not None
    assert one.together is not None
    assert one.solo.bytes_per_s == pytest.approx(1800 * MB)
    assert one.together.bytes_per_s == pytest.approx(1400 * MB)
    assert one.share == pytest.approx((350 / 700 + 700 / 700) / 2)
    assert len(one.cells) == 2


def test_other_disks_or_another_workload_are_no_ceiling() -> None:
    mine = cell("array", 700, [use("a", 700), use("c", 700)], expected_write_amplification=TWICE)
    found = account(*bare("a", "b", alone=1000, together=1600), mine)
    assert (found.solo, found.together, found.share) == (None, None, None)
    other = bare("a", "b", alone=1000, together=1600, workload="other")
    found = account(*other, cell("array", 700, [use("a", 700), use("b", 700)], expected_write_amplification=TWICE))
    assert (found.solo, found.together) == (None, None)


def test_bare_disks_of_another_run_count_where_disks_and_workload_are_the_same() -> None:
    disks, array = run(*bare("a", "b", alone=1000, together=1600)), run(
        cell("array", 700, [use("a", 700), use("b", 700)], expected_write_amplification=TWICE))  # fmt: skip
    (one,) = compare_many([disks, array]).accounts
    assert one.share == pytest.approx(0.875)
    assert one.source == 2


def test_data_disks_are_those_that_the_plan_names_and_a_journal_is_none() -> None:
    uses = [use("a", 350), use("b", 350), use("j", 700, role="journal")]
    one = account(*bare("a", "b", alone=1000, together=1600),
                  cell("array", 350, uses, data_disks=("a", "b"), expected_write_amplification=TWICE))  # fmt: skip
    assert one.share == pytest.approx(350 / 800)


def test_what_a_journal_takes_costs_the_disks_of_the_data_nothing() -> None:
    uses = [use("a", 700), use("b", 700), use("j", 1400, role="journal")]
    logged = Amplification("2 copies, all of it through the journal as well", 4.0, 4.0, low_beside=2.0)
    one = account(*bare("a", "b", alone=1000, together=1600),
                  cell("array", 700, uses, data_disks=("a", "b"), expected_write_amplification=logged))  # fmt: skip
    assert one.share == pytest.approx(700 / 800)
    # What a cache has taken has yet to be written once.
    back = Amplification("into the cache, and written back later", 1.0, 2.0, low_beside=1.0)
    one = account(*bare("a", "b", alone=1000, together=1600),
                  cell("array", 800, uses, data_disks=("a", "b"), expected_write_amplification=back))  # fmt: skip
    assert one.share == pytest.approx(0.5)


FULL_CORES = HostUse(WorkloadUse(user_s=15.0, system_s=5.0, threads=2, least_thread_percent=97.0))
LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # In the order in which they are looked for: each case has everything that the later ones show as well.
    "kernel thread": ({"threads": {"md127_raid5": 98.5}, "cpu_cores_used": 8.0}, {}),
    "one device": ({"uses": [use("a", 700, busy=60), use("b", 700, busy=99)], "cpu_cores_used": 8.0}, {}),
    "all disks": ({"uses": [use("a", 760, busy=100), use("b", 760, busy=100)], "cpu_cores_used": 8.0}, {}),
    "PCIe link": ({"uses": [use("a", 490), use("b", 490)], "cpu_cores_used": 8.0}, {"link": Link(5.0, 1, 5.0, 1)}),
    "generator-bound": ({"host": FULL_CORES, "cpu_cores_used": 8.0, "mean_us": 1000.0}, {}),
    "CPU": ({"cpu_cores_used": 7.8, "mean_us": 1000.0}, {}),
    "too little in flight": ({"mean_us": 1000.0, "cpu_cores_used": 1.0}, {}),
    NOT_KNOWN: ({"mean_us": 100_000.0, "cpu_cores_used": 1.0}, {}),
}


@pytest.mark.parametrize("words", LIMITS)
def test_the_limit_is_named_by_what_was_seen(words: str) -> None:
    given, about = LIMITS[words]
    uses = given.get("uses", [use("a", 400), use("b", 400)])
    more = {name: value for name, value in given.items() if name != "uses"}
    bare_cells = [] if words == "PCIe link" else bare("a", "b", alone=1000, together=1600)
    one = account(*bare_cells, cell("array", 400, uses, expected_write_amplification=TWICE, **more), **about)
    assert one.limiter == words
    assert one.why


def test_a_workload_whose_threads_are_full_is_the_limit_only_if_they_do_not_poll_and_disks_wait() -> None:
    def of(busy: float = 50.0, host: HostUse = FULL_CORES, command: tuple[str, ...] = ("fio",)) -> Account:
        uses = [use("a", 400, busy=busy), use("b", 400, busy=busy)]
        return account(cell("array", 400, uses, mean_us=100_000.0, host=host, command=command))

    assert of().why == (
        "all 2 threads of the workload used at least 97 % of a core, 25 % of that in the kernel, and the busiest disk was "
        "busy 50 % of the time"
    )
    half = HostUse(WorkloadUse(user_s=15.0, threads=2, least_thread_percent=60.0))
    for other in (of(busy=99.0), of(host=half), of(host=HostUse()), of(command=("fio", "--hipri=1"))):
        assert other.limiter == NOT_KNOWN


@pytest.mark.parametrize(("moved", "words"), [(700, "all disks"), (400, NOT_KNOWN)])
def test_a_share_by_the_workloads_clock_counts_where_the_disks_nearly_agree(moved: float, words: str) -> None:
    """Devices are counted while it begins and ends, too; much less than the share is a cache's doing."""
    uses = [use("a", moved), use("b", moved)]
    one = account(*bare("a", "b", alone=1000, together=1600),
                  cell("array", 760, uses, mean_us=100_000.0, expected_write_amplification=TWICE))  # fmt: skip
    assert one.share == pytest.approx(0.95)
    assert one.limiter == words
    assert ("88 % of what they moved bare" in one.why and "by the workload's own clock, 95 %" in one.why) == (moved == 700)


def test_sentences_have_the_figures() -> None:
    base = bare("a", "b", alone=1000, together=1600)
    busy = account(*base, cell("array", 400, [use("a", 400, busy=60), use("j", 400, busy=99, role="journal")]))
    assert busy.why == "journal j was busy 99 % of the time, the other disks at most 60 %"
    # 400 MB/s in blocks of 1 MiB are 381 IOPS; at 1 ms each that is 0.4 at once.
    shallow = account(*base, cell("array", 400, [use("a", 400), use("b", 400)], mean_us=1000.0))
    assert shallow.why == "0.4 operations of 1.0 MiB were in flight on average (381 IOPS × 1.00 ms) for 2 disks"
    # Each of the writes is followed by a flush of 2 ms, which is in flight as well.
    synced = cell("array", 400, [use("a", 400), use("b", 400)], mean_us=1000.0)
    for latency, figures, more in (
        (Latency(2000.0), "1.1 operations of 1.0 MiB and flushes were in flight on average (381 IOPS × 1.00 ms + "
         "381 flushes a second × 2.00 ms)", ""),
        (Latency(), "0.4 operations of 1.0 MiB were in flight on average (381 IOPS × 1.00 ms)",
         "; flushes are not counted, as their time is not known"),
    ):  # fmt: skip
        sync = Direction(3814, 0, 381.4, 0.0, 10.0, latency)
        summary = msgspec.structs.replace(synced.summary, sync=sync)
        flushed = account(*base, msgspec.structs.replace(synced, summary=summary))
        assert flushed.why == f"{figures} for 2 disks, and each write waits until it is durable{more}"
    full = account(*base, cell("array", 760, [use("a", 760), use("b", 760)]))
    assert full.why.startswith("2 disks moved 1,520 MB/s, reads and writes together: 95 % of what they moved bare")


def test_a_mark_of_the_engine_is_taken_as_it_is() -> None:
    for code, words in (("cpu-bound", "kernel thread"), ("memory-bus", "memory bus")):
        marks = (Mark(code, "it had all there is", "limit"),)
        marked = cell("array", 760, [use("a", 760), use("b", 760)], marks=marks)
        one = account(*bare("a", "b", alone=1000, together=1600), marked)
        assert (one.limiter, one.why) == (words, "it had all there is")


def test_rotating_disks_that_are_always_busy_have_no_more_to_give() -> None:
    seeking = cell("array", 10, [use("a", 20, busy=99), use("b", 20, busy=98)])
    one = account(*bare("a", "b", alone=200, together=400), seeking, rotational=True)
    assert one.limiter == "all disks"
    assert account(*bare("a", "b", alone=200, together=400), seeking).limiter != "all disks"


def test_a_link_that_carried_more_than_it_can_is_no_link() -> None:
    """2.5 GT/s × 1 are 250 MB/s: virtual machines say so of disks that do more."""
    one = account(*bare("a", "b", alone=1000, together=1600), cell("array", 240, [use("a", 240), use("b", 240)]),
                  link=Link(2.5, 1, 2.5, 1))  # fmt: skip
    assert one.link_bytes_per_s is None
    assert one.limiter != "PCIe link"


def test_what_cannot_be_foretold_has_no_share() -> None:
    unknown = Amplification("VDO makes less of what is written")
    one = account(*bare("a", "b", alone=1000, together=1600),
                  cell("array", 700, [use("a", 700), use("b", 700)], expected_write_amplification=unknown))  # fmt: skip
    assert one.together is not None
    assert one.share is None
    assert expected_text(unknown) == "–"
    assert expected_text(Amplification("", 1.5, 6.0)) == "1.50–6.00×"
    assert expected_text(Amplification("", 1.0, None)) == "1.00× or more"


def test_bare_disks_of_an_older_file_are_found_and_its_writes_have_a_limit_without_a_share() -> None:
    """Recorded before there were ceilings: every disk was measured alone, nothing was foretold."""
    found = read_result(gzip.decompress((REAL / "quick-1.result.json.gz").read_bytes()))
    by_cell = {(one.row, one.workload): one for one in compare(found).accounts}
    loads = ("fsync-write-4k-t1q1", "seq-write-1m-q8")
    assert set(by_cell) == {(row, load) for row in ("raid10", "raid5") for load in loads}
    one = by_cell["raid5", "fsync-write-4k-t1q1"]
    alone = [c for c in found.cells if c.layout == "disk" and c.workload == one.workload]
    assert one.solo is not None
    assert one.solo.iops == pytest.approx(sum(c.summary.write.iops for c in alone if c.summary and c.summary.write))
    assert (one.together, one.share, one.expected) == (None, None, None)
    assert one.observed == pytest.approx(2.0, abs=0.01)
    assert one.limiter == "too little in flight"
    assert one.link_bytes_per_s is None


def shown() -> Result:
    uses = [use("a", 700), use("b", 700)]
    return run(*bare("a", "b", alone=1000, together=1600),
               cell("array", 700, uses, expected_write_amplification=TWICE, write_amplification=2.01))  # fmt: skip


def test_every_format_tells_it() -> None:
    comparison = compare(shown())
    (line,) = account_lines(comparison)
    assert line.cells == ("array", "w", "700 MB/s", "2,000", "1,600", "88 %", "2.01×", "2.00×", "not known")
    assert "write amplification expected 2.00×: 2 copies" in line.why
    markdown = FORMATS["md"].write(comparison).decode()
    assert "| array | w | 700 MB/s | 2,000 | 1,600 | 88 % | 2.01× | 2.00× | not known [1] |" in markdown
    page = FORMATS["html"].write(comparison).decode()
    assert f"<h2>{TITLE}</h2>" in page
    assert '<td data-value="0.875">88 %</td>' in page
    document = json.loads(FORMATS["json"].write(comparison))
    assert document["accounts"][0]["share"] == pytest.approx(0.875)
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(comparison).decode())))
    of_array = next(row for row in rows if row["layout"] == "array")
    assert of_array["ceiling_all_at_once_MB_per_s"] == "1600"
    assert of_array["share_of_ceiling"] == "0.875"
    assert of_array["expected_written_per_byte_low"] == "2"
    assert all(row["share_of_ceiling"] == "" for row in rows if row["layout"] != "array")
    (one,) = comparison.accounts
    said = cell_words(one, "MB/s")
    assert said.startswith("88 % of the 800 MB/s that its bare disks allow; wrote 2.01×, expected 2.00×; ")


def test_nothing_is_said_where_nothing_is_known() -> None:
    quiet = compare(run(cell("array", 700, [use("a", 700), use("b", 700)])))
    assert account_lines(quiet) == []
    assert TITLE not in FORMATS["md"].write(quiet).decode()


def test_the_roof_is_what_the_disks_gave_at_once() -> None:
    roof = _roof(compare(shown()))
    assert roof is not None
    assert (roof.bytes_per_s, roof.words) == (pytest.approx(1600 * MB), "bare disks, all at once")
    alone = _roof(compare(run(*bare("a", "b", alone=1000, together=1600)[:2], cell("array", 700, [use("a", 700)]))))
    assert alone is not None
    assert (alone.bytes_per_s, alone.words) == (pytest.approx(2000 * MB), "bare disks, added up")
