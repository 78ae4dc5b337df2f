"""What ZFS and its tools refuse, and what no one wants, found when a scenario is read: each with its reason and a way out.

Sources: zpool-create(8), zpoolconcepts(7), cmd/zpool/zpool_vdev.c (get_replication), module/zfs/vdev_raidz.c, vdev_draid.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from raidtui.base.text import plural
from raidtui.model.problem import Exit, Problem
from raidtui.stack.layer import stands_on
from raidtui.stack.zfs import needs
from raidtui.stack.zfs.properties import check_form
from raidtui.stack.zfs.spec import (
    EXTRA,
    Group,
    Vdev,
    ZpoolSpec,
    ashift,
    block_bytes,
    block_property,
    groups,
    number,
    operands,
    vdev_input,
)

MOST_WIDE: Final = 255
LEAST_ARC: Final = 64 << 20
"""MIN_ARC_MAX in arc_impl.h: what is less is taken for no limit at all."""
_ALWAYS_ALONE: Final = ("cache", "spares")


def check(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Why this pool cannot be, given how many devices go into each input."""
    problems = list(_vdevs(spec, counts, place))
    if not problems:
        found = groups(spec, dict(counts))
        problems += _replication(found, place)
    return [
        *problems,
        *_below(spec, place),
        *_extras(spec, counts, place),
        *_properties(spec, place),
        *needs.check(spec, place),
        *_measured(spec, place),
    ]


def _refusal(code: str, message: str, place: str, remedy: str) -> Problem:
    return Problem(code, message, place, remedy, int(Exit.USAGE))


def _vdevs(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    for index, vdev in enumerate(spec.vdevs):
        at, given = f"{place}.vdevs[{index}]", vdev.given()
        if len(given) != 1:
            text = "a vdev is of one kind; here is " + (" and ".join(given) or "none")
            yield _refusal("zpool-vdev", text, at, 'Write something like {"raidz1": "@data"}.')
            continue
        kind, count = given[0], counts.get(vdev_input(index, vdev), 0)
        yield from _draid_words(vdev, kind, at)
        if vdev.per is not None and kind == "stripe":
            yield _refusal("zpool-vdev", "each disk of a stripe is a vdev of its own", f"{at}.per", "Remove per.")
        elif vdev.per is not None and (count < vdev.per or count % vdev.per):
            text = f"{plural(count, 'disk')} cannot be split into vdevs of {vdev.per}"
            yield _refusal("zpool-vdev", text, f"{at}.per", "Give its role another count, or change per.")
        else:
            yield from _width(vdev, kind, vdev.per or count, at)


def _below(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """A pool waits for its devices, and they for the pool that they are in: another layer between changes nothing."""
    for name, operand in operands(spec).items():
        if stands_on(operand.raw, "zpool"):
            text = "a pool on a volume of another pool can hang the machine, however deep that is"
            yield _refusal("zpool-on-zpool", text, f"{place}.{name}", "Put it on disks, or on other kinds of layers.")


def _draid_words(vdev: Vdev, kind: str, at: str) -> Iterator[Problem]:
    if kind.startswith("draid"):
        return
    for name in ("data", "spares"):
        if getattr(vdev, name) is not None:
            yield _refusal("zpool-vdev", f"{kind} has no {name}", f"{at}.{name}", f"Remove {name}; only draid has it.")


def _width(vdev: Vdev, kind: str, width: int, at: str) -> Iterator[Problem]:
    parity = int(kind[5:]) if kind[:5] in ("raidz", "draid") else 0
    least = {"stripe": 1, "mirror": 2}.get(kind, parity + 1)
    # A raidz of one data disk is a mirror that is slower; zpool takes it, so it is taken here.
    if kind.startswith("draid"):
        least = (vdev.data or 1) + parity + (vdev.spares or 0)
    if width < least:
        text = f"{kind} needs at least {plural(least, 'disk')} in a vdev; there {'is' if width == 1 else 'are'} {width}"
        less = "ask for less data and spares" if kind.startswith("draid") else "choose another kind"
        yield _refusal("zpool-too-few", text, f"{at}.{kind}", f"Give its role more disks, or {less}.")
    if width > MOST_WIDE and kind != "stripe":
        text = f"a vdev takes at most {MOST_WIDE} disks; there are {width}"
        yield _refusal("zpool-too-many", text, f"{at}.{kind}", "Split them with per.")


def _replication(found: list[Group], place: str) -> Iterator[Problem]:
    """zpool wants each vdev as the one before it, or force; raidtui never forces (zpool_vdev.c, get_replication)."""
    kept = [group for group in found if group.role in ("member", "special", "dedup")]
    for last, group in pairwise(kept):
        if (text := _mismatch(last, group)) is None:
            continue
        at = f"{place}.vdevs" if group.role == "member" else f"{place}.{group.role}"
        remedy = "Make all vdevs alike." if group.role == "member" else (
            f'Let it survive as many failures: "mirrored": ["{group.role}"] with {last.may_fail + 1} devices.'
        )  # fmt: skip
        yield _refusal("zpool-mixed", text, at, remedy)
        return


def _mismatch(one: Group, other: Group) -> str | None:
    kinds = (one.kind.rstrip("123"), other.kind.rstrip("123"))
    if one.may_fail != other.may_fail or ("stripe" in kinds and kinds[0] != kinds[1]):
        return (
            f"{_called(one)} survives {plural(one.may_fail, 'failure')}, {_called(other)} {other.may_fail}: "
            "zpool refuses to mix them"
        )
    if kinds[0] == kinds[1] and len(one.devices) != len(other.devices):
        counts = f"{_called(one)} has {len(one.devices)} disks, {_called(other)} {len(other.devices)}"
        return f"{counts}: zpool refuses to mix them"
    return None


def _called(group: Group) -> str:
    return f"the {group.kind}" if group.role == "member" else f"the {group.role} {group.kind.replace('stripe', 'device')}"


def _extras(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    for name in dict.fromkeys(spec.mirrored or ()):
        at = f"{place}.mirrored"
        if getattr(spec, name) is None:
            yield _refusal("zpool-mirrored", f"there is no {name} that could be mirrored", at, f'Add "{name}": "@role".')
        elif counts.get(name, 0) < 2:
            yield _refusal("zpool-mirrored", f"a mirrored {name} needs two devices", at, "Give its role a count of 2.")
    yield from _mirrors(spec, counts, place)
    for name, _ in EXTRA:
        if getattr(spec, name) is not None and counts.get(name, 0) < 1:
            yield _refusal("zpool-too-few", f"there is no device for {name}", f"{place}.{name}", f"Remove {name}.")
    if spec.spares is not None and all(vdev.stripe is not None for vdev in spec.vdevs):
        yield _refusal("zpool-spares", "a stripe has nothing to rebuild onto spares", f"{place}.spares", "Remove spares.")


def _mirrors(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    for name, per in (spec.mirrored_per or {}).items():
        at, count = f"{place}.mirrored_per.{name}", counts.get(name, 0)
        if name not in (spec.mirrored or ()):
            yield _refusal("zpool-mirrored", f"{name} is not mirrored", at, f'Add "{name}" to mirrored, or remove it here.')
        elif count < per or count % per:
            text = f"{plural(count, 'device')} cannot be split into mirrors of {per}"
            yield _refusal("zpool-mirrored", text, at, "Give its role another count, or change it here.")


def _properties(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    yield from check_form(spec.properties, f"{place}.properties")
    yield from check_form(spec.inherited, f"{place}.inherited")
    for name, child in (("volume", spec.volume), ("dataset", spec.dataset)):
        yield from check_form(child.properties if child is not None else {}, f"{place}.{name}.properties")
    if spec.arc_max is not None and spec.arc_max.bytes < LEAST_ARC:
        text = f"an ARC of {spec.arc_max.text} is less than the 64MiB that ZFS takes for a limit"
        yield _refusal("zfs-arc", text, f"{place}.arc_max", "At least 64MiB, and a 32nd of the memory.")
    value = number(spec.properties.get("ashift", 12))
    if value is None or not (value == 0 or 9 <= value <= 16):
        yield _refusal("zpool-property", "ashift is a number from 9 to 16", f"{place}.properties.ashift", "Usually 12.")
    elif value == 0:
        text = "ashift=0 leaves it to what the disks say of themselves, and the sizes unknown"
        yield _refusal("zpool-property", text, f"{place}.properties.ashift", "Write 12, or 9 to 16.")


def _measured(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """One volume or one dataset, with whole blocks that this ashift can write."""
    if (spec.volume is None) == (spec.dataset is None):
        text = "a pool is measured as a volume or as a dataset; here is " + ("neither" if spec.volume is None else "both")
        yield _refusal("zpool-measured", text, f"{place}.{'volume' if spec.volume is None else 'dataset'}",
                       'Add "volume": {"size": "80%"} or "dataset": {}.')  # fmt: skip
        return
    what, name = ("volume", "volblocksize") if spec.dataset is None else ("dataset", "recordsize")
    child = spec.volume or spec.dataset
    assert child is not None
    inherited = name not in child.properties and name in spec.inherited
    at = f"{place}.inherited.{name}" if inherited else f"{place}.{what}.properties.{name}"
    block, given = block_bytes(spec), block_property(spec)
    if given is not None and not number(given):
        yield _refusal("zpool-property", f"{name} is a number of bytes, not {given}", at, "Such as 16K.")
        return
    if block & (block - 1) or not 512 <= block <= 16 << 20:
        yield _refusal("zpool-property", f"{name} is a power of two from 512 to 16M, not {block}", at, "Such as 16K.")
        return
    if what == "volume" and block < 1 << min(16, max(9, ashift(spec))):
        text = f"a volblocksize of {block} fills {1 << ashift(spec)} bytes of ashift={ashift(spec)}: the rest is lost"
        yield _refusal("zpool-property", text, at, "Such as 16K.")
    size = child.size.bytes
    if size is not None and (size < block or size % block):
        text = f"{child.size.text} is not a multiple of the {what}'s blocks of {block} bytes"
        yield _refusal("zpool-volume", text, f"{place}.{what}.size", "Such as 10GiB, or a share such as 80%.")
