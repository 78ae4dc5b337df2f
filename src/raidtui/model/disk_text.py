"""Disks that were described in words: `12x20TB hdd at 350 EUR, 2x3.2TB nvme`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, get_args

from raidtui.base.text import clean, letters_of
from raidtui.model.disk import Disk
from raidtui.model.problem import Refusal, fail
from raidtui.model.protocol import DiskList
from raidtui.model.units import Size

DISK_TEXT: Final = Refusal(
    "disk-text",
    "Not a description of disks",
    "Disks are described by count, size and kind, separated by commas: `12x20TB hdd, 2x3.2TB nvme`. Kinds are hdd, ssd and "
    "nvme. Behind the kind, `4Kn` says that the sectors have 4096 bytes, and `at 350 EUR` is the price of one disk.",
    'For example: raidtui design "12x20TB hdd at 350 EUR, 2x3.2TB nvme at 400 EUR"',
)
DiskKind = Literal["hdd", "ssd", "nvme"]
MOST_DISKS: Final = 1000
_GROUP: Final = re.compile(
    r"(?P<count>[0-9]{1,4}) ?[x×*] ?(?P<size>[0-9.]+ ?[A-Za-z]+)[ :](?P<kind>[A-Za-z]+)(?P<native> 4kn)?"
    r"(?: (?:at|@) ?(?P<price>[0-9]{1,9}(?:\.[0-9]{1,2})?) ?(?P<currency>[A-Za-z]{3}|€|\$|£))?",
    re.IGNORECASE,
)  # fmt: skip
_CURRENCIES: Final = {"€": "EUR", "$": "USD", "£": "GBP"}
_LEAST_BYTES: Final = 64 << 20


class DiskGroup(NamedTuple):
    """Disks that are alike."""

    quantity: int
    size: Size
    kind: DiskKind
    price: float | None = None
    """Price of one disk; None if it was not given."""
    currency: str = ""
    native: bool = False
    """True for logical sectors of 4096 bytes."""

    @property
    def words(self) -> str:
        """`12 × 20TB hdd`"""
        return f"{self.quantity} × {self.size.text} {self.kind}{' 4Kn' if self.native else ''}"


def parse_disks(text: str) -> tuple[DiskGroup, ...]:
    """Return the groups in the order of the text. Raises ProblemError (`disk-text`)."""
    words = [" ".join(word.split()) for word in text.split(",")]
    groups = tuple(_group(word) for word in words if word)
    if not groups:
        raise fail(DISK_TEXT, "no disks are described", remedy=DISK_TEXT.way_out)
    if sum(group.quantity for group in groups) > MOST_DISKS:
        raise fail(DISK_TEXT, f"these are more than {MOST_DISKS} disks", remedy="Describe one server.")
    if len(found := {group.currency for group in groups if group.price is not None}) > 1:
        raise fail(DISK_TEXT, f"the prices are in {' and '.join(sorted(found))}", remedy="Write all in one currency.")
    return groups


def _group(word: str) -> DiskGroup:
    match = _GROUP.fullmatch(word)
    shown = clean(word, 80)
    if match is None:
        raise fail(DISK_TEXT, f"{shown!r} is not COUNTxSIZE KIND, such as 12x20TB hdd", remedy=DISK_TEXT.way_out)
    kind = match["kind"].lower()
    if kind not in get_args(DiskKind):
        raise fail(DISK_TEXT, f"{match['kind']!r} in {shown!r} is no kind of disk", remedy="Write hdd, ssd or nvme.")
    try:
        size = Size(_unit(match["size"].replace(" ", "")))
    except ValueError as error:
        raise fail(DISK_TEXT, f"in {shown!r}: {error}", remedy="For example: 20TB or 3.84TB.") from None
    if not int(match["count"]) or size.bytes < _LEAST_BYTES:
        raise fail(DISK_TEXT, f"{shown!r} are no disks", remedy="One disk at least, of 64 MiB at least.")
    price, currency = match["price"], (match["currency"] or "").upper()
    return DiskGroup(
        int(match["count"]), size, kind, float(price) if price else None,  # type: ignore[arg-type]
        _CURRENCIES.get(currency, currency), match["native"] is not None,
    )  # fmt: skip


def _unit(size: str) -> str:
    """Return a size with its unit as scenarios write it: `20tb` and `20T` as `20TB`."""
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", size).groups()  # type: ignore[union-attr]
    upper = unit.upper()
    if re.fullmatch(r"[KMGTP]IB?", upper):
        return f"{number}{upper[0]}iB"
    return f"{number}{upper[0]}B" if re.fullmatch(r"[KMGTP]B?", upper) else size


def imaginary_disks(groups: Sequence[DiskGroup]) -> tuple[tuple[Disk, ...], ...]:
    """Return the disks of each group, with identities that no real disk has. The same text gives the same disks."""
    numbers: Counter[DiskKind] = Counter()
    found = []
    for group in groups:
        first = numbers[group.kind]
        numbers[group.kind] += group.quantity
        found.append(tuple(_disk(group, first + at) for at in range(group.quantity)))
    return tuple(found)


def _disk(group: DiskGroup, number: int) -> Disk:
    serial = f"{group.kind.upper()}-{group.size.text}-{number + 1:02d}"
    name = f"nvme{number}n1" if group.kind == "nvme" else f"{'sd' if group.kind == 'hdd' else 'sds'}{letters_of(number)}"
    return Disk(
        id=serial, name=name, size_bytes=-(-group.size.bytes // 4096) * 4096, serial=serial, wwid=f"imaginary.{serial}",
        model=f"imaginary {group.size.text} {group.kind}", transport="nvme" if group.kind == "nvme" else "sata",
        rotational=group.kind == "hdd", logical_sector_bytes=4096 if group.native else 512, physical_sector_bytes=4096,
        discard=group.kind != "hdd",
    )  # fmt: skip


def recording_of(text: str, disks: Sequence[Sequence[Disk]]) -> DiskList:
    """Return imaginary disks as a recording, which `--on sim:FILE` takes."""
    return DiskList("raidtui.disks/1", clean(text, 60), "imaginary", tuple(disk for group in disks for disk in group))
