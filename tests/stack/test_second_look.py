"""What blivet sees is compared with what should be there: devices, what they are and what they stand on."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from raidtui.stack.builder.seen import Expected, Seen

ARRAY = Seen("mdarray", "md127", parents=("sda", "sdb"), level="raid1", uuid="a-b")
EXPECTED = Expected(ARRAY, frozenset({"sda", "sdb", "sdc"}))


@pytest.mark.parametrize("found", [ARRAY, replace(ARRAY, parents=("sda", "sdb", "sdc")), replace(ARRAY, table_uuid="of a pool")])
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
