"""Rules of ZFS and its tools that are checked when a scenario is read, and pool features that options need.

Sources: zpool-create(8), zpoolconcepts(7), cmd/zpool/zpool_vdev.c (get_replication), module/zfs/vdev_raidz.c, vdev_draid.c;
of features: zpool-features(7), zpoolprops(7) (compatibility, version), cmd/zpool/zpool_main.c (add_prop_list,
zpool_do_create), lib/libzfs/libzfs_dataset.c (zfs_valid_proplist).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_text
from raidtui.base.text import plural
from raidtui.model.problem import Problem, Refusal
from raidtui.stack.layer import stands_on
from raidtui.stack.zfs.arc import ARC
from raidtui.stack.zfs.properties import PROPERTY, check_form
from raidtui.stack.zfs.spec import (
    EXTRA,
    Group,
    Vdev,
    ZpoolSpec,
    ashift,
    block_bytes,
    block_property,
    groups,
    measured_properties,
    number,
    operands,
    vdev_input,
)

MOST_WIDE: Final = 255
LEAST_ARC: Final = 64 << 20
"""MIN_ARC_MAX in arc_impl.h: what is less is taken for no limit at all."""
_ALWAYS_ALONE: Final = ("cache", "spares")

VDEV: Final = Refusal(
    "zpool-vdev",
    "Wrong vdev",
    "A vdev has one kind, and only the options of that kind. `per` splits a role's disks into vdevs of so many disks "
    "each, with none left over; `data` and `spares` belong to draid.",
    'Write something like {"raidz1": "@data"} or {"mirror": "@data", "per": 2}.',
)
TOO_FEW: Final = Refusal(
    "zpool-too-few",
    "Too few disks for a vdev",
    "A mirror needs at least two disks, raidz one more than its parity, draid its data, parity and spares together.",
    "Raise the count of the role, or choose another kind.",
)
TOO_MANY: Final = Refusal(
    "zpool-too-many", "Too many disks in one vdev", "A vdev has at most 255 disks.", "Split them with per."
)
MIXED: Final = Refusal(
    "zpool-mixed",
    "Vdevs do not match",
    "zpool requires that all vdevs tolerate the same number of failures, and that vdevs of one kind have the same "
    "width; special and dedup devices too, because losing one loses the pool. It mixes them only when forced, and "
    "raidtui never forces.",
    "Make the vdevs alike; mirror special and dedup devices.",
)
MIRRORED: Final = Refusal(
    "zpool-mirrored",
    "Nothing to mirror",
    "`mirrored` names devices that are not given, that are fewer than two, or that do not make whole mirrors of "
    "`mirrored_per`.",
    "Give at least two devices, or leave the name out of `mirrored`.",
)
SPARES: Final = Refusal(
    "zpool-spares",
    "Spares without redundancy",
    "A spare replaces a failed disk, but a stripe has no redundancy to rebuild it from.",
    "Leave spares out, or choose vdevs with redundancy.",
)
MEASURED: Final = Refusal(
    "zpool-measured",
    "No measured object, or two",
    "A pool is measured as a volume, which is a block device, or as a dataset, which is a directory with files.",
    'Add either "volume": {"size": "80%"} or "dataset": {}.',
)
VOLUME_SIZE: Final = Refusal(
    "zpool-volume",
    "Wrong size of a volume or dataset",
    "The size is a multiple of its volblocksize or recordsize.",
    "Write such a multiple, or a share such as 80%.",
)
ON_ZPOOL: Final = Refusal(
    "zpool-on-zpool",
    "A pool on a pool",
    "ZFS can deadlock if a pool is on a volume of another pool.",
    "Put it on disks, or on another kind of layer.",
)


def check(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the problems of this pool, given the number of devices of each input."""
    problems = list(_vdevs(spec, counts, place))
    if not problems:
        found = groups(spec, dict(counts))
        problems += _replication(found, place)
    return [
        *problems,
        *_below(spec, place),
        *_extras(spec, counts, place),
        *_properties(spec, place),
        *check_features(spec, place),
        *_measured(spec, place),
    ]


def _vdevs(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    for index, vdev in enumerate(spec.vdevs):
        at, given = f"{place}.vdevs[{index}]", vdev.given()
        if len(given) != 1:
            text = "a vdev is of one kind; here is " + (" and ".join(given) or "none")
            yield VDEV.problem(text, place=at, remedy='Write something like {"raidz1": "@data"}.')
            continue
        kind, count = given[0], counts.get(vdev_input(index, vdev), 0)
        yield from _draid_words(vdev, kind, at)
        if vdev.per is not None and kind == "stripe":
            yield VDEV.problem("each disk of a stripe is a vdev of its own", place=f"{at}.per", remedy="Remove per.")
        elif vdev.per is not None and (count < vdev.per or count % vdev.per):
            text = f"{plural(count, 'disk')} cannot be split into vdevs of {vdev.per}"
            yield VDEV.problem(text, place=f"{at}.per", remedy="Give its role another count, or change per.")
        else:
            yield from _width(vdev, kind, vdev.per or count, at)


def _below(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """A pool waits for its devices, and they for the pool that they are in: another layer between changes nothing."""
    for name, operand in operands(spec).items():
        if stands_on(operand.raw, "zpool"):
            text = "a pool on a volume of another pool can hang the machine, however deep that is"
            yield ON_ZPOOL.problem(text, place=f"{place}.{name}", remedy="Put it on disks, or on other kinds of layers.")


def _draid_words(vdev: Vdev, kind: str, at: str) -> Iterator[Problem]:
    if kind.startswith("draid"):
        return
    for name in ("data", "spares"):
        if getattr(vdev, name) is not None:
            yield VDEV.problem(f"{kind} has no {name}", place=f"{at}.{name}", remedy=f"Remove {name}; only draid has it.")


def _width(vdev: Vdev, kind: str, width: int, at: str) -> Iterator[Problem]:
    parity = int(kind[5:]) if kind[:5] in ("raidz", "draid") else 0
    least = {"stripe": 1, "mirror": 2}.get(kind, parity + 1)
    # A raidz of one data disk is a mirror that is slower; zpool takes it, so it is taken here.
    if kind.startswith("draid"):
        least = (vdev.data or 1) + parity + (vdev.spares or 0)
    if width < least:
        text = f"{kind} needs at least {plural(least, 'disk')} in a vdev; there {'is' if width == 1 else 'are'} {width}"
        less = "ask for less data and spares" if kind.startswith("draid") else "choose another kind"
        yield TOO_FEW.problem(text, place=f"{at}.{kind}", remedy=f"Give its role more disks, or {less}.")
    if width > MOST_WIDE and kind != "stripe":
        text = f"a vdev takes at most {MOST_WIDE} disks; there are {width}"
        yield TOO_MANY.problem(text, place=f"{at}.{kind}", remedy="Split them with per.")


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
        yield MIXED.problem(text, place=at, remedy=remedy)
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
            yield MIRRORED.problem(f"there is no {name} that could be mirrored", place=at, remedy=f'Add "{name}": "@role".')
        elif counts.get(name, 0) < 2:
            yield MIRRORED.problem(f"a mirrored {name} needs two devices", place=at, remedy="Give its role a count of 2.")
    yield from _mirrors(spec, counts, place)
    for name, _ in EXTRA:
        if getattr(spec, name) is not None and counts.get(name, 0) < 1:
            yield TOO_FEW.problem(f"there is no device for {name}", place=f"{place}.{name}", remedy=f"Remove {name}.")
    if spec.spares is not None and all(vdev.stripe is not None for vdev in spec.vdevs):
        yield SPARES.problem(
            "a stripe has nothing to rebuild onto spares", place=f"{place}.spares", remedy="Remove spares."
        )


def _mirrors(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    for name, per in (spec.mirrored_per or {}).items():
        at, count = f"{place}.mirrored_per.{name}", counts.get(name, 0)
        if name not in (spec.mirrored or ()):
            yield MIRRORED.problem(
                f"{name} is not mirrored", place=at, remedy=f'Add "{name}" to mirrored, or remove it here.'
            )
        elif count < per or count % per:
            text = f"{plural(count, 'device')} cannot be split into mirrors of {per}"
            yield MIRRORED.problem(text, place=at, remedy="Give its role another count, or change it here.")


def _properties(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    yield from check_form(spec.properties, f"{place}.properties")
    yield from check_form(spec.inherited, f"{place}.inherited")
    for name, child in (("volume", spec.volume), ("dataset", spec.dataset)):
        yield from check_form(child.properties if child is not None else {}, f"{place}.{name}.properties")
    if spec.arc_max is not None and spec.arc_max.bytes < LEAST_ARC:
        text = f"an ARC of {spec.arc_max.text} is less than the 64MiB that ZFS takes for a limit"
        yield ARC.problem(text, place=f"{place}.arc_max", remedy="At least 64MiB, and a 32nd of the memory.")
    value = number(spec.properties.get("ashift", 12))
    if value is None or not (value == 0 or 9 <= value <= 16):
        yield PROPERTY.problem("ashift is a number from 9 to 16", place=f"{place}.properties.ashift", remedy="Usually 12.")
    elif value == 0:
        text = "ashift=0 leaves it to what the disks say of themselves, and the sizes unknown"
        yield PROPERTY.problem(text, place=f"{place}.properties.ashift", remedy="Write 12, or 9 to 16.")


def _measured(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """One volume or one dataset, with whole blocks that this ashift can write."""
    if (spec.volume is None) == (spec.dataset is None):
        text = "a pool is measured as a volume or as a dataset; here is " + ("neither" if spec.volume is None else "both")
        yield MEASURED.problem(
            text,
            place=f"{place}.{'volume' if spec.volume is None else 'dataset'}",
            remedy='Add "volume": {"size": "80%"} or "dataset": {}.',
        )
        return
    what, name = ("volume", "volblocksize") if spec.dataset is None else ("dataset", "recordsize")
    child = spec.volume or spec.dataset
    assert child is not None
    inherited = name not in child.properties and name in spec.inherited
    at = f"{place}.inherited.{name}" if inherited else f"{place}.{what}.properties.{name}"
    block, given = block_bytes(spec), block_property(spec)
    if given is not None and not number(given):
        yield PROPERTY.problem(f"{name} is a number of bytes, not {given}", place=at, remedy="Such as 16K.")
        return
    if block & (block - 1) or not 512 <= block <= 16 << 20:
        yield PROPERTY.problem(f"{name} is a power of two from 512 to 16M, not {block}", place=at, remedy="Such as 16K.")
        return
    if what == "volume" and block < 1 << min(16, max(9, ashift(spec))):
        text = f"a volblocksize of {block} fills {1 << ashift(spec)} bytes of ashift={ashift(spec)}: the rest is lost"
        yield PROPERTY.problem(text, place=at, remedy="Such as 16K.")
    size = child.size.bytes
    if size is not None and (size < block or size % block):
        text = f"{child.size.text} is not a multiple of the {what}'s blocks of {block} bytes"
        yield VOLUME_SIZE.problem(text, place=f"{place}.{what}.size", remedy="Such as 10GiB, or a share such as 80%.")


SETS: Final = (Path("/etc/zfs/compatibility.d"), Path("/usr/share/zfs/compatibility.d"))
_OLD_BLOCK: Final = 128 << 10
"""SPA_OLD_MAXBLOCKSIZE."""
_LAST_OLD: Final = 28
_WITH_FEATURES: Final = 5000


class _Need(NamedTuple):
    """A feature, what needs it, and where that stands."""

    feature: str
    what: str
    place: str


def check_features(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """Yield contradictions that the scenario alone shows."""
    yield from _pool_version(spec, f"{place}.properties")
    for at, given in _given_properties(spec, place):
        if given.get("normalization", "none") != "none" and given.get("utf8only") == "off":
            yield PROPERTY.problem(
                "normalization needs utf8only=on", place=f"{at}.utf8only", remedy="Remove utf8only, or normalization."
            )
    names = _sets(spec)
    known = frozenset[str]() if names == ["legacy"] or _is_old(spec) else None
    yield from _unmet(spec, place, known)


def check_feature_sets(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """Check the same with this server's sets of features; yield nothing if it has no sets."""
    names, at = _sets(spec), f"{place}.properties.compatibility"
    if not names or names == ["legacy"] or not any(folder.is_dir() for folder in SETS):
        return
    known: frozenset[str] | None = None
    for name in names:
        text = next(filter(None, (read_text(folder / name) for folder in SETS)), None)
        if text is None:
            where = " or ".join(map(str, SETS))
            yield PROPERTY.problem(
                f"there is no set of features {name} on this server", place=at, remedy=f"ls {where} lists them."
            )
            return
        features = frozenset(re.split(r"[\s,]+", re.sub(r"#.*", "", text)))
        known = features if known is None else known & features
    yield from _unmet(spec, place, known)


def _unmet(spec: ZpoolSpec, place: str, known: frozenset[str] | None) -> Iterator[Problem]:
    """Needs of features that are switched off, or not in `known`, where that is known."""
    for need in _needs(spec, place):
        said = spec.properties.get(f"feature@{need.feature}")
        if said == "disabled":
            remedy = f"Remove feature@{need.feature} from the pool's properties, or ask for something else here."
        elif said is None and known is not None and need.feature not in known:
            remedy = "Ask for a newer compatibility or version of the pool, or for something else here."
        else:
            continue
        yield PROPERTY.problem(
            f"{need.what} needs the pool's feature {need.feature}, which it does not have", place=need.place, remedy=remedy
        )


def _needs(spec: ZpoolSpec, place: str) -> Iterator[_Need]:
    for at, given in _given_properties(spec, place):
        for name in ("recordsize", "volblocksize"):
            if (number(given.get(name, 0)) or 0) > _OLD_BLOCK:
                yield _Need("large_blocks", f"{name}={given[name]}", f"{at}.{name}")
        compression = str(given.get("compression", ""))
        for word in ("zstd", "lz4"):
            if compression.startswith(word):
                yield _Need(f"{word}_compress", f"compression={compression}", f"{at}.compression")
        if given.get("dnodesize", "legacy") != "legacy":
            yield _Need("large_dnode", f"dnodesize={given['dnodesize']}", f"{at}.dnodesize")
        for name in ("checksum", "dedup"):
            word = str(given.get(name, "")).partition(",")[0]
            if word in ("sha512", "skein", "edonr", "blake3"):
                yield _Need(word, f"{name}={given[name]}", f"{at}.{name}")
    for index, vdev in enumerate(spec.vdevs):
        for kind in vdev.given():
            if kind.startswith("draid"):
                yield _Need("draid", kind, f"{place}.vdevs[{index}].{kind}")
    for name in ("special", "dedup"):
        if getattr(spec, name) is not None:
            yield _Need("allocation_classes", f"a {name} device", f"{place}.{name}")


def _given_properties(spec: ZpoolSpec, place: str) -> tuple[tuple[str, Mapping[str, str | int]], ...]:
    child = "volume" if spec.dataset is None else "dataset"
    return (f"{place}.inherited", spec.inherited), (f"{place}.{child}.properties", measured_properties(spec))


def _sets(spec: ZpoolSpec) -> list[str]:
    """The names in `compatibility`; none where all features are on."""
    given = str(spec.properties.get("compatibility", "off"))
    return [] if given in ("off", "") else given.split(",")


def _is_old(spec: ZpoolSpec) -> bool:
    return (number(spec.properties.get("version", _WITH_FEATURES)) or _WITH_FEATURES) <= _LAST_OLD


def _pool_version(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    if (given := spec.properties.get("version")) is None:
        return
    found, at = number(given), f"{place}.version"
    if found is None or not (1 <= found <= _LAST_OLD or found == _WITH_FEATURES):
        text = f"a pool's version is 1 to {_LAST_OLD}, or {_WITH_FEATURES}, not {given}"
        yield PROPERTY.problem(text, place=at, remedy="Remove version: a pool then has every feature.")
    if any(name.startswith("feature@") for name in spec.properties):
        yield PROPERTY.problem("zpool takes either version or feature@…", place=at, remedy="Remove version.")
    if _sets(spec) not in ([], ["legacy"]):
        yield PROPERTY.problem(
            "with a version, compatibility can only be legacy", place=at, remedy="Remove version, or compatibility."
        )
