"""Whether what is measured on a volume now is worth anything, and which kernel devices it consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.model.mark import Coded
from raidtui.stack.context import Context
from raidtui.stack.lvm import kernel
from raidtui.stack.lvm.command import VOLUME
from raidtui.stack.lvm.devices import present_devices
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.sync import of_status
from raidtui.stack.lvm.vdo import NO_INDEX
from raidtui.stack.nodes import devno


def health(context: Context, vg: LvmGroup) -> tuple[str, ...]:
    """Why numbers would be wrong: one sentence each; empty when nothing is wrong."""
    node = kernel.volume_node(vg.name)
    if node is None:
        return ("the volume is not there",)
    try:
        found = kernel.status(vg.name)
    except proc.ToolError as error:
        return (f"the volume's state is unknown: {error.reason}",)
    devices, missing = present_devices(context, vg)
    wrong = [f"{ref.partition(':')[2]} is not there any more" for ref in missing]
    below = {devno(name) for name in kernel.leaves(node)}
    members = [device for device in devices if device.role == "member" and device.devno in below]
    if vg.volume.allocation != "anywhere" and not missing and len(members) < vg.volume.areas:
        wrong.append("the volume lost a device")
    wrong += [f"{one.volume} is suspended" for one in kernel.mappings(vg.name) if kernel.is_suspended(one)]
    return tuple(wrong + [sentence for one in found for sentence in of_target(one)])


def of_target(status: kernel.Status) -> list[str]:
    """What is wrong with one volume, by its target's own words."""
    progress = of_status(status)
    if progress is not None:
        wrong: list[str] = [Coded("degraded", f"{status.volume} has a dead image")] if "D" in progress.health else []
        if status.target == "integrity" and status.words[:1] != ("0",):
            wrong.append(f"{status.volume} found wrong checksums")
        if progress.action not in ("idle", ""):
            wrong.append(Coded("resyncing", f"{status.volume} is busy with {progress.action}"))
        elif not wrong and not progress.finished:
            wrong.append(Coded("resyncing", f"{status.volume} is not in sync"))
        return wrong
    if status.target in ("raid", "mirror", "integrity"):
        return [f"{status.volume} says what is not understood: {' '.join(status.words)}"]
    if status.words[:1] in (("Fail",), ("Error",)):
        return [f"{status.volume} failed"]
    known = _TARGETS.get(status.target)
    return known(status.volume, status.words) if known is not None else []


def _cache(name: str, words: tuple[str, ...]) -> list[str]:
    """Ends with `rw` or `ro`, and `needs_check` or `-` (cache.rst)."""
    wrong = [f"the metadata of cache {name} is read-only"] if "ro" in words[-2:] else []
    return wrong + ([f"cache {name} needs a check"] if "needs_check" in words[-2:] else [])


def _writecache(name: str, words: tuple[str, ...]) -> list[str]:
    return [] if words[:1] == ("0",) else [f"writecache {name} has an error"]


def _pool(name: str, words: tuple[str, ...]) -> list[str]:
    """… free blocks, held root, then `rw`, `ro` or `out_of_data_space` (thin-provisioning.rst)."""
    wrong = [f"thin pool {name} is {word}" for word in ("ro", "out_of_data_space") if word in words]
    return wrong + ([f"thin pool {name} needs a check"] if "needs_check" in words else [])


def _vdo(name: str, words: tuple[str, ...]) -> list[str]:
    """Device, operating mode, recovery, index, compression, used blocks, all blocks (vdo.rst)."""
    if len(words) < 7:
        return [f"VDO pool {name} says what is not understood: {' '.join(words)}"]
    wrong = [f"VDO pool {name} is {words[1]}"] if words[1] != "normal" else []
    wrong += [f"VDO pool {name} is recovering"] if words[2] != "-" else []
    wrong += [f"the index of VDO pool {name} is {words[3]}"] if words[3] not in ("online", *NO_INDEX) else []
    return wrong + ([f"VDO pool {name} is full"] if words[5] == words[6] else [])


_TARGETS: Final[dict[str, Callable[[str, tuple[str, ...]], list[str]]]] = {
    "cache": _cache,
    "writecache": _writecache,
    "thin-pool": _pool,
    "vdo": _vdo,
}


def members(context: Context, vg: LvmGroup) -> Mapping[str, str]:
    """Kernel names of the volume and what it stands on, with their roles; nothing where it is not there."""
    node = kernel.volume_node(vg.name, VOLUME)
    if node is None:
        return {}
    devices, _ = present_devices(context, vg)
    return {node: "target"} | {Path(device.path).resolve().name: device.role for device in devices}
