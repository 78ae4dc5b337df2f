"""The lines of the screen Run about the server's caches and network."""

from __future__ import annotations

from types import SimpleNamespace

from raidtui.model.frame import CacheState, Frame, Frames
from raidtui.tui.run.lines import machine_lines, network_line


def moment(*caches: dict[str, CacheState]) -> SimpleNamespace:
    frames = Frames()
    for at_s, each in enumerate(caches):
        frames.apply(Frame(float(at_s), 0.0, 1.0 if at_s else None, whole=not at_s, caches=each))
    return SimpleNamespace(frames=frames, cell=None)


def test_a_cache_shows_what_reads_found_in_it_and_how_full_it_is() -> None:
    before = {"arc": CacheState(100, 100), "dm-3": CacheState(5, 5, 0, 0, 1 << 20, 4 << 20, 0)}
    after = {"arc": CacheState(190, 110, size_bytes=3 << 30, target_bytes=4 << 30),
             "dm-3": CacheState(5, 5, 9, 0, 2 << 20, 4 << 20, 1 << 20)}  # fmt: skip
    lines = [line.plain for line in machine_lines(moment(before, after), 80)]  # type: ignore[arg-type]
    assert lines == [
        "Caches  reads found",
        "arc           90.0 %  3.0 GiB  of 4.0 GiB",
        "dm-3        no reads  2.0 MiB  of 4.0 MiB  dirty 1.0 MiB",
    ]
    for width in (8, 20, 40):
        assert all(line.cell_len <= width for line in machine_lines(moment(before, after), width)[1:])  # type: ignore[arg-type]


def test_where_there_are_no_caches_nothing_is_said_of_them() -> None:
    assert machine_lines(moment({}, {}), 80) == []  # type: ignore[arg-type]


def over_network(*networks: dict[str, str]) -> Frames:
    frames = Frames()
    for at_s, each in enumerate(networks):
        frames.apply(Frame(float(at_s), 0.0, 1.0 if at_s else None, whole=not at_s, networks=each))
    return frames


def test_interfaces_that_move_data_are_one_line_the_busiest_first() -> None:
    idle = dict.fromkeys(("lo", "eth0", "eth1", "mlx5_0/1"), "0 0 0 0 0 0 0 0")
    moved = {"lo": "1500000 9 0 0 1500000 9 0 0", "eth0": "999999 9 0 0 999999 9 0 0",
             "mlx5_0/1": "812000000 9 1 2 3100000 9 0 4"}  # fmt: skip
    line = network_line(over_network(idle, moved), 78)
    assert line is not None
    assert line.plain == "Network MB/s  mlx5_0/1 in 812 out 3.10 ✗ 7 lost  lo in 1.50 out 1.50"
    narrow = network_line(over_network(idle, moved), 50)
    assert narrow is not None
    assert narrow.plain == "Network MB/s  mlx5_0/1 in 812 out 3.10 ✗ 7 lost…"
    assert network_line(over_network(idle, moved, {}), 78) is None, "nothing moved in the last second"
    assert network_line(over_network(moved), 78) is None
    assert network_line(over_network({}, {}), 78) is None
