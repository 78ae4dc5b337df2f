"""One device as the second pair of eyes sees it (`tree.py`), and the comparison with the plan."""

from __future__ import annotations

from typing import Final

import msgspec

from raidtui.model.problem import Refusal

SEEN_OTHERWISE: Final = Refusal(
    "seen-otherwise",
    "blivet sees something else",
    "After a build, blivet reads the run's disks on its own. It does not recognize what the plan says was built there.",
    "Look at the devices that the message names (lsblk, mdadm --detail) and at dmesg; please report it.",
)


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """A device that blivet recognized."""

    kind: str
    """blivet's type: `disk`, `mdarray`, `partition`, `luks/dm-crypt`, `lvmvg`, …"""
    name: str
    """Kernel name."""
    format: str = ""
    """blivet's type of its content: `mdmember`, `lvmpv`, `luks`, `xfs`, …"""
    parents: tuple[str, ...] = ()
    """Kernel names of the devices that it stands on, sorted."""
    level: str = ""
    """Level of an array."""
    uuid: str = ""
    """UUID of an array."""
