"""Which names are those of like disks, and which are of layouts that only look so."""

import pytest

from raidtui.foreign.lint.figures import likes


@pytest.mark.parametrize(
    "names",
    [
        ["ZFS (stripe)", "ZFS (mirror)", "ZFS (raidz1)", "ZFS (raidz2)"],
        ["ext4 (default)", "ext4 (noatime)", "ext4 (discard)", "ext4 (data=journal)"],
        ["RAID6-128K", "RAID6-256K", "RAID6-512K", "RAID6-2048K"],
        ["RAID6 (16)", "RAID6 (64)", "RAID6 (128)", "RAID6 (2048)"],
        ["HDD (cold)", "HDD (warm)", "HDD (hot)", "HDD (full)"],
    ],
)
def test_layouts_with_options_are_no_like_disks(names):
    assert likes(names) == {}


@pytest.mark.parametrize(
    "names",
    [
        ["NVMe0 (P5510)", "NVMe1 (P5510)", "NVMe2 (P5510)", "NVMe3 (P5510)"],
        ["PM9A3 (0369), Physical", "PM9A3 (6310), Physical", "PM9A3 (6314), Physical", "PM9A3 (3349), Physical"],
        ["Micron 7450 (slot 1)", "Micron 7450 (slot 2)", "Micron 7450 (slot 3)", "Micron 7450 (slot 4)"],
        ["S64FNE0R100231", "S64FNE0R100232", "S64FNE0R100233", "S64FNE0R100234"],
    ],
)
def test_models_and_numbers_of_disks_are(names):
    assert len(set(likes(names).values())) == 1
    assert list(likes(names)) == names
