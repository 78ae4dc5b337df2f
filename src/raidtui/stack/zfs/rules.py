"""Rules of ZFS and its tools that are checked when a scenario is read, and pool features that options need.

Sources: zpool-create(8), zpoolconcepts(7), cmd/zpool/zpool_vdev.c (get_replication), module/zfs/vdev_raidz.c, vdev_draid.c;
of features: zpool-features(7), zpoolprops(7) (compatibility, version), cmd/zpool/zpool_main.c (add_prop_list,
zpool_do_create), lib/libzfs/libzfs_dataset.c (zfs_valid_proplist).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.base.text import plural
from raidtui.model.problem import Problem, Refusal
from raidtui.stack.layer import layers_below, stands_on
from raidtui.stack.zfs.arc import ARC
from raidtui.stack.zfs.notation import number
from raidtui.stack.zfs.properties import PROPERTY, check_form
from raidtui.stack.zfs.spec import EXTRA, Group, Vdev, ZpoolSpec, vdev_input

MOST_WIDE: Final = 255
LEAST_ARC: Final = 64 << 20
"""MIN_ARC_MAX in arc_impl.h: what is less is taken for no limit at all."""

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
VOLUMES: Final = Refusal(
    "zpool-volumes",
    "Several volumes are not possible here",
    "A pool can be divided into several volumes, not into several datasets; and only a rewind brings several volumes back "
    "before a cell.",
    'Remove "volumes", or write "reset": "rewind" instead of "rollback" into the policy.',
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
OVERBOOKED: Final = Refusal(
    "zpool-initialize",
    "More would be initialized than there is",
    "`zpool initialize` writes to every free block. A volume below has a virtual size, and could run out of space: ZFS "
    "then suspends the pool, and lets go of it only after a restart.",
    'Remove "initialize", or the virtual_size of the volume below.',
)


SETS: Final = (Path("/etc/zfs/compatibility.d"), Path("/usr/share/zfs/compatibility.d"))
_OLD_BLOCK: Final = 128 << 10
"""SPA_OLD_MAXBLOCKSIZE."""
_LAST_OLD: Final = 28
_WITH_FEATURES: Final = 5000
Found = Iterator[tuple[Refusal, str, str, str]]
"""Refusal, place in the options, message and remedy."""


def check(spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the problems of this pool, given the number of devices of each input."""
    found = list(_vdevs(spec, counts))
    if not found:
        found += _replication(spec.groups(counts))
    found += [*_below(spec), *_extras(spec, counts), *_properties(spec), *_features(spec), *_measured(spec)]
    return _problems(found, place)


def _problems(found: Iterable[tuple[Refusal, str, str, str]], place: str) -> list[Problem]:
    return [refusal.problem(text, place=f"{place}.{at}", remedy=remedy) for refusal, at, text, remedy in found]


def _vdevs(spec: ZpoolSpec, counts: Mapping[str, int]) -> Found:
    for index, vdev in enumerate(spec.vdevs):
        at, given = f"vdevs[{index}]", vdev.given()
        if len(given) != 1:
            text = "a vdev is of one kind; here is " + (" and ".join(given) or "none")
            yield VDEV, at, text, 'Write something like {"raidz1": "@data"}.'
            continue
        kind, count = given[0], counts.get(vdev_input(index, vdev), 0)
        for name in () if kind.startswith("draid") else ("data", "spares"):
            if getattr(vdev, name) is not None:
                yield VDEV, f"{at}.{name}", f"{kind} has no {name}", f"Remove {name}; only draid has it."
        if vdev.per is not None and kind == "stripe":
            yield VDEV, f"{at}.per", "each disk of a stripe is a vdev of its own", "Remove per."
        elif vdev.per is not None and (count < vdev.per or count % vdev.per):
            text = f"{plural(count, 'disk')} cannot be split into vdevs of {vdev.per}"
            yield VDEV, f"{at}.per", text, "Give its role another count, or change per."
        else:
            yield from _width(vdev, kind, vdev.per or count, f"{at}.{kind}")


def _width(vdev: Vdev, kind: str, width: int, at: str) -> Found:
    parity = int(kind[5:]) if kind[:5] in ("raidz", "draid") else 0
    # A raidz of one data disk is a mirror that is slower; zpool takes it, so it is taken here.
    least, less = {"stripe": 1, "mirror": 2}.get(kind, parity + 1), "choose another kind"
    if kind.startswith("draid"):
        least, less = (vdev.data or 1) + parity + (vdev.spares or 0), "ask for less data and spares"
    if width < least:
        text = f"{kind} needs at least {plural(least, 'disk')} in a vdev; there {'is' if width == 1 else 'are'} {width}"
        yield TOO_FEW, at, text, f"Give its role more disks, or {less}."
    if width > MOST_WIDE and kind != "stripe":
        yield TOO_MANY, at, f"a vdev takes at most {MOST_WIDE} disks; there are {width}", "Split them with per."


def _replication(found: list[Group]) -> Found:
    """zpool wants each vdev as the one before it, or force; raidtui never forces (zpool_vdev.c, get_replication)."""
    kept = [group for group in found if group.role in ("member", "special", "dedup")]
    for last, group in pairwise(kept):
        if (text := _mismatch(last, group)) is None:
            continue
        at, remedy = "vdevs", "Make all vdevs alike."
        if group.role != "member":
            at = group.role
            remedy = f'Let it survive as many failures: "mirrored": ["{at}"] with {last.may_fail + 1} devices.'
        yield MIXED, at, text, remedy
        return


def _mismatch(one: Group, other: Group) -> str | None:
    kinds = (one.kind.rstrip("123"), other.kind.rstrip("123"))
    if one.may_fail != other.may_fail or ("stripe" in kinds and kinds[0] != kinds[1]):
        survives = f"{_called(one)} survives {plural(one.may_fail, 'failure')}, {_called(other)} {other.may_fail}"
        return f"{survives}: zpool refuses to mix them"
    if kinds[0] == kinds[1] and len(one.devices) != len(other.devices):
        counts = f"{_called(one)} has {len(one.devices)} disks, {_called(other)} {len(other.devices)}"
        return f"{counts}: zpool refuses to mix them"
    return None


def _called(group: Group) -> str:
    return f"the {group.kind}" if group.role == "member" else f"the {group.role} {group.kind.replace('stripe', 'device')}"


def _below(spec: ZpoolSpec) -> Found:
    """A pool waits for its devices, and they for the pool that they are in: another layer between changes nothing."""
    for name, operand in spec.operands().items():
        if stands_on(operand.raw, "zpool"):
            text = "a pool on a volume of another pool can hang the machine, however deep that is"
            yield ON_ZPOOL, name, text, "Put it on disks, or on other kinds of layers."
        virtual = any("virtual_size" in options for _, options in layers_below(operand.raw))
        if spec.initialize and virtual and name not in ("cache", "spares"):
            text = "a volume below has a virtual size: initializing all of it could fill the volume group"
            yield OVERBOOKED, "initialize", text, 'Remove "initialize", or virtual_size below.'


def _extras(spec: ZpoolSpec, counts: Mapping[str, int]) -> Found:
    mirrored = dict.fromkeys(spec.mirrored or ())
    for name in mirrored:
        if getattr(spec, name) is None:
            yield MIRRORED, "mirrored", f"there is no {name} that could be mirrored", f'Add "{name}": "@role".'
        elif counts.get(name, 0) < 2:
            yield MIRRORED, "mirrored", f"a mirrored {name} needs two devices", "Give its role a count of 2."
    for name, per in (spec.mirrored_per or {}).items():
        at, count = f"mirrored_per.{name}", counts.get(name, 0)
        if name not in mirrored:
            yield MIRRORED, at, f"{name} is not mirrored", f'Add "{name}" to mirrored, or remove it here.'
        elif count < per or count % per:
            text = f"{plural(count, 'device')} cannot be split into mirrors of {per}"
            yield MIRRORED, at, text, "Give its role another count, or change it here."
    for name, _ in EXTRA:
        if getattr(spec, name) is not None and counts.get(name, 0) < 1:
            yield TOO_FEW, name, f"there is no device for {name}", f"Remove {name}."
    if spec.spares is not None and all(vdev.stripe is not None for vdev in spec.vdevs):
        yield SPARES, "spares", "a stripe has nothing to rebuild onto spares", "Remove spares."


def _properties(spec: ZpoolSpec) -> Found:
    yield from check_form(spec.properties, "properties")
    yield from check_form(spec.inherited, "inherited")
    for name, child in (("volume", spec.volume), ("dataset", spec.dataset)):
        yield from check_form(child.properties if child is not None else {}, f"{name}.properties")
    if spec.arc_max is not None and spec.arc_max.bytes < LEAST_ARC:
        text = f"an ARC of {spec.arc_max.text} is less than the 64MiB that ZFS takes for a limit"
        yield ARC, "arc_max", text, "At least 64MiB, and a 32nd of the memory."
    value = number(spec.properties.get("ashift", 12))
    if value == 0:
        text = "ashift=0 leaves it to what the disks say of themselves, and the sizes unknown"
        yield PROPERTY, "properties.ashift", text, "Write 12, or 9 to 16."
    elif value is None or not 9 <= value <= 16:
        yield PROPERTY, "properties.ashift", "ashift is a number from 9 to 16", "Usually 12."


def _measured(spec: ZpoolSpec) -> Found:
    """One volume or one dataset, with whole blocks that this ashift can write."""
    if (spec.volume is None) == (spec.dataset is None):
        here, at = ("neither", "volume") if spec.volume is None else ("both", "dataset")
        text = f"a pool is measured as a volume or as a dataset; here is {here}"
        yield MEASURED, at, text, 'Add "volume": {"size": "80%"} or "dataset": {}.'
        return
    if spec.dataset is not None and spec.volumes > 1:
        yield VOLUMES, "volumes", f"{spec.volumes} volumes of a pool that has a dataset", "Remove volumes or dataset."
    what, name = ("volume", "volblocksize") if spec.dataset is None else ("dataset", "recordsize")
    child = spec.volume or spec.dataset
    assert child is not None
    inherited = name not in child.properties and name in spec.inherited
    at = f"inherited.{name}" if inherited else f"{what}.properties.{name}"
    block, given, size = spec.block_bytes, spec.block_property, child.size.bytes
    if given is not None and not number(given):
        yield PROPERTY, at, f"{name} is a number of bytes, not {given}", "Such as 16K."
        return
    if block & (block - 1) or not 512 <= block <= 16 << 20:
        yield PROPERTY, at, f"{name} is a power of two from 512 to 16M, not {block}", "Such as 16K."
        return
    if what == "volume" and block < 1 << min(16, max(9, spec.ashift)):
        text = f"a volblocksize of {block} fills {1 << spec.ashift} bytes of ashift={spec.ashift}: the rest is lost"
        yield PROPERTY, at, text, "Such as 16K."
    if size is not None and (size < block or size % block):
        text = f"{child.size.text} is not a multiple of the {what}'s blocks of {block} bytes"
        yield VOLUME_SIZE, f"{what}.size", text, "Such as 10GiB, or a share such as 80%."


def _features(spec: ZpoolSpec) -> Found:
    """Contradictions about versions and features that the scenario alone shows."""
    version, old = spec.properties.get("version"), False
    if version is not None:
        found, at = number(version), "properties.version"
        old = (found or _WITH_FEATURES) <= _LAST_OLD
        if found is None or not (1 <= found <= _LAST_OLD or found == _WITH_FEATURES):
            text = f"a pool's version is 1 to {_LAST_OLD}, or {_WITH_FEATURES}, not {version}"
            yield PROPERTY, at, text, "Remove version: a pool then has every feature."
        if any(name.startswith("feature@") for name in spec.properties):
            yield PROPERTY, at, "zpool takes either version or feature@…", "Remove version."
        if _sets(spec) not in ([], ["legacy"]):
            text = "with a version, compatibility can only be legacy"
            yield PROPERTY, at, text, "Remove version, or compatibility."
    for at, given in _given_properties(spec):
        if given.get("normalization", "none") != "none" and given.get("utf8only") == "off":
            remedy = "Remove utf8only, or normalization."
            yield PROPERTY, f"{at}.utf8only", "normalization needs utf8only=on", remedy
    yield from _unmet(spec, frozenset() if old or _sets(spec) == ["legacy"] else None)


def check_feature_sets(spec: ZpoolSpec, place: str) -> list[Problem]:
    """Return features that this server's sets of features (`compatibility`) lack; nothing if it has no sets."""
    names, known = _sets(spec), None
    if not names or names == ["legacy"] or not any(folder.is_dir() for folder in SETS):
        return []
    for name in names:
        text = next(filter(None, (read_text(folder / name) for folder in SETS)), None)
        if text is None:
            text, remedy = (
                f"there is no set of features {name} on this server",
                f"ls {' or '.join(map(str, SETS))} lists them.",
            )
            return _problems([(PROPERTY, "properties.compatibility", text, remedy)], place)
        known = _features_of(text) if known is None else known & _features_of(text)
    return _problems(_unmet(spec, known), place)


def check_checkpoint(spec: ZpoolSpec, place: str) -> list[Problem]:
    """Return the reasons why such a pool cannot have a checkpoint, which a rewind needs."""
    old = (number(spec.properties.get("version", _WITH_FEATURES)) or _WITH_FEATURES) <= _LAST_OLD
    known = frozenset[str]() if old or _sets(spec) == ["legacy"] else None
    for name in _sets(spec) if known is None else ():
        text = next(filter(None, (read_text(folder / name) for folder in SETS)), None)
        if text is not None:
            known = _features_of(text) if known is None else known & _features_of(text)
    return _problems(_unmet(spec, known, (("zpool_checkpoint", "a rewind", "properties"),)), place)


def _features_of(text: str) -> frozenset[str]:
    """Return the names in a file of a set."""
    return frozenset(re.split(r"[\s,]+", re.sub(r"#.*", "", text)))


def _sets(spec: ZpoolSpec) -> list[str]:
    """The names in `compatibility`; none where all features are on."""
    given = str(spec.properties.get("compatibility", "off"))
    return [] if given in ("off", "") else given.split(",")


def _unmet(spec: ZpoolSpec, known: frozenset[str] | None, needs: Iterable[tuple[str, str, str]] | None = None) -> Found:
    """Needs of features (default: all of the spec's) that are switched off, or not in `known`, where that is known."""
    for feature, what, at in _needs(spec) if needs is None else needs:
        said = spec.properties.get(f"feature@{feature}")
        if said == "disabled":
            remedy = f"Remove feature@{feature} from the pool's properties, or ask for something else here."
        elif said is None and known is not None and feature not in known:
            remedy = "Ask for a newer compatibility or version of the pool, or for something else here."
        else:
            continue
        yield PROPERTY, at, f"{what} needs the pool's feature {feature}, which it does not have", remedy


def _needs(spec: ZpoolSpec) -> Iterator[tuple[str, str, str]]:
    """Yield each needed feature, what needs it, and the place of that."""
    for at, given in _given_properties(spec):
        for name in ("recordsize", "volblocksize"):
            if (number(given.get(name, 0)) or 0) > _OLD_BLOCK:
                yield "large_blocks", f"{name}={given[name]}", f"{at}.{name}"
        compression = str(given.get("compression", ""))
        for word in ("zstd", "lz4"):
            if compression.startswith(word):
                yield f"{word}_compress", f"compression={compression}", f"{at}.compression"
        if given.get("dnodesize", "legacy") != "legacy":
            yield "large_dnode", f"dnodesize={given['dnodesize']}", f"{at}.dnodesize"
        for name in ("checksum", "dedup"):
            word = str(given.get(name, "")).partition(",")[0]
            if word in ("sha512", "skein", "edonr", "blake3"):
                yield word, f"{name}={given[name]}", f"{at}.{name}"
    for index, vdev in enumerate(spec.vdevs):
        for kind in vdev.given():
            if kind.startswith("draid"):
                yield "draid", kind, f"vdevs[{index}].{kind}"
    for name in ("special", "dedup"):
        if getattr(spec, name) is not None:
            yield "allocation_classes", f"a {name} device", name


def _given_properties(spec: ZpoolSpec) -> tuple[tuple[str, Mapping[str, str | int]], ...]:
    child = "volume" if spec.dataset is None else "dataset"
    return ("inherited", spec.inherited), (f"{child}.properties", spec.measured_properties)
