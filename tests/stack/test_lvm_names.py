"""Names of volumes as device-mapper has them, with hyphens in the name of the group or without."""

from __future__ import annotations

from pathlib import Path

import pytest

from raidtui.stack.lvm import devices


@pytest.mark.parametrize(
    ("group", "volume", "name"),
    [("rtabc0a", "volume_rimage_0", "rtabc0a-volume_rimage_0"), ("my-tank", "volume", "my--tank-volume"),
     ("tank-", "volume", "tank---volume"), ("rtabc0a", "vdopool-vpool", "rtabc0a-vdopool-vpool")],
)  # fmt: skip
def test_group_and_volume_are_told_apart(group: str, volume: str, name: str) -> None:
    assert devices.dm_name(group, volume) == name
    assert devices.split_name(name) == (group, volume)


def test_volumes_of_a_group_are_not_those_of_one_whose_name_begins_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (name, uuid) in enumerate(
        (("my-volume", "LVM-1"), ("my--tank-volume", "LVM-2"), ("my-luks", "CRYPT-3"), ("plain", "LVM-4"))
    ):
        folder = tmp_path / f"dm-{number}/dm"
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "uuid").write_text(f"{uuid}\n")
    monkeypatch.setattr(devices, "SYS_BLOCK", tmp_path)
    assert [(one.node, one.volume) for one in devices.mappings("my")] == [("dm-0", "volume")]
    assert [(one.node, one.volume) for one in devices.mappings("my-tank")] == [("dm-1", "volume")]
    assert devices.volume_node("my-tank") == "dm-1"
