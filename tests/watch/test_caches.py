"""Hits and misses of the kernel's caches, from what kernels said in the lab (`data/arcstats`, `data/dm_status.json`)."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.model.frame import CacheState, Frame, Frames
from raidtui.watch.caches import Caches, arc_states, dm_state
from raidtui.watch.series import SeriesFold

DATA = Path(__file__).parent / "data"


def test_the_arc_says_what_was_asked_for_without_what_was_read_ahead() -> None:
    text = (DATA / "arcstats").read_text()
    numbers = {row[0]: int(row[2]) for line in text.splitlines()[2:] if len(row := line.split()) == 3}
    (name, arc), *others = arc_states(text).items()
    assert (name, others) == ("arc", []), "there is no cache device"
    assert arc.hits == numbers["demand_data_hits"] + numbers["demand_metadata_hits"] > 0
    assert arc.hits + arc.misses <= numbers["hits"] + numbers["misses"] + numbers["iohits"]
    assert (arc.size_bytes, arc.target_bytes) == (numbers["size"], numbers["c"])


def test_a_second_level_shows_once_something_is_on_it() -> None:
    text = (DATA / "arcstats").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("l2_asize ", "l2_hits ", "l2_misses "))]
    states = arc_states("\n".join([*lines, "l2_asize 4 8192", "l2_hits 4 30", "l2_misses 4 10"]))
    assert states["l2arc"] == CacheState(30, 10, size_bytes=8192)
    assert states["l2arc"].hit_percent == 75.0


@pytest.mark.parametrize("kind", ["cache", "writecache", "linear"])
def test_device_mapper_says_it_of_its_caches(kind: str) -> None:
    recorded = json.loads((DATA / "dm_status.json").read_text())[kind]
    state = dm_state(zlib.decompress(base64.b64decode(recorded["answer"])))
    assert state == (None if recorded["state"] is None else CacheState(*recorded["state"]))


@given(st.binary(max_size=400), st.text(max_size=200))
def test_nothing_that_a_kernel_says_is_stumbled_over(answer: bytes, text: str) -> None:
    dm_state(bytes(312) + answer)
    one_target = struct.pack("=IIIIII", 4, 0, 0, 400, 312, 1).ljust(312, b"\0")
    dm_state(one_target + answer)
    arc_states(text)


def test_where_there_are_no_caches_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "dm-0").mkdir()
    assert Caches(tmp_path, tmp_path).read() == {}


def test_a_bcache_is_found_when_something_was_built(tmp_path: Path) -> None:
    caches = Caches(tmp_path, tmp_path)
    assert caches.read() == {}
    folder = tmp_path / "bcache0/bcache/stats_total"
    folder.mkdir(parents=True)
    (folder / "cache_hits").write_text("7\n")
    (folder / "cache_misses").write_text("1\n")
    assert caches.read() == {}
    caches.list_soon()
    assert caches.read() == {"bcache0": CacheState(7, 1)}


def frame(at_s: float, *, first: bool = False, **caches: CacheState) -> Frame:
    return Frame(at_s, at_s, None if first else 1.0, whole=first, caches=caches)


def test_a_share_is_that_of_the_last_second() -> None:
    frames = Frames()
    assert frames.hit_percent("arc") is None
    frames.apply(frame(1, first=True, arc=CacheState(100, 100)))
    assert frames.hit_percent("arc") is None
    frames.apply(frame(2, arc=CacheState(130, 110)))
    assert frames.hit_percent("arc") == 75.0
    frames.apply(frame(3, arc=CacheState(130, 110)))
    assert frames.hit_percent("arc") is None, "nothing was read"


def test_a_cell_has_what_came_in_it_and_the_sizes_at_its_end() -> None:
    fold = SeriesFold([])
    fold.add(frame(1, first=True, arc=CacheState(100, 100, size_bytes=5), idle=CacheState(3, 3)))
    fold.add(frame(2, arc=CacheState(150, 100, size_bytes=9), idle=CacheState(3, 3)))
    fold.add(frame(3, arc=CacheState(190, 110, size_bytes=7), idle=CacheState(3, 3)))
    assert fold.series().caches == {"arc": CacheState(90, 10, size_bytes=7)}
