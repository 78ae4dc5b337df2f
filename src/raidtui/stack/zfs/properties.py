"""Properties of pools and volumes: which ones a scenario may not set, and what this server's ZFS says of the others.

A property is refused only by what the kernel module itself lists (/sys/module/zfs/properties.*); `property_list.py` has the
lines of forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.model import hints
from raidtui.model.problem import Problem, Refusal
from raidtui.stack.zfs.notation import CALLED, number

Where = Literal["pool", "filesystem", "volume"]

MODULE: Final = Path("/sys/module/zfs")

_PATH = "it names a path, and a scenario names none"
_MOUNT = "raidtui alone mounts what is measured, and shares nothing"
_SAFE = "what is measured is mounted without it: it holds benchmark files, and nothing else"
_KEY = "it needs a key, and a scenario holds none"
_FIELD = "it follows from the fields `size` and `sparse`"
REFUSED: Final[Mapping[str, str]] = {
    "altroot": _PATH,
    "cachefile": "the pool is never entered into a cache of pools to import",
    "bootfs": "nothing is booted from the pool",
    "autoreplace": "it would take disks that raidtui was not told to use",
    "multihost": "it belongs to pools that hosts share",
    "readonly": "what is measured is written to",
    "mountpoint": _MOUNT,
    "canmount": _MOUNT,
    "sharenfs": _MOUNT,
    "sharesmb": _MOUNT,
    "overlay": _MOUNT,
    "exec": _SAFE,
    "setuid": _SAFE,
    "devices": _SAFE,
    "zoned": "it gives what is measured to a container",
    "keylocation": _PATH,
    "keyformat": _KEY,
    "encryption": _KEY,
    "pbkdf2iters": _KEY,
    "volsize": _FIELD,
    "refreservation": _FIELD,
    "reservation": _FIELD,
    "quota": _FIELD,
    "refquota": _FIELD,
}
_SAME: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    "compression": (frozenset({"gzip", "gzip-6"}), frozenset({"zstd", "zstd-3"}), frozenset({"zstd-fast", "zstd-fast-1"})),
    "xattr": (frozenset({"on", "sa"}),),
    "dedup": (frozenset({"on", "sha256"}), frozenset({"verify", "sha256,verify"})),
    "acltype": (frozenset({"off", "noacl", "disabled"}), frozenset({"posix", "posixacl"})),
    "aclinherit": (frozenset({"restricted", "secure"}),),
}
"""Values of a property that mean the same; ZFS gives back one of them for either."""
UNLISTED: Final[Mapping[str, tuple[str, ...]]] = {"acltype": ("noacl", "disabled", "posixacl"), "aclinherit": ("secure",)}
"""Older words that ZFS takes and lists nowhere (zfs_prop.c, "bkwrd compatibility")."""
POWER: Final = r"(?:(zero) or )?(\d+[KkMm]?) to (\d+[KkMm]?), power of 2"
LARGEST_BLOCK: Final = "zfs_max_recordsize"
MOST_BYTES: Final = 16 << 20
"""SPA_MAXBLOCKSIZE, and the parameter's default since OpenZFS 2.2."""

PROPERTY: Final = Refusal(
    "zpool-property",
    "Unknown property or value",
    "The ZFS of the server lists its properties and their values; this one is not among them.",
    "The message names the possible values.",
)
PROPERTY_REFUSED: Final = Refusal(
    "zpool-property-refused",
    "A property that no scenario may set",
    "Some properties name paths, mount or share a filesystem, need keys, or take disks that raidtui was not told to use.",
    "Leave it out.",
)


class Known(NamedTuple):
    """Description of one property by this ZFS."""

    settable: bool
    values: str
    """`on | off | gzip-[1-9]`, `512 to 128k, power of 2`, `<size>`."""
    of_volumes: bool = True
    of_filesystems: bool = True


def check_form(properties: Mapping[str, str | int], at: str) -> Iterator[tuple[Refusal, str, str, str]]:
    """Yield refusals by name alone, of what no scenario may set: refusal, place, message and remedy.

    Names and values have been matched with their patterns before.
    """
    for name, value in properties.items():
        remedy = f"Remove {name}."
        if name in REFUSED:
            yield PROPERTY_REFUSED, f"{at}.{name}", f"{name} cannot be set: {REFUSED[name]}", remedy
        elif name == "volmode" and value == "none":
            yield PROPERTY_REFUSED, f"{at}.{name}", "a volume with volmode=none has no device", remedy
        elif "@" in name and not name.startswith("feature@"):
            yield PROPERTY, f"{at}.{name}", f"{name} is not a property that can be set", remedy


def check_known(
    properties: Mapping[str, str | int], where: Where, place: str, largest: int | None = None
) -> Iterator[Problem]:
    """Refusals by what this server's ZFS knows. None where it says nothing: then its tools have the last word.

    `largest`: bytes of the largest block, where it will be another than now.
    """
    known = known_properties("pool" if where == "pool" else "dataset")
    for name, value in properties.items() if known else ():
        at, found, remedy = f"{place}.{name}", known.get(name), f"Remove {name}."
        if name.startswith("feature@") and where == "pool":
            yield from _feature(name, str(value), at)
        elif found is None:
            called, settable = CALLED.get(name), sorted(name for name, one in known.items() if one.settable)
            remedy = f"Did you mean {called}?" if called in settable else hints.remedy_for(name, settable)
            yield PROPERTY.problem(f"this server's ZFS has no property {name} of a {where}", place=at, remedy=remedy)
        elif not found.settable:
            yield PROPERTY.problem(f"{name} can only be read", place=at, remedy=remedy)
        elif (where == "volume" and not found.of_volumes) or (where == "filesystem" and not found.of_filesystems):
            yield PROPERTY.problem(f"{name} is not a property of a {where}", place=at, remedy=remedy)
        elif str(value) not in UNLISTED.get(name, ()) and not fits(str(value), takes := taken_values(found, largest)):
            yield PROPERTY.problem(f"{name} cannot be {value}", place=at, remedy=f"This server's ZFS takes: {takes}.")


def taken_values(known: Known, largest: int | None = None) -> str:
    """Return the values of a property. What ZFS lists as the largest block is older than what it takes.

    Sources: zfs_valid_proplist in lib/libzfs/libzfs_dataset.c, zvol_check_volblocksize in module/zfs/zvol.c.
    """
    match = re.fullmatch(POWER, known.values)
    if match is None:
        return known.values
    most = min(largest or read_int(MODULE / "parameters" / LARGEST_BLOCK) or MOST_BYTES, MOST_BYTES)
    text = str(most) if most % (1 << 20) else f"{most >> 20}M"
    return f"{known.values[: match.start(3)]}{text}, power of 2"


def _feature(name: str, value: str, at: str) -> Iterator[Problem]:
    """Features are not listed with values: zpool-create(8) takes these two."""
    features = MODULE / "features.pool"
    names = [path.name for path in (features.iterdir() if features.is_dir() else ())]
    if name.removeprefix("feature@") not in [one.partition(":")[2] or one for one in names]:
        yield PROPERTY.problem(f"this server's ZFS has no {name}", place=at, remedy="zpool get all POOL lists them.")
    elif value not in ("enabled", "disabled"):
        yield PROPERTY.problem(f"{name} cannot be {value}", place=at, remedy="It is enabled or disabled.")


def known_properties(of: Literal["pool", "dataset"]) -> Mapping[str, Known]:
    """Return the properties by name; empty while the module is not loaded."""
    return _properties(MODULE / f"properties.{of}") if MODULE.is_dir() else {}


@cache
def _properties(folder: Path) -> Mapping[str, Known]:
    return {path.name: _read(path) for path in (sorted(folder.iterdir()) if folder.is_dir() else ())}


def _read(folder: Path) -> Known:
    datasets = (read_text(folder / "datasets") or "").split()
    return Known(
        settable=read_text(folder / "readonly") != "1",
        values=clean(read_text(folder / "values") or ""),
        of_volumes=not datasets or "volume" in datasets,
        of_filesystems=not datasets or "filesystem" in datasets,
    )


def fits(value: str, grammar: str) -> bool:
    """Return True if a value matches ZFS's description; also if that names only a kind of value (`<comment-string>`)."""
    if match := re.fullmatch(POWER, grammar):
        given = number(value)
        if given is None:
            return False
        least, most = number(match[2]) or 0, number(match[3]) or 0
        return (given == 0 and match[1] is not None) or (least <= given <= most and given & (given - 1) == 0)
    return not grammar or any(_is_one_of(value, one.strip()) for one in re.findall(r"(?:<[^>]*>|[^|<])+", grammar))


def _is_one_of(value: str, alternative: str) -> bool:
    """Return True if a value matches one alternative: a number, any value of a named kind, or a word."""
    if re.fullmatch(r"<(size|count|ashift\b[^>]*)>", alternative):
        # ZFS leaves these words out of its list where they stand for a size (dedup_table_quota).
        return number(value) is not None or (alternative == "<size>" and value in ("none", "auto"))
    return "<" in alternative or value in set(spelled(alternative))


def spelled(pattern: str) -> Iterator[str]:
    """The values that one alternative stands for: `gzip-[1-9]`, `zstd-fast-[1-10,20]`, `sha256[,verify]`."""
    match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", pattern)
    if match is None:
        yield pattern
        return
    before, inside, after = match.groups()
    if inside.startswith(","):
        yield from (before + after, before + inside + after)
        return
    for part in inside.split(","):
        first, dash, last = part.partition("-")
        numbers = range(int(first), int(last) + 1) if dash and first.isdecimal() and last.isdecimal() else (part,)
        yield from (f"{before}{one}{after}" for one in numbers)


def same(name: str, asked: str, found: str | None) -> bool:
    """Return True if the value that was read back equals the requested one: numbers by value, words by meaning."""
    if found is None:
        return False
    if name.startswith("feature@") and asked == "enabled":
        return found in ("enabled", "active")
    if asked == found or (number(asked) is not None and number(asked) == number(found)):
        return True
    return any({asked, found} <= group for group in _SAME.get(name, ()))
