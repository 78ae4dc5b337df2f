"""What disks a lab gets."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.lab import qemu
from raidtui.lab.disks import MAX_NVME, DiskSpec, free_port, make_disk, mixed, name_disks, parse_spec, specs_like
from raidtui.model.problem import ProblemError

GIB = 1 << 30


def test_a_spec_gives_one_entry_per_disk_with_size_kind_and_sector() -> None:
    assert parse_spec("2x8G,1x16G:hdd,1x512M:ssd@4096") == [
        DiskSpec(8 * GIB), DiskSpec(8 * GIB), DiskSpec(16 * GIB, "hdd"), DiskSpec(GIB // 2, "ssd", 4096),
    ]  # fmt: skip


def test_a_sector_size_alone_means_nvme() -> None:
    assert parse_spec("1x8G@4096") == [DiskSpec(8 * GIB, "nvme", 4096)]


def test_no_disks_are_allowed() -> None:
    assert parse_spec("") == []


@pytest.mark.parametrize(
    "text", ["8G", "2x8", "2x8G:tape", "2x8G@1024", "-1x8G", "2x8G;reboot", "1x0G", "1x99T", "x", "1x8G:"]
)
def test_a_bad_spec_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ProblemError) as caught:
        parse_spec(text)
    assert caught.value.problems[0].place == "--disks"
    assert caught.value.problems[0].remedy


def test_more_disks_than_there_are_ports_are_refused() -> None:
    parse_spec(f"{MAX_NVME}x1G")
    with pytest.raises(ProblemError):
        parse_spec(f"{MAX_NVME}x1G,1x2G")


@given(st.text(max_size=40))
def test_any_text_is_disks_or_a_problem(text: str) -> None:
    with contextlib.suppress(ProblemError):
        assert all(spec.size_bytes > 0 for spec in parse_spec(text))


def test_serials_are_unique_across_labs_and_fit_into_a_serial_number() -> None:
    specs = parse_spec("28x1G,64x1G:ssd")
    serials = [disk.serial for lab in ("a", "b") for disk in name_disks(lab, specs)]
    assert len(set(serials)) == len(serials)
    assert max(map(len, serials)) <= 20


def test_scsi_names_are_unique_and_of_the_registered_form() -> None:
    wwns = [disk.wwn for lab in ("a", "b") for disk in name_disks(lab, parse_spec("64x1G:hdd"))]
    assert len(set(wwns)) == len(wwns)
    assert {wwn >> 60 for wwn in wwns} == {5}


def test_places_follow_serials_neither_up_nor_down() -> None:
    for _ in range(50):
        ports = [disk.port for disk in name_disks("a", parse_spec("4x1G"))]
        assert sorted(ports) == [0, 1, 2, 3]
        assert ports not in ([0, 1, 2, 3], [3, 2, 1, 0])


@given(st.lists(st.integers(), max_size=6, unique=True))
def test_mixing_keeps_every_item(items: list[int]) -> None:
    assert sorted(mixed(items)) == sorted(items)
    if len(items) > 1:
        assert mixed(items) != items


def test_a_new_disk_gets_a_place_that_is_free_on_its_own_bus() -> None:
    disks = [make_disk("a", 1, 1, DiskSpec(GIB)), make_disk("a", 2, 0, DiskSpec(GIB, "ssd"))]
    assert free_port(disks, "nvme") == 0
    assert free_port(disks, "hdd") == 1


def test_a_rotational_disk_does_not_discard_and_says_that_it_turns() -> None:
    hdd, ssd = name_disks("a", parse_spec("1x1G:hdd,1x1G:ssd"))
    assert qemu.device(hdd)["rotation_rate"] == 7200
    assert qemu.device(hdd)["discard_granularity"] == 0
    assert qemu.device(ssd)["rotation_rate"] == 1
    assert qemu.device(ssd)["discard_granularity"] > 0


def test_disks_like_those_of_another_server_keep_size_kind_and_sector_without_its_system_disk() -> None:
    listed = {
        "schema": "raidtui.disks/1",
        "disks": [
            {"size_bytes": 3840755982336, "transport": "nvme", "rotational": False, "logical_sector_bytes": 4096},
            {"size_bytes": 1000204886016, "transport": "sata", "rotational": True, "logical_sector_bytes": 512},
            {
                "size_bytes": 480103981056,
                "transport": "sata",
                "rotational": False,
                "reasons": [{"code": "x", "message": "x"}],
            },
            {
                "size_bytes": 480103981056,
                "transport": "sata",
                "reasons": [{"code": "root", "message": "/", "system": True}],
            },
        ],
    }
    assert specs_like(json.dumps(listed).encode()) == [
        DiskSpec(3840755982336, "nvme", 4096), DiskSpec(1000204886016, "hdd"), DiskSpec(480103981056, "ssd"),
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"{}", b'{"disks": 3}', b'{"disks": [{"size_bytes": "x"}]}', b"\xff"])
def test_what_is_not_a_list_of_disks_is_refused(data: bytes) -> None:
    with pytest.raises(ProblemError):
        specs_like(data)
