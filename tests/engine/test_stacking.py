"""What a layer says of those that it stands on is shown with the plan, and while composing."""

from __future__ import annotations

from test_planning import plan
from test_preview import one

MD = {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}
OVER_MD = {"zpool": {"vdevs": [{"stripe": MD}], "volume": {"size": "50%"}}}
ALONE = {"zpool": {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}}


def test_zfs_over_md_is_built_and_said_to_be_less_than_zfs() -> None:
    made = plan(layouts={"over": OVER_MD, "alone": ALONE})
    said = [text for text in made.warnings if text.startswith("ZFS stands on md")]
    assert len(said) == 1, "once, for all layouts that do it"
    assert not [text for text in plan(layouts={"alone": ALONE}).warnings if text.startswith("ZFS stands on")]


def test_it_is_said_while_composing() -> None:
    seen = one(OVER_MD)
    assert any(text.startswith("ZFS stands on md") for text in seen.warnings)
