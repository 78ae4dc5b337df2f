"""Features of the pool that values of properties and kinds of devices need, and what takes them away.

Sources: zpool-features(7), zpoolprops(7) (compatibility, version), cmd/zpool/zpool_main.c (add_prop_list, zpool_do_create),
lib/libzfs/libzfs_dataset.c (zfs_valid_proplist).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_text
from raidtui.model.problem import Exit, Problem
from raidtui.stack.zfs.spec import ZpoolSpec, measured_properties, number

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


def check(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """What cannot be together, as far as the scenario alone says it."""
    yield from _version(spec, f"{place}.properties")
    for at, given in _given(spec, place):
        if given.get("normalization", "none") != "none" and given.get("utf8only") == "off":
            yield _problem("normalization needs utf8only=on", f"{at}.utf8only", "Remove utf8only, or normalization.")
    names = _sets(spec)
    known = frozenset[str]() if names == ["legacy"] or _is_old(spec) else None
    yield from _unmet(spec, place, known)


def check_sets(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    """As `check`, with this server's sets of features. None where it shows no sets."""
    names, at = _sets(spec), f"{place}.properties.compatibility"
    if not names or names == ["legacy"] or not any(folder.is_dir() for folder in SETS):
        return
    known: frozenset[str] | None = None
    for name in names:
        text = next(filter(None, (read_text(folder / name) for folder in SETS)), None)
        if text is None:
            where = " or ".join(map(str, SETS))
            yield _problem(f"there is no set of features {name} on this server", at, f"ls {where} lists them.")
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
        yield _problem(f"{need.what} needs the pool's feature {need.feature}, which it does not have", need.place, remedy)


def _needs(spec: ZpoolSpec, place: str) -> Iterator[_Need]:
    for at, given in _given(spec, place):
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


def _given(spec: ZpoolSpec, place: str) -> tuple[tuple[str, Mapping[str, str | int]], ...]:
    child = "volume" if spec.dataset is None else "dataset"
    return (f"{place}.inherited", spec.inherited), (f"{place}.{child}.properties", measured_properties(spec))


def _sets(spec: ZpoolSpec) -> list[str]:
    """The names in `compatibility`; none where all features are on."""
    given = str(spec.properties.get("compatibility", "off"))
    return [] if given in ("off", "") else given.split(",")


def _is_old(spec: ZpoolSpec) -> bool:
    return (number(spec.properties.get("version", _WITH_FEATURES)) or _WITH_FEATURES) <= _LAST_OLD


def _version(spec: ZpoolSpec, place: str) -> Iterator[Problem]:
    if (given := spec.properties.get("version")) is None:
        return
    found, at = number(given), f"{place}.version"
    if found is None or not (1 <= found <= _LAST_OLD or found == _WITH_FEATURES):
        text = f"a pool's version is 1 to {_LAST_OLD}, or {_WITH_FEATURES}, not {given}"
        yield _problem(text, at, "Remove version: a pool then has every feature.")
    if any(name.startswith("feature@") for name in spec.properties):
        yield _problem("zpool takes either version or feature@…", at, "Remove version.")
    if _sets(spec) not in ([], ["legacy"]):
        yield _problem("with a version, compatibility can only be legacy", at, "Remove version, or compatibility.")


def _problem(message: str, place: str, remedy: str) -> Problem:
    return Problem("zpool-property", message, place, remedy, int(Exit.USAGE))
