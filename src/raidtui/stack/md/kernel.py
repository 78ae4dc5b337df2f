"""md arrays as reported by the kernel (sysfs, Documentation/admin-guide/md.rst), `mdadm --detail` and mdadm's map.

Arrays are found by UUID: kernel names change, and names are not unique.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.inventory.blocks import parse_devno
from raidtui.stack.md.plan import mdadm_uuid
from raidtui.stack.md.spec import PARITY_LAYOUTS
from raidtui.stack.nodes import running

SYS_BLOCK: Final = Path("/sys/block")
MAP: Final = Path("/run/mdadm/map")
_MONITORS: Final = re.compile(r"--monitor|--follow|-F")
_NO_UUID: Final = "00000000-0000-0000-0000-000000000000"


class Member(NamedTuple):
    """A device of an array, by its state in the array."""

    name: str
    devno: int
    slot: str
    """Slot number in the array; `none` for a spare; `journal`."""
    states: frozenset[str]
    """`in_sync`, `spare`, `faulty`, `journal`, …"""


def folder(name: str) -> Path:
    return SYS_BLOCK / name / "md"


def exists(name: str) -> bool:
    """Return True if the array exists in any state but `clear` (an empty shell that the kernel is about to drop)."""
    return read_text(folder(name) / "array_state") not in (None, "clear")


def is_shell(name: str) -> bool:
    """Return True for a device without an array: state `clear`, no members."""
    return read_text(folder(name) / "array_state") == "clear" and not any(folder(name).glob("dev-*"))


def all_arrays() -> list[str]:
    """Return the kernel names of all md arrays, running or not."""
    return sorted(path.parent.name for path in SYS_BLOCK.glob("md*/md"))


def array_uuid(name: str) -> str | None:
    """Return the UUID of an array (with dashes) from sysfs, `mdadm --detail` or mdadm's map."""
    by_kernel = read_text(folder(name) / "uuid")
    if by_kernel and by_kernel != _NO_UUID:
        return by_kernel.lower()
    # The kernel reports no UUID of an array that is not running, but its members have it.
    by_members = detail(name).get("MD_UUID", "").replace(":", "")
    if re.fullmatch(r"[0-9a-f]{32}", by_members):
        return str(uuid.UUID(by_members))
    # An array that never had members is only in the map of the mdadm that was creating it.
    return next((found for kernel_name, found in read_map() if kernel_name == name), None)


def find(wanted: str) -> list[str]:
    """Return the kernel names of all arrays with this UUID."""
    return [name for name in all_arrays() if exists(name) and array_uuid(name) == wanted]


def read_map(path: Path = MAP) -> Iterator[tuple[str, str]]:
    """Return (kernel name, UUID) of the arrays with version 1 metadata in mdadm's map.

    The map has the UUID as four numbers in the byte order of the machine.
    """
    for line in (read_text(path) or "").splitlines():
        fields = line.split()
        if len(fields) >= 3 and re.fullmatch(r"[0-9a-f]{8}(:[0-9a-f]{8}){3}", fields[2]):
            words = (int(word, 16).to_bytes(4, sys.byteorder) for word in fields[2].split(":"))
            yield fields[0], str(uuid.UUID(bytes=b"".join(words)))


def detail(name: str) -> dict[str, str]:
    """Return the output of `mdadm --detail --export`; empty if mdadm fails."""
    mdadm = proc.find_tool("mdadm")
    if mdadm is None:
        return {}
    try:
        ran = proc.run([mdadm, "--detail", "--export", f"/dev/{name}"], check=False)
    except proc.ToolError:
        return {}  # a foreign array that hangs must not prevent finding the array of the run
    return dict(line.split("=", 1) for line in ran.text.splitlines() if "=" in line)


def member_numbers(name: str) -> set[int]:
    """Return the device numbers of all devices of the array."""
    numbers = (parse_devno(read_text(link) or "") for link in (SYS_BLOCK / name / "slaves").glob("*/dev"))
    return {number for number in numbers if number is not None}


def members(name: str) -> tuple[Member, ...]:
    """Return the devices of an array, sorted by name."""
    found = []
    for path in sorted(folder(name).glob("dev-*")):
        number = parse_devno(read_text(path / "block/dev") or "") or -1
        states = frozenset((read_text(path / "state") or "").split(",")) - {""}
        found.append(Member(path.name.removeprefix("dev-"), number, read_text(path / "slot") or "", states))
    return tuple(found)


def read_back(name: str) -> dict[str, Any]:
    """Return the properties of the array as JSON data: sizes in bytes; absent is None."""
    md = folder(name)
    level = read_text(md / "level")
    sectors = read_int(SYS_BLOCK / name / "size")
    component_kib = read_int(md / "component_size")
    location = read_text(md / "bitmap/location")
    return {
        "kernel_name": name,
        "uuid": array_uuid(name),
        "level": level,
        "raid_disks": _first_int(md / "raid_disks"),
        "chunk_bytes": _first_int(md / "chunk_size") or None,
        "layout": layout_name(level or "", _first_int(md / "layout")),
        "metadata": read_text(md / "metadata_version"),
        "consistency": read_text(md / "consistency_policy"),
        "bitmap": None if location is None else "none" if location == "none" else "internal",
        "bitmap_location": location,
        "bitmap_chunk_bytes": read_int(md / "bitmap/chunksize") if location not in (None, "none") else None,
        "journal_mode": _chosen(md / "journal_mode"),
        "state": read_text(md / "array_state"),
        "degraded": read_int(md / "degraded"),
        "sync_action": read_text(md / "sync_action"),
        "size_bytes": None if sectors is None else sectors * 512,
        "component_bytes": None if component_kib is None else component_kib * 1024,
        "members": {m.name: {"slot": m.slot, "state": ",".join(sorted(m.states))} for m in members(name)},
    }


def layout_name(level: str, number: int | None) -> str | None:
    """Return the layout by name (`far2`, `left-symmetric`); None for levels without layouts."""
    if number is None:
        return None
    if level == "raid10":
        near, far = number & 0xFF, number >> 8 & 0xFF
        if near > 1 and far > 1:
            return f"near{near}far{far}"
        kind = "near" if far == 1 else "offset" if number >> 16 & 1 else "far"
        return f"{kind}{max(near, far)}"
    if level in ("raid5", "raid6"):
        return next((name for name, known in PARITY_LAYOUTS.items() if known == number), str(number))
    return None


def makers(array: str) -> list[int]:
    """Return the pids of mdadm processes that are still creating the array with this UUID."""
    return [pid for pid, argv in running("mdadm") if mdadm_uuid(array) in argv]


def workers() -> list[int]:
    """Return the pids of mdadm processes that may be creating or assembling an array: all but the monitor."""
    return [pid for pid, argv in running("mdadm") if not any(map(_MONITORS.fullmatch, argv))]


def _first_int(path: Path) -> int | None:
    match = re.match(r"\d+", read_text(path) or "")
    return int(match.group()) if match else None


def _chosen(path: Path) -> str | None:
    """Return the word in brackets of a list of choices."""
    match = re.search(r"\[(.+?)\]", read_text(path) or "")
    return match.group(1) if match else None
