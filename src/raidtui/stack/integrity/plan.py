"""Plans of integrity devices: refusals, sizes, and steps.

Every sector is written once when the device is made: a sector without a valid tag cannot be read, and layers above read
before they write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import Problem, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import PAGE_BYTES, Share, Spread, Writes
from raidtui.stack.integrity.geometry import SECTOR, data_bytes, section_sectors
from raidtui.stack.integrity.spec import DmIntegritySpec, IntegrityDevice
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, PlannedTarget, Shape
from raidtui.stack.mapping import SECTORS, mapper_path

_BUFFER_BYTES: Final = 64 << 10
"""Unit in which tags are read; of a buffer, the changed range is written, in whole pages (dm-bufio)."""
_WIPE_BYTES_S: Final = {True: 100e6, False: 400e6}
"""Estimated bytes per second of the first write of every sector, by rotational."""

ONE: Final = Refusal(
    "integrity-one",
    "An integrity device stands on one device",
    "dm-integrity stores checksums for a single device.",
    "Give its role a count of 1, put it on an array or a volume, or write a list of several integrity devices.",
)
INTEGRITY_SECTOR: Final = Refusal(
    "integrity-sector",
    "Invalid sector size",
    "dm-integrity has a tag for each 512 bytes to 4 KiB, a power of two and at least the logical sector of the device "
    "below.",
    "Leave sector_size out.",
)
INTEGRITY_SMALL: Final = Refusal(
    "integrity-too-small",
    "No room for the tags",
    "Superblock, journal and the first run of tags, which has room for those of 16 MiB, do not fit.",
    "Bind a larger disk.",
)


def inputs(spec: DmIntegritySpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: DmIntegritySpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if (count := counts.get("on", 0)) != 1:
        text = f"an integrity device stands on one device; there are {count}"
        problems.append(ONE.problem(text, place=f"{place}.on", remedy="Give its role a count of 1."))
    if spec.sector_size is not None and spec.sector_size.bytes not in SECTORS:
        text = f"a tag for each {spec.sector_size.text} is not possible"
        problems.append(INTEGRITY_SECTOR.problem(text, place=f"{place}.sector_size", remedy="512B, 1KiB, 2KiB or 4KiB."))
    return problems


def describe(spec: DmIntegritySpec, counts: Counts) -> str:
    """Return a short description: `crc32c, journal, sectors of 4KiB`."""
    found: list[str] = [spec.tag, spec.mode]
    if spec.sector_size is not None:
        found.append(f"sectors of {spec.sector_size.text}")
    return ", ".join(found)


def defaults(spec: DmIntegritySpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    return {
        "tag": ("crc32c", "integritysetup's default"),
        "mode": ("journal", "integritysetup's default"),
        "sector_size": ("as below", "the logical sector of the device below"),
    }


def tolerates_failures(spec: DmIntegritySpec, counts: Counts) -> Mapping[str, tuple[int, str]]:
    return {"on": (0, "no device: a wrong sector is detected, not repaired")}


def amplifies(spec: DmIntegritySpec, counts: Counts, writes: Writes) -> Spread:
    """Return the write amplification. Data that is still in the journal when a cell ends is written once, not twice."""
    sector = spec.sector_size.bytes if spec.sector_size is not None else SECTOR
    tags = spec.tag_bytes / sector
    scattered = writes.random or writes.syncs
    # A write changes at most its part of two buffers, which are written as ranges of whole pages.
    changed = (_BUFFER_BYTES // 2 + 2 * PAGE_BYTES) / writes.block_bytes if scattered else 2 * PAGE_BYTES / writes.run_bytes
    places = 1 + 2 * tags + changed
    reads = 2 * _BUFFER_BYTES / writes.block_bytes if scattered else tags + 2 * _BUFFER_BYTES / writes.run_bytes
    if spec.mode != "journal":
        return Spread({"on": Share(1.0, places, writes, 0.0, reads)}, "in place with tags, 1 to " + f"{places:.3g}")
    section = section_sectors(spec.tag_bytes, sector) * SECTOR
    data = section - 8 * SECTOR
    # A commit writes whole sections; a journal that is only full of data has the entries of its sections beside it.
    journal = section / data + (section / writes.block_bytes if writes.syncs else section / max(writes.run_bytes, section))
    most = places + journal
    return Spread({"on": Share(1.0, most, writes, 0.0, reads)}, f"journal, then in place with tags, up to {most:.3g}")


def shape(spec: DmIntegritySpec, parts: Parts) -> Shape:
    """Return the shape. Raises ProblemError (`integrity-too-small`, `integrity-sector`)."""
    offers = _offers(spec, parts["on"][0], "", "")
    return Shape(offers.size_bytes, 0, 3.0 if spec.mode == "journal" else 2.0)


def plan(spec: DmIntegritySpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps and target. Raises ProblemError (`integrity-too-small`, `integrity-sector`)."""
    below = parts["on"][0]
    created = names.new("integrity")
    ref, path = f"integrity:{created.name}", mapper_path(created.name)
    offers = _offers(spec, below, ref, path)
    device = IntegrityDevice(
        name=created.name,
        ref=ref,
        on=below.ref,
        on_path=below.path,
        disks=below.disks,
        tag=spec.tag,
        mode=spec.mode,
        sector_bytes=offers.logical_sector_bytes,
    )
    undo = remove_argvs(device)
    steps = (
        Draft("integrity.create", f"Write every sector with its tag, and open: {describe(spec, {})}", device,
              create_argvs(device, below.path), undo, created, below.size_bytes,
              3.0 + below.size_bytes / _WIPE_BYTES_S[below.rotational]),
        Draft("integrity.verify", "Read the integrity device back", device, seconds=0.5),
    )  # fmt: skip
    teardown = Draft("integrity.close", "Close the integrity device and erase its superblock", device, undo,
                     writes_bytes=PAGE_BYTES, seconds=2.0)  # fmt: skip
    return Planned(steps, (teardown,), (PlannedTarget((ref,), (path,), offers.size_bytes),), (offers,))


def _offers(spec: DmIntegritySpec, below: Part, ref: str, path: str) -> Part:
    sector = spec.sector_size.bytes if spec.sector_size is not None else below.logical_sector_bytes
    if sector < below.logical_sector_bytes or sector not in SECTORS:
        text = f"a tag for each {sector} bytes does not fit sectors of {below.logical_sector_bytes} bytes below"
        raise fail(INTEGRITY_SECTOR, text, place="integrity.sector_size", remedy="Leave it out.")
    size = data_bytes(below.size_bytes, spec.tag_bytes, sector)
    if size < PAGE_BYTES:
        text = f"a device of {below.size_bytes} bytes has no room for data beside journal and tags"
        raise fail(INTEGRITY_SMALL, text, place="integrity.on", remedy="Bind a larger disk.")
    # Tags lie between the data, so that stripes below are no stripes above.
    return Part(ref, path, size, sector, below.disks, rotational=below.rotational)


_OPEN: Final[dict[str, Argv]] = {
    "journal": (),
    "bitmap": ("--integrity-bitmap-mode",),
    "direct": ("--integrity-no-journal",),
}


def create_argvs(device: IntegrityDevice, path: str) -> tuple[Argv, ...]:
    """Return integritysetup's commands for what the builder has libcryptsetup do. `path`: the device below."""
    tag = ("--integrity", device.tag)
    return (
        ("integritysetup", "format", *tag, "--sector-size", str(device.sector_bytes), path),
        ("integritysetup", "open", *tag, *_OPEN[device.mode], path, device.name),
    )


def remove_argvs(device: IntegrityDevice) -> tuple[Argv, ...]:
    """Return the commands for what closes the device and erases its superblock; cryptsetup closes mappings of any type."""
    return ("cryptsetup", "close", device.name), ("wipefs", "--all", "--types", "DM_integrity", device.on_path)
