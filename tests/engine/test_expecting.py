"""Write amplification that geometry and pattern foretell, against arithmetic done by hand."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.engine.compose.reading import read_document
from raidtui.engine.compose.write_amplification import data_roles, expected
from raidtui.load.catalog import engines
from raidtui.model.plan import Amplification
from raidtui.results.load import read_result
from raidtui.stack.amplification import Writes, rows
from raidtui.stack.catalog import all_layers

KIB = 1 << 10
R4K = {"rw": "randwrite", "bs": "4KiB", "iodepth": 32, "runtime": "10s"}
S4M = {"rw": "write", "bs": "4MiB", "iodepth": 32, "runtime": "10s"}
FSYNC = {"rw": "randwrite", "bs": "4KiB", "iodepth": 1, "fsync": 1, "runtime": "10s"}
RANDOM_DATA = {"buffer_compress_percentage": 0, "dedupe_percentage": 0}


def of(layout: dict[str, Any], load: dict[str, Any], **roles: int) -> Amplification | None:
    document = {
        "schema": "raidtui.scenario/1", "name": "t",
        "roles": {name: {"count": count} for name, count in roles.items()},
        "layouts": {"l": layout}, "workloads": {"w": {"fio": load}},
    }  # fmt: skip
    scenario = read_document(json.dumps(document)).scenario
    spec = scenario.workloads["w"].spec
    return expected(scenario.layouts["l"], scenario.roles, engines()["fio"].pattern(spec))


def both(layout: dict[str, Any], load: dict[str, Any], **roles: int) -> tuple[float | None, float | None]:
    found = of(layout, load, **roles)
    assert found is not None
    assert found.why
    return found.low, found.high


def md(level: str, **more: Any) -> dict[str, Any]:
    return {"md": {"level": level, "on": "@data", **more}}


def pool(kind: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"zpool": {"vdevs": [{kind: "@data"}], "volume": {"size": "50%", "properties": properties}, **more}}


def test_a_mirror_writes_every_byte_on_each_member_and_a_stripe_once() -> None:
    assert both(md("raid1"), R4K, data=3) == (3, 3)
    assert both(md("raid10"), S4M, data=4) == (2, 2)
    assert both(md("raid10", layout="far3"), R4K, data=4) == (3, 3)
    assert both(md("raid0"), R4K, data=4) == (1, 1)


def test_a_small_write_on_raid5_writes_a_page_and_its_parity_and_reads_both_before() -> None:
    found = of(md("raid5", chunk="64KiB"), R4K, data=4)
    # 4 KiB of data and 4 KiB of parity; read: the old 4 + 4, since the rest of the row would be 2 pages as well.
    assert found is not None
    assert (found.low, found.high) == (2, 2)
    assert (found.read_low, found.read_high) == (2, 2)
    # Of three members the rest of the row is one page: that is read instead of two.
    three = of(md("raid5", chunk="64KiB"), R4K, data=3)
    assert three is not None
    assert (three.low, three.read_low) == (2, 1)
    # Half a KiB needs the rest of its own page, too: of three members two pages whichever way, 8192 ÷ 512.
    part = of(md("raid5", chunk="64KiB"), {**R4K, "bs": "512B"}, data=3)
    assert part is not None
    assert (part.low, part.read_low) == (16, 16)
    # Half a KiB still writes two pages: 8192 ÷ 512.
    assert both(md("raid5", chunk="64KiB"), {**R4K, "bs": "512B"}, data=4) == (16, 16)


def test_raid6_writes_two_parities() -> None:
    found = of(md("raid6", chunk="64KiB"), R4K, data=6)
    # (1 + 2) written; read the cheaper of old data and two parities (3) and the other three pages of the row (3).
    assert found is not None
    assert (found.low, found.high, found.read_low) == (3, 3, 3)
    assert both(md("raid6", chunk="64KiB"), S4M, data=6) == (6 / 4, 6 / 4)


def test_what_follows_in_a_row_fills_whole_stripes() -> None:
    assert both(md("raid5", chunk="64KiB"), S4M, data=4) == (1.3333, 1.3333)
    # One at a time: each 64 KiB is a chunk with its parity, (64 + 64) ÷ 64.
    one = {"rw": "write", "bs": "64KiB", "iodepth": 1, "runtime": "10s"}
    assert both(md("raid5", chunk="64KiB"), one, data=4) == (2, 2)
    # Four in flight are 256 KiB, more than a stripe of 192 but less than two: whole or not.
    assert both(md("raid5", chunk="64KiB"), {**one, "iodepth": 4}, data=4) == (1.3333, 2)
    # Each of four jobs has one in flight: none of them ever fills a stripe.
    assert both(md("raid5", chunk="64KiB"), {**one, "numjobs": 4, "offset_increment": "1GiB"}, data=4) == (2, 2)


def test_a_write_larger_than_a_chunk_touches_parity_of_every_stripe_that_it_is_in() -> None:
    # 128 KiB on three data chunks of 64: at 0 chunks 0 and 1 with 64 of parity, 192; at 128 chunk 2 and chunk 0 of the next
    # stripe with 64 each, 256; at 256 chunks 1 and 2 with 64, 192. (192 + 256 + 192) ÷ 384.
    found = rows(128 * KIB, 64 * KIB, 3, 1)
    assert found.written == pytest.approx(640 / 384)
    # Read: the third chunk where two are written (64), old data and parity of each single one (128 and 128).
    assert found.read == pytest.approx((64 + 256 + 64) / 384)
    assert found.partial == pytest.approx((64 + 128 + 64) / 384)


@given(st.integers(1, 600), st.sampled_from([4, 16, 64, 512]), st.integers(2, 12), st.integers(1, 2))
def test_nothing_is_written_for_less_than_whole_stripes_cost(pages: int, chunk: int, data: int, parity: int) -> None:
    found = rows(pages * 4 * KIB, chunk * KIB, data, parity)
    whole = (data + parity) / data
    assert found.written >= whole - 1e-9
    assert found.written <= 1 + parity + 1e-9
    assert 0 <= found.partial <= parity
    if pages * 4 % (chunk * data) == 0:
        assert (found.written, found.read, found.partial) == (pytest.approx(whole), 0, 0)
    else:
        assert found.read > 0


def test_every_layer_declares_its_write_amplification() -> None:
    assert [kind for kind, layer in all_layers().items() if layer.amplifies is None] == []


def test_the_amplification_of_an_undeclared_layer_is_unknown() -> None:
    layer = replace(all_layers()["disk"], kind="silent", inputs=lambda spec: {"on": None}, amplifies=None)
    found = layer.spread(None, {}, Writes(4096, 4096, True))
    assert found.inputs["on"].low is None
    assert found.inputs["on"].keeps
    assert "silent" in found.why


def test_a_journal_takes_data_and_parity_once_more() -> None:
    layout = md("raid5", chunk="64KiB", journal="@journal")
    # 2 to the members, 2 to the journal, and a page for each write of 4 KiB that comes alone.
    assert both(layout, R4K, data=4, journal=1) == (4, 5)
    low, high = both(layout, S4M, data=4, journal=1)
    assert low == pytest.approx(8 / 3, abs=1e-3)
    assert high == pytest.approx(8 / 3 + 4 / 4096, abs=1e-3)


def test_a_log_of_partial_parity_adds_the_parity_of_rows_that_are_not_whole() -> None:
    layout = md("raid5", chunk="64KiB", consistency="ppl")
    assert both(layout, R4K, data=4) == (3, 4)
    low, high = both(layout, S4M, data=4)
    assert low == pytest.approx(4 / 3, abs=1e-3)
    assert high == pytest.approx(4 / 3 + 4 / 4096, abs=1e-3)


def test_layers_multiply() -> None:
    raid5 = [{"md": {"level": "raid5", "chunk": "64KiB", "on": role}} for role in ("@a", "@b")]
    raid50 = {"md": {"level": "raid0", "chunk": "64KiB", "on": raid5}}
    # Chunks of 64 KiB in a row on each: stripes of 128 KiB of data become whole, 3 ÷ 2.
    assert both(raid50, S4M, a=3, b=3) == (1.5, 1.5)
    assert both(raid50, R4K, a=3, b=3) == (2, 2)
    mixed = {"md": {"level": "raid0", "chunk": "64KiB", "on": [md("raid1"), {"md": {"level": "raid1", "on": "@b"}}]}}
    # Half of the bytes twice, half of them three times.
    assert both(mixed, R4K, data=2, b=3) == (2.5, 2.5)
    xfs = {"filesystem": {"type": "xfs", "on": {"lvm": {"type": "raid1", "on": "@data"}}}}
    assert both(xfs, R4K, data=2) == (2, 2)


def test_lvm_counts_as_what_it_is() -> None:
    assert both({"lvm": {"type": "linear", "on": "@data"}}, R4K, data=2) == (1, 1)
    assert both({"lvm": {"type": "raid5", "stripe_size": "64KiB", "on": "@data"}}, S4M, data=4) == (1.3333, 1.3333)
    assert both({"lvm": {"type": "raid10", "on": "@data"}}, R4K, data=4) == (2, 2)
    # Zeroed once, 64 KiB for a first write of 4.
    assert both({"lvm": {"on": "@data", "thin": {}}}, R4K, data=1) == (1, 17)
    assert both({"lvm": {"on": "@data", "writecache": {"on": "@fast"}}}, R4K, data=1, fast=1) == (1, 2)
    # A journal of checksums: everything twice, and at most a page of them for each write.
    assert both({"lvm": {"type": "raid1", "on": "@data", "integrity": {}}}, R4K, data=2) == (4, 8)


def test_what_is_made_less_of_is_not_known_unless_the_data_cannot_be() -> None:
    vdo = {"lvm": {"on": "@data", "vdo": {}}}
    assert both(vdo, R4K, data=1) == (None, None)
    assert both(vdo, {**R4K, **RANDOM_DATA}, data=1) == (1, None)
    zvol = pool("mirror", {"volblocksize": "4K"})
    assert both(zvol, R4K, data=2) == (None, None)
    assert both(zvol, {**R4K, **RANDOM_DATA}, data=2) == (2, 2)


def test_bcache_lets_a_stream_past_and_writes_the_rest_twice() -> None:
    def layout(**more: Any) -> dict[str, Any]:
        return {"bcache": {"on": "@slow", "cache": "@fast", **more}}

    assert both(layout(), S4M, slow=1, fast=1) == (1, 1)
    assert both(layout(congestion="off"), R4K, slow=1, fast=1) == (2, 2)
    assert both(layout(mode="writeback"), R4K, slow=1, fast=1) == (1, 2)
    assert both(layout(mode="writeback", sequential_cutoff="0B"), S4M, slow=1, fast=1) == (1, 2)
    assert both(layout(mode="writearound"), R4K, slow=1, fast=1) == (1, 1)


def test_raidz_writes_parity_for_every_row_of_a_block_and_pads_it() -> None:
    # 16 KiB are 4 sectors of 4 KiB; two data columns make 2 rows with 2 parities: 6 ÷ 4.
    off = {"volblocksize": "16K", "compression": "off"}
    assert both(pool("raidz1", off), {**S4M, "bs": "16KiB"}, data=3) == (1.5, 1.5)
    # 8 KiB are 2 sectors and 1 parity, padded to a multiple of 2: 3 ÷ 2 written, 4 ÷ 2 taken.
    assert both(pool("raidz1", {"volblocksize": "8K", "compression": "off"}), S4M, data=5) == (1.5, 2)
    # A random 4 KiB writes the whole 16 KiB anew, unless four of them meet in one block: 1.5 to 4 × 1.5.
    assert both(pool("raidz1", off), R4K, data=3) == (1.5, 6)
    assert both(pool("mirror", {**off, "copies": 2}), S4M, data=2) == (4, 4)


def test_a_part_of_a_block_of_zfs_needs_the_rest_of_it_unless_that_is_in_memory() -> None:
    off = {"volblocksize": "16K", "compression": "off"}

    def read(load: dict[str, Any]) -> tuple[float, float | None]:
        found = of(pool("mirror", off), load, data=2)
        assert found is not None
        return found.read_low, found.read_high

    assert read(R4K) == (0, 4)
    assert read({**R4K, "bs": "16KiB"}) == (0, 0)
    # Of a stream only the first write to a block finds it missing.
    assert read({**S4M, "bs": "4KiB"}) == (0, 1)


def test_what_goes_to_other_disks_than_those_of_the_data_is_told_apart() -> None:
    def beside(layout: dict[str, Any], load: dict[str, Any], **roles: int) -> tuple[float | None, float]:
        found = of(layout, load, **roles)
        assert found is not None
        return found.low, found.low_beside

    assert beside(md("raid5", chunk="64KiB"), R4K, data=4) == (2, 0)
    assert beside(md("raid5", chunk="64KiB", journal="@journal"), R4K, data=4, journal=1) == (4, 2)
    cached = {"bcache": {"on": md("raid1"), "cache": "@fast", "congestion": "off"}}
    assert beside(cached, R4K, data=2, fast=1) == (3, 1)
    # The volume keeps its data on what has a journal of its own.
    volume = {"lvm": {"on": md("raid5", chunk="64KiB", journal="@journal")}}
    assert beside(volume, R4K, data=4, journal=1) == (4, 2)
    off = {"volblocksize": "4K", "compression": "off"}
    assert beside(pool("stripe", off), FSYNC, data=1) == (2, 0)
    assert beside(pool("stripe", off, log="@log"), FSYNC, data=1, log=1) == (2, 1)


def test_what_zfs_has_to_keep_at_once_goes_to_its_log_as_well() -> None:
    off = {"volblocksize": "4K", "compression": "off"}
    # The data, and a log block: 4 KiB of it at least, 8 KiB where the record's head needs a page of its own.
    assert both(pool("stripe", off), FSYNC, data=1) == (2, 3)
    assert both(pool("stripe", off, log="@log", mirrored=["log"]), FSYNC, data=1, log=2) == (1 + 2, 1 + 4)
    assert both(pool("stripe", {**off, "sync": "disabled"}), FSYNC, data=1) == (1, 1)
    assert both(pool("stripe", {**off, "sync": "always"}), R4K, data=1) == (2, 3)


def test_whole_records_past_memory_are_only_pointed_at_in_the_log() -> None:
    def dataset(**properties: str) -> dict[str, Any]:
        given = {"compression": "off", "recordsize": "16K", **properties}
        return {"zpool": {"vdevs": [{"stripe": "@data"}], "dataset": {"properties": given}}}

    assert both(dataset(), {**FSYNC, "bs": "16KiB"}, data=1) == (1, None)
    assert both(dataset(direct="disabled"), {**FSYNC, "bs": "16KiB"}, data=1) == (2, None)
    assert both(dataset(), FSYNC, data=1) == (2, None)


def test_a_sync_of_a_file_writes_metadata_that_nothing_bounds() -> None:
    for layout in ({"filesystem": {"type": "xfs", "on": "@data"}}, {"lvm": {"on": "@data", "thin": {}}},
                   {"lvm": {"on": "@data", "writecache": {"on": "@fast"}}}):  # fmt: skip
        assert both(layout, FSYNC, data=1, fast=1) == (1, None)
    assert both({"bcache": {"on": "@data", "cache": "@fast", "mode": "writeback"}}, FSYNC, data=1, fast=1) == (1, None)
    pool = {"zpool": {"vdevs": [{"stripe": "@data"}], "dataset": {"properties": {"compression": "off"}}}}
    assert both(pool, FSYNC, data=1) == (2, None)
    # A block device has no metadata of files.
    assert both(md("raid5", chunk="64KiB"), FSYNC, data=4) == (2, 2)


def test_stripes_are_not_filled_by_what_waits_nor_surely_by_many_streams() -> None:
    stream = {"rw": "write", "bs": "64KiB", "iodepth": 32, "runtime": "10s"}
    assert both(md("raid5", chunk="64KiB"), stream, data=4) == (1.3333, 1.3333)
    assert both(md("raid5", chunk="64KiB"), {**stream, "rate": "1MB"}, data=4) == (2, 2)
    many = {**stream, "numjobs": 4, "offset_increment": "1GiB"}
    assert both(md("raid5", chunk="64KiB"), many, data=4) == (1.3333, 2)


def test_below_a_filesystem_a_write_may_begin_anywhere() -> None:
    xfs = {"filesystem": {"type": "xfs", "on": md("raid5", chunk="64KiB")}}
    wide = {"rw": "randwrite", "bs": "128KiB", "iodepth": 8, "runtime": "10s"}
    # At multiples of 128 KiB (256 + 192 + 192) ÷ 384; at most both chunks in stripes of their own.
    assert both(md("raid5", chunk="64KiB"), wide, data=4) == (1.6667, 1.6667)
    assert both(xfs, wide, data=4) == (1.6667, 2)


def test_what_is_reported_in_part_is_not_foretold() -> None:
    spec = engines()["pg_test_fsync"].spec()
    scenario = read_document(json.dumps({
        "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 1}},
        "layouts": {"l": {"filesystem": {"type": "xfs", "on": "@data"}}}, "workloads": {"w": {"pg_test_fsync": {}}},
    })).scenario  # fmt: skip
    found = expected(scenario.layouts["l"], scenario.roles, engines()["pg_test_fsync"].pattern(spec))
    assert found is not None
    assert found.low is None
    assert "part" in found.why


RECORDED = sorted((Path(__file__).parent.parent / "data" / "results").glob("*.result.json.gz")) + sorted(
    (Path(__file__).parent.parent / "data" / "cells").glob("clean-*.result.json.gz"))  # fmt: skip


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(".result.json.gz"))
def test_recorded_runs_wrote_what_geometry_foretells(path: Path) -> None:
    """Pools apart, of which some is still in memory when a cell ends. Superblocks and bitmaps are allowed beside."""
    text = gzip.decompress(path.read_bytes()).decode()
    scenario, found = read_document(text).scenario, read_result(text.encode())
    for cell in found.cells:
        node, load = scenario.layouts[cell.layout], scenario.workloads[cell.workload]
        one = expected(node, scenario.roles, engines()[load.kind].pattern(load.spec))
        if not cell.valid or one is None or one.low is None or cell.write_amplification is None or node.kind == "zpool":
            continue
        assert one.low * 0.98 <= cell.write_amplification
        assert one.high is None or cell.write_amplification <= one.high * 1.05


def test_btrfs_and_ext4_count_what_they_keep_of_data() -> None:
    def layout(**more: Any) -> dict[str, Any]:
        return {"filesystem": {"on": "@data", **more}}

    assert both(layout(type="btrfs", data="raid1", metadata="raid1"), R4K, data=2) == (2, 2)
    assert both(layout(type="btrfs", data="raid5", metadata="raid1"), R4K, data=3) == (1.5, 2)
    assert both(layout(type="ext4", journal_mode="journal"), S4M, data=1) == (2, 2)
    assert both(layout(type="btrfs", compress="zstd"), R4K, data=1) == (None, None)


def test_what_stays_in_the_page_cache_is_not_foretold_and_reading_has_nothing_to_foretell() -> None:
    buffered = {**R4K, "direct": False, "why_buffered": "a test", "ioengine": "psync", "iodepth": 1, "end_fsync": True}
    xfs = {"filesystem": {"type": "xfs", "on": "@data"}}
    assert both(xfs, buffered, data=1) == (None, None)
    assert of(xfs, {**R4K, "rw": "randread"}, data=1) is None


def test_a_mix_of_blocks_lies_between_the_least_and_the_most_of_them() -> None:
    mix = {"rw": "randwrite", "bssplit": "4KiB/50:192KiB/50", "iodepth": 8, "runtime": "10s"}
    # 192 KiB at multiples of it are whole stripes, 4 ÷ 3; 4 KiB are 2.
    assert both(md("raid5", chunk="64KiB"), mix, data=4) == (1.3333, 2)


def test_data_is_on_the_disks_that_keep_it() -> None:
    counts = {"data": 3, "journal": 1, "spare": 1, "a": 2, "fast": 1}
    document = {
        "schema": "raidtui.scenario/1", "name": "t",
        "roles": {name: {"count": count} for name, count in counts.items()},
        "layouts": {
            "md": {"md": {"level": "raid5", "on": "@data", "journal": "@journal"}},
            "spared": {"md": {"level": "raid5", "on": "@data", "spares": "@spare"}},
            "cached": {"bcache": {"on": {"md": {"level": "raid5", "on": "@data"}}, "cache": "@fast"}},
            "pool": {"zpool": {"vdevs": [{"mirror": "@a"}, {"raidz1": "@data"}], "log": "@fast", "spares": "@spare",
                               "volume": {"size": "50%"}}},
        },
        "workloads": {"w": {"fio": R4K}},
    }  # fmt: skip
    scenario = read_document(json.dumps(document)).scenario
    found = {name: data_roles(node, scenario.roles) for name, node in scenario.layouts.items()}
    assert found == {"md": ("data",), "spared": ("data",), "cached": ("data",), "pool": ("a", "data")}
