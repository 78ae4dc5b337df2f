"""State of a volume: its initial sync, and the reasons why numbers measured on it would be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base import proc
from raidtui.model.mark import Coded
from raidtui.model.problem import Exit, fail
from raidtui.stack import sync
from raidtui.stack.action import Outcome
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.context import Context
from raidtui.stack.lvm.commands import VOLUME
from raidtui.stack.lvm.devices import Status, is_suspended, lowest, mappings, present_devices, target_status, volume_node
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.pool import NO_INDEX
from raidtui.stack.nodes import devno


class Progress(NamedTuple):
    """State of the images of a volume."""

    done: int
    of: int
    health: str
    """One letter per image: `A` in sync, `a` not yet, `D` dead."""
    action: str

    @property
    def finished(self) -> bool:
        return self.done == self.of and set(self.health) <= {"A"} and self.action in ("idle", "")

    @property
    def fraction(self) -> float:
        return self.done / self.of if self.of else 1.0


NO_IMAGES: Final = Progress(0, 1, "D", "")
"""Progress if the kernel reports no images, because the volume is gone."""


def read_progress(group: str) -> Progress:
    """Return the progress of the image that is furthest behind; a dead image if the volume has none.

    Raises ProblemError (`tool-failed`).
    """
    try:
        found = [progress for one in target_status(group) if (progress := progress_of(one)) is not None]
        found.sort(key=lambda progress: (progress.finished, progress.fraction))
    except proc.ToolError as error:
        raise fail(TOOL_FAILED, f"dmsetup did not answer: {error.reason}", place=group, exit=Exit.BUILD_FAILED) from error
    return found[0] if found else NO_IMAGES


def progress_of(status: Status) -> Progress | None:
    """Parse the status of a raid, mirror or integrity target (Documentation/admin-guide/device-mapper/dm-raid.rst)."""
    words = status.words
    try:
        if status.target == "raid":
            done, of = words[3].split("/")
            return Progress(int(done), int(of), words[2], words[4] if len(words) > 4 else "")
        if status.target == "mirror":
            count = int(words[0])
            done, of = words[count + 1].split("/")
            return Progress(int(done), int(of), words[count + 3], "")
        if status.target == "integrity":
            done, whole = words[2], words[1]
            return Progress(int(whole if done == "-" else done), int(whole), "", "")
    except (IndexError, ValueError):
        return None
    return None


def wait_for_sync(context: Context, vg: LvmGroup) -> Outcome:
    """Wait until all images are in sync. Raises ProblemError: `cancelled`, `member-lost`, `sync-stalled`."""

    def lost(now: Progress) -> str:
        _, missing = present_devices(context, vg)
        if "D" not in now.health and not missing:
            return ""
        return f"the volume lost a device during its initial sync: {', '.join(missing) or 'an image is dead'}"

    return sync.wait_for_sync(context, vg.name, lambda: read_progress(vg.name), lost)


def health(context: Context, vg: LvmGroup) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    node = volume_node(vg.name)
    if node is None:
        return ("the volume is missing",)
    if gone := [name for name in vg.names[1:] if volume_node(vg.name, name) is None]:
        return (f"{gone[0]} is missing",)
    try:
        found = target_status(vg.name)
    except proc.ToolError as error:
        return (f"the volume's state is unknown: {error.reason}",)
    devices, missing = present_devices(context, vg)
    wrong = [f"{ref.partition(':')[2]} is not there any more" for ref in missing]
    below = {devno(name) for name in lowest(node)}
    members = [device for device in devices if device.role == "member" and device.devno in below]
    if vg.volume.allocation != "anywhere" and not missing and len(members) < vg.volume.areas:
        wrong.append("the volume lost a device")
    wrong += [f"{one.volume} is suspended" for one in mappings(vg.name) if is_suspended(one)]
    return tuple(wrong + [sentence for one in found for sentence in problems_of(one)])


def problems_of(status: Status) -> list[str]:
    """Return the problems that the status of one target reports."""
    progress = progress_of(status)
    if progress is not None:
        wrong: list[str] = [Coded("degraded", f"{status.volume} has a dead image")] if "D" in progress.health else []
        if status.target == "integrity" and status.words[:1] != ("0",):
            wrong.append(f"{status.volume} found wrong checksums")
        if progress.action not in ("idle", ""):
            wrong.append(Coded("resyncing", f"{status.volume} is busy with {progress.action}"))
        elif not wrong and not progress.finished:
            wrong.append(Coded("resyncing", f"{status.volume} is not in sync"))
        return wrong
    name, words = status.volume, status.words
    if status.target in ("raid", "mirror", "integrity"):
        return [f"{name} has an unknown status: {' '.join(words)}"]
    if words[:1] in (("Fail",), ("Error",)):
        return [f"{name} failed"]
    if status.target == "writecache" and words[:1] != ("0",):
        return [f"writecache {name} has an error"]
    if status.target == "cache":  # ends with `rw` or `ro`, and `needs_check` or `-` (cache.rst)
        states = {"ro": f"the metadata of cache {name} is read-only", "needs_check": f"cache {name} needs a check"}
        return [text for word, text in states.items() if word in words[-2:]]
    if status.target == "thin-pool":  # … held root, then `rw`, `ro` or `out_of_data_space` (thin-provisioning.rst)
        states = {word: f"thin pool {name} is {word}" for word in ("ro", "out_of_data_space")}
        states["needs_check"] = f"thin pool {name} needs a check"
        return [text for word, text in states.items() if word in words]
    return _vdo_problems(name, words) if status.target == "vdo" else []


def _vdo_problems(name: str, words: tuple[str, ...]) -> list[str]:
    """Return the problems in device, mode, recovery, index, compression, used blocks, all blocks (vdo.rst)."""
    if len(words) < 7:
        return [f"VDO pool {name} has an unknown status: {' '.join(words)}"]
    _, mode, recovery, index, _, used, blocks = words[:7]
    found = (
        (mode != "normal", f"VDO pool {name} is {mode}"),
        (recovery != "-", f"VDO pool {name} is recovering"),
        (index not in ("online", *NO_INDEX), f"the index of VDO pool {name} is {index}"),
        (used == blocks, f"VDO pool {name} is full"),
    )
    return [text for wrong, text in found if wrong]


def members(context: Context, vg: LvmGroup) -> Mapping[str, str]:
    """Return kernel names of the volumes and their devices with their roles; empty if no volume exists."""
    nodes = [volume_node(vg.name, name) for name in (VOLUME, *vg.names[1:])]
    found = {node: "target" for node in nodes if node is not None}
    if not found:
        return {}
    devices, _ = present_devices(context, vg)
    return found | {Path(device.path).resolve().name: device.role for device in devices}
