"""A run's own signatures are told from those of others."""

from __future__ import annotations

import pytest

from raidtui.gate.last_look import foreign
from raidtui.inventory import Signature

POOL = Signature("zfs_member", "1234", "rtabca")
UBERBLOCKS = Signature("zfs_member", version="uberblock", where="sda", remains=True)


def test_uberblocks_whose_label_is_gone_are_those_of_the_pool_that_the_run_made() -> None:
    assert foreign([UBERBLOCKS], "sda", [POOL]) == []


@pytest.mark.parametrize("ours", [[], [Signature("linux_raid_member", "1234")]])
def test_uberblocks_are_somebody_elses_where_the_run_made_no_pool(ours: list[Signature]) -> None:
    assert foreign([UBERBLOCKS], "sda", ours) == [UBERBLOCKS]


def test_remains_that_name_another_pool_are_somebody_elses() -> None:
    theirs = UBERBLOCKS._replace(uuid="99", label="tank")
    assert foreign([theirs], "sda", [POOL]) == [theirs]
