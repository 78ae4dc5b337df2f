"""The second look compares the devices that blivet finds on the disks with those that the build steps expect."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from raidtui.stack.builder.process import Built
from raidtui.stack.builder.seen import Expected, Seen, second_look

ARRAY = Seen("mdarray", "md127", parents=("sda", "sdb"), level="raid1", uuid="a-b")
EXPECTED = Expected(ARRAY, frozenset({"sda", "sdb", "sdc"}))


SPARE = replace(ARRAY, parents=("sda", "sdb", "sdc"))


@pytest.mark.parametrize("found", [ARRAY, SPARE, replace(ARRAY, table_uuid="of a pool")])
def test_an_array_as_planned_has_no_difference(found: Seen) -> None:
    assert EXPECTED.differences(found) == []


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "md127 as blivet sees it: asked there, found missing"),
        (replace(ARRAY, level="raid0"), "level of md127 as blivet sees it: asked raid1, found raid0"),
        (replace(ARRAY, uuid="c-d"), "uuid of md127 as blivet sees it: asked a-b, found c-d"),
        (replace(ARRAY, parents=("sda",)), "devices below md127 as blivet sees them: asked ['sda', 'sdb'], found ('sda',)"),
        (
            replace(ARRAY, parents=("sda", "sdb", "sdz")),
            "devices below md127 as blivet sees them: asked ['sda', 'sdb'], found ('sda', 'sdb', 'sdz')",
        ),
        (replace(ARRAY, kind="disk"), "kind of md127 as blivet sees it: asked mdarray, found disk"),
    ],
)
def test_every_other_array_is_a_difference(found: Seen | None, text: str) -> None:
    assert [str(wrong) for wrong in EXPECTED.differences(found)] == [text]


class Blivet:
    """Sees these devices, and remembers which it was asked for."""

    def __init__(self, *found: Seen) -> None:
        self.found = found
        self.asked: list[Any] = []

    def call(self, function: str, **args: Any) -> Built:
        self.asked.append((function, args))
        return Built(msgspec.to_builtins(self.found), ())


def test_only_what_stands_on_devices_that_blivet_knows_is_compared() -> None:
    above_lvm = Expected(Seen("luks/dm-crypt", "dm-3", parents=("dm-2",)))
    over_md = Expected(Seen("luks/dm-crypt", "dm-5", parents=("md127",)))
    blivet: Any = Blivet(ARRAY, over_md.seen)
    assert second_look(blivet, ["sda", "sdb"], [EXPECTED, above_lvm, over_md]) == []
    assert blivet.asked == [("tree.look", {"paths": ["/dev/sda", "/dev/sdb"], "names": ["md127", "dm-5"]})]
    assert second_look(blivet, ["sda", "sdb"], [above_lvm]) == []
    assert len(blivet.asked) == 1


def test_a_btrfs_volume_has_the_node_of_its_first_device_and_is_not_taken_for_it() -> None:
    blivet: Any = Blivet(ARRAY, Seen("btrfs volume", "md127", format="btrfs", parents=("md127",)))
    assert second_look(blivet, ["sda", "sdb"], [EXPECTED]) == []
