"""Layers that can be built for good, and under which names; shared by scripts and by runs that keep a layout."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from raidtui.model.plan import Created, Names
from raidtui.model.problem import Refusal, fail
from raidtui.model.scenario import Node

SCRIPT_ONE: Final = Refusal(
    "script-one",
    "One layout is built for good",
    "A layout that is built for good takes its disks; the scenario has several layouts.",
    "Name one: --layout NAME.",
)
SCRIPT_LAYER: Final = Refusal(
    "script-layer",
    "A layer cannot be built for good",
    "Built for good are md arrays, LVM volumes, ZFS pools, partitions and filesystems. The random key of an encrypted "
    "volume is in memory only, and exports, bcache and integrity devices need units that start them at boot.",
    "Choose a layout of those layers (--layout), and put the other layers on it by hand.",
)
SCRIPT_NAME: Final = Refusal(
    "script-name",
    "Not a name for arrays, groups and pools",
    "The name is that of the array, volume group, pool and filesystem: lower case letters, digits, - and _, 24 at most, "
    "and none of the words that zpool keeps for itself.",
    "For example: --name tank",
)
SCRIPT_MOUNT: Final = Refusal(
    "script-mount",
    "Not a mount point",
    "A mount point is an absolute path of letters, digits and the signs . _ - / without spaces.",
    "For example: --mount /srv/data",
)
KINDS: Final = ("md", "lvm", "zpool", "partition", "filesystem")
PLAIN: Final[dict[str, Any]] = {"initial_sync": "wait", "caches": "warm", "reset": "none", "precondition": "none"}
"""Values of the policy without what only measuring needs. Disks are blank by their signatures, not proven zero: redundancy
is synced."""
_NAME: Final = re.compile(r"(?!(mirror|raidz|draid|spare|log|cache|special|dedup)[0-9]?)[a-z][a-z0-9_-]{0,23}")
_PATH_SIGNS: Final = "/._-"


class ChosenNames(Names):
    """Names that the operator chose, in place of a run's own."""

    def __init__(self, token: str, name: str) -> None:
        super().__init__(token)
        self._name = name
        self._made: Counter[str] = Counter()

    def new(self, kind: str) -> Created:
        made = super().new(kind)
        self._made[kind] += 1
        return Created(kind, self._name + (str(self._made[kind]) if self._made[kind] > 1 else ""), made.uuid)


def the_layout(layouts: Sequence[str]) -> str:
    """Return the only layout of these. Raises ProblemError (`script-one`)."""
    if len(layouts) != 1:
        raise fail(SCRIPT_ONE, f"one layout is built for good; these are {', '.join(layouts)}", place="--layout",
                   remedy=SCRIPT_ONE.way_out)  # fmt: skip
    return layouts[0]


def refuse_mount(mount: str) -> None:
    """Raise ProblemError (`script-mount`) for what is no mount point."""
    if not mount.startswith("/") or not all(sign.isalnum() or sign in _PATH_SIGNS for sign in mount):
        raise fail(SCRIPT_MOUNT, f"{mount[:80]!r} is no mount point", place="--mount", remedy=SCRIPT_MOUNT.way_out)


def refuse_unkept(node: Node, name: str, mount: str) -> None:
    """Raise ProblemError for what cannot last: a layer, a name, a mount point (`script-layer`, `script-name`, …)."""
    if not _NAME.fullmatch(name):
        raise fail(SCRIPT_NAME, f"{name[:40]!r} is no name for arrays", place="--name", remedy=SCRIPT_NAME.way_out)
    refuse_mount(mount)
    if wrong := sorted({one.kind for one in node.walk()} - set(KINDS)):
        text = f"{', '.join(wrong)} cannot be built for good"
        raise fail(SCRIPT_LAYER, text, place=node.place, remedy=SCRIPT_LAYER.way_out)
