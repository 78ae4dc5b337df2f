"""What the options of an md array come to, in words: what it is, what is taken where nothing is said, what may fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.stack.md.spec import DEFAULT_CHUNK_BYTES, PARITY, MdSpec, bitmap, chunk_bytes, consistency, copies, layout

_MDADM: Final = "mdadm's default"


def describe(spec: MdSpec, counts: Mapping[str, int]) -> str:
    """`raid5 of 4, chunk 64KiB, consistency ppl`."""
    found = [f"{spec.level} of {counts.get('on', 0)}"]
    if layout(spec) is not None and spec.layout is not None:
        found.append(spec.layout)
    if (chunk := chunk_bytes(spec)) is not None:
        found.append(f"chunk {spec.chunk.text if spec.chunk else f'{chunk >> 10}KiB'}")
    if consistency(spec) not in (None, "resync"):
        found.append(f"consistency {consistency(spec)}")
    return ", ".join(found)


def defaults(spec: MdSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """By optional field: what it comes to where it is left out, and why."""
    chunk = f"{DEFAULT_CHUNK_BYTES >> 10}KiB"
    return {
        "chunk": ("none", "raid1 does not stripe") if spec.level == "raid1" else (chunk, _MDADM),
        "layout": ("none", f"{spec.level} has no layouts") if (name := layout(spec)) is None else (name, _MDADM),
        "journal": ("none", "nothing is journaled unless a device is given for it"),
        "spares": ("none", "every disk of the role is a member"),
        "bitmap": _bitmap(spec),
        "bitmap_chunk": _bitmap_chunk(spec),
        "consistency": _consistency(spec),
        "metadata": ("1.2", _MDADM),
    }


def _bitmap(spec: MdSpec) -> tuple[str, str]:
    policy = consistency(spec)
    if policy is None:
        return "none", f"{spec.level} has nothing to resync"
    if policy == "bitmap":
        return "internal", "it follows from consistency bitmap"
    return "none", f"it follows from consistency {policy}"


def _bitmap_chunk(spec: MdSpec) -> tuple[str, str]:
    return ("none", "there is no bitmap") if bitmap(spec) == "none" else ("64MiB or more", "mdadm chooses it by the size")


def _consistency(spec: MdSpec) -> tuple[str, str]:
    if spec.level == "raid0":
        return "none", "raid0 has no redundancy to keep consistent"
    if spec.journal is not None:
        return "journal", "it follows from the journal"
    if spec.bitmap == "internal":
        return "bitmap", "it follows from the bitmap"
    return "resync", "without journal and bitmap everything is resynced after a crash"


def tolerates_failures(spec: MdSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """By input: how many of its devices may fail without loss, whichever they are, and in words which and what then."""
    members = counts.get("on", 0)
    count = may_fail(spec, members)
    if count == 0:
        found = {"on": (0, "no member")}
    else:
        which = f"any {count} of the {members} members" if count > 1 or members > 1 else "the member"
        if spec.level == "raid10" and members > count + 1:
            which += ", and more while every block keeps a copy"
        if spec.level == "raid1":
            which = f"all of the {members} members but one"
        found = {"on": (count, which)}
    if "journal" in counts:
        found["journal"] = (counts["journal"], "the journal: the array goes read-only, nothing is lost")
    if spares := counts.get("spares"):
        what = "the spare" if spares == 1 else f"all {plural(spares, 'spare')}"
        found["spares"] = (spares, f"{what}: nothing takes the place of the next member that fails")
    return found


def may_fail(spec: MdSpec, members: int) -> int:
    """How many members may fail, whichever they are."""
    if spec.level == "raid0":
        return 0
    if spec.level == "raid1":
        return max(0, members - 1)
    if spec.level == "raid10":
        return (copies(layout(spec) or "") or ("near", 2))[1] - 1
    return PARITY[spec.level]
