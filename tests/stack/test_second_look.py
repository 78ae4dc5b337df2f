"""What blivet sees is compared with what should be there: devices, what they are and what they stand on."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from raidtui.stack.builder.seen import Expected, Seen

ARRAY = Seen("mdarray", "md127", parents=("sda", "sdb"), level="raid1", uuid="a-b")
EXPECTED = Expected(ARRAY, frozenset({"sda", "sdb", "sdc"}))


@pytest.mark.parametrize("found", [ARRAY, replace(ARRAY, parents=("sda", "sdb", "sdc")), replace(ARRAY, format="ext4")])
def test_an_array_as_planned_has_no_difference(found: Seen) -> None:
    assert EXPECTED.differences(found) == []


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "device that blivet sees: asked md127, found None"),
        (replace(ARRAY, level="raid0"), "md127: level that blivet sees: asked raid1, found raid0"),
        (replace(ARRAY, uuid="c-d"), "md127: uuid that blivet sees: asked a-b, found c-d"),
        (replace(ARRAY, parents=("sda",)), "md127: devices below that blivet sees: asked ['sda', 'sdb'], found ('sda',)"),
        (
            replace(ARRAY, parents=("sda", "sdb", "sdz")),
            "md127: devices below that blivet sees: asked ['sda', 'sdb'], found ('sda', 'sdb', 'sdz')",
        ),
        (replace(ARRAY, kind="disk"), "md127: kind that blivet sees: asked mdarray, found disk"),
    ],
)
def test_every_other_array_is_a_difference(found: Seen | None, text: str) -> None:
    assert [str(wrong) for wrong in EXPECTED.differences(found)] == [text]
