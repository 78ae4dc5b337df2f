"""Plans of encrypted volumes: refusals, sizes, and steps.

libcryptsetup formats and opens in the builder's process; the commands of the steps are cryptsetup's for the same. The key
is random and made there; nothing prints or stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import Problem, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import Spread, Writes, copies
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, PlannedTarget, Shape
from raidtui.stack.luks.spec import LuksSpec, LuksVolume
from raidtui.stack.mapping import SECTORS, mapper_path

MIB: Final = 1 << 20
HEADER_BYTES: Final = 16 * MIB
"""Two headers of 16 KiB and the area of the key slots (LUKS2 On-Disk Format Specification, 3)."""
PBKDF_ITERATIONS: Final = 1000
"""libcryptsetup's minimum: a random key of 256 bits needs no stretching."""

ONE: Final = Refusal(
    "luks-one",
    "An encrypted volume stands on one device",
    "LUKS encrypts a single device.",
    "Give its role a count of 1, put it on an array or a volume, or write a list of several volumes.",
)
KEY: Final = Refusal(
    "luks-key",
    "The cipher has no such key size",
    "With xts the key has 256 or 512 bits, with cbc 128, 192 or 256, with adiantum 256.",
    "Leave key_size out, or name one that the cipher has.",
)
SECTOR: Final = Refusal(
    "luks-sector",
    "Invalid sector size",
    "dm-crypt encrypts sectors of 512 bytes to 4 KiB, a power of two and at least the logical sector of the device below.",
    "Leave sector_size out.",
)
TOO_SMALL: Final = Refusal(
    "luks-too-small",
    "No room for the header",
    "The LUKS2 header with its key slots needs 16 MiB, and the rest has to be whole sectors.",
    "Bind a larger disk, or choose smaller sectors.",
)


def inputs(spec: LuksSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: LuksSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if (count := counts.get("on", 0)) != 1:
        text = f"an encrypted volume stands on one device; there are {count}"
        problems.append(ONE.problem(text, place=f"{place}.on", remedy="Give its role a count of 1."))
    if spec.key_bits not in spec.allowed_key_bits:
        known = " or ".join(map(str, sorted(spec.allowed_key_bits)))
        text = f"{spec.cipher} has no key of {spec.key_bits} bits"
        problems.append(KEY.problem(text, place=f"{place}.key_size", remedy=f"It has {known}."))
    if spec.sector_size is not None and spec.sector_size.bytes not in SECTORS:
        text = f"sectors of {spec.sector_size.text} are not possible"
        problems.append(SECTOR.problem(text, place=f"{place}.sector_size", remedy="512B, 1KiB, 2KiB or 4KiB."))
    return problems


def describe(spec: LuksSpec, counts: Counts) -> str:
    """Return a short description: `aes-xts-plain64, 512 bit key, sectors of 4KiB`."""
    found = [spec.cipher, f"{spec.key_bits} bit key"]
    if spec.sector_size is not None:
        found.append(f"sectors of {spec.sector_size.text}")
    return ", ".join([*found, *(flag.replace("_", " ") for flag in _flags(spec))])


def defaults(spec: LuksSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    return {
        "cipher": ("aes-xts-plain64", "cryptsetup's default"),
        "key_size": (str(spec.allowed_key_bits[0]), "the default for this cipher"),
        "sector_size": ("as below", "the logical sector of the device below"),
        "no_read_workqueue": ("false", "the kernel's default"),
        "no_write_workqueue": ("false", "the kernel's default"),
        "discards": ("false", "discards show which blocks are in use"),
    }


def tolerates_failures(spec: LuksSpec, counts: Counts) -> Mapping[str, tuple[int, str]]:
    return {"on": (0, "no device: there is only one")}


def amplifies(spec: LuksSpec, counts: Counts, writes: Writes) -> Spread:
    return Spread({"on": copies(1, writes)}, "encrypted in place, 1")


def shape(spec: LuksSpec, parts: Parts) -> Shape:
    """Return the shape. Raises ProblemError (`luks-too-small`, `luks-sector`)."""
    offers = _offers(spec, parts["on"][0], "", "")
    return Shape(offers.size_bytes, 0, 1.0, offers.chunk_bytes, offers.stripe_bytes)


def plan(spec: LuksSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps and target. Raises ProblemError (`luks-too-small`, `luks-sector`)."""
    below = parts["on"][0]
    created = names.new("luks")
    ref, path = f"luks:{created.name}", mapper_path(created.name)
    offers = _offers(spec, below, ref, path)
    volume = LuksVolume(
        name=created.name,
        uuid=created.uuid,
        ref=ref,
        on=below.ref,
        on_path=below.path,
        disks=below.disks,
        cipher=spec.cipher,
        key_bits=spec.key_bits,
        sector_bytes=offers.logical_sector_bytes,
        offset_bytes=offset_bytes(below),
        flags=_flags(spec),
    )
    undo = remove_argvs(volume)
    steps = (
        Draft("luks.create", f"Encrypt with a random key and open: {describe(spec, {})}", volume,
              create_argvs(volume, below.path), undo, created, HEADER_BYTES, 3.0),
        Draft("luks.verify", "Read the encrypted volume back", volume, seconds=0.5),
    )  # fmt: skip
    teardown = Draft("luks.close", "Close the volume and overwrite its header and key slots", volume, undo,
                     writes_bytes=offset_bytes(below), seconds=2.0)  # fmt: skip
    return Planned(steps, (teardown,), (PlannedTarget((ref,), (path,), offers.size_bytes),), (offers,))


def _flags(spec: LuksSpec) -> tuple[str, ...]:
    given = {
        "allow_discards": spec.discards,
        "no_read_workqueue": spec.no_read_workqueue,
        "no_write_workqueue": spec.no_write_workqueue,
    }
    return tuple(name for name, wanted in given.items() if wanted)


def alignment_bytes(below: Part) -> int:
    """Return the unit to which the data's start is rounded up: a whole stripe of the device below, else 1 MiB."""
    return below.stripe_bytes if below.stripe_bytes and below.stripe_bytes % 4096 == 0 else MIB


def offset_bytes(below: Part) -> int:
    """Return the start of the data."""
    unit = alignment_bytes(below)
    return -(-HEADER_BYTES // unit) * unit


def _offers(spec: LuksSpec, below: Part, ref: str, path: str) -> Part:
    sector = spec.sector_size.bytes if spec.sector_size is not None else below.logical_sector_bytes
    if sector < below.logical_sector_bytes or sector not in SECTORS:
        text = f"sectors of {sector} bytes do not fit those of the device below, {below.logical_sector_bytes} bytes"
        raise fail(SECTOR, text, place="luks.sector_size", remedy="Leave it out.")
    size = below.size_bytes - offset_bytes(below)
    if size < sector or below.size_bytes % sector:
        text = f"{below.size_bytes} bytes have no room for a header of 16 MiB and whole sectors of {sector} bytes"
        raise fail(TOO_SMALL, text, place="luks.on", remedy="Bind a larger disk.")
    return Part(ref, path, size, sector, below.disks, discard=spec.discards and below.discard, rotational=below.rotational,
                stripe_bytes=below.stripe_bytes, chunk_bytes=below.chunk_bytes)  # fmt: skip


_PERF: Final = {
    "allow_discards": "--allow-discards",
    "no_read_workqueue": "--perf-no_read_workqueue",
    "no_write_workqueue": "--perf-no_write_workqueue",
}


def create_argvs(volume: LuksVolume, path: str) -> tuple[Argv, ...]:
    """Return cryptsetup's commands for what the builder has libcryptsetup do; the key is read from standard input.

    `path`: the device below.
    """
    return (
        ("cryptsetup", "luksFormat", "--type", "luks2", "--cipher", volume.cipher, "--key-size", str(volume.key_bits),
         "--sector-size", str(volume.sector_bytes), "--offset", str(volume.offset_bytes // 512), "--pbkdf", "pbkdf2",
         "--pbkdf-force-iterations", str(PBKDF_ITERATIONS), "--label", volume.name, "--uuid", volume.uuid,
         "--key-file", "-", path),
        ("cryptsetup", "open", *(_PERF[flag] for flag in volume.flags), "--key-file", "-", path, volume.name),
    )  # fmt: skip


def remove_argvs(volume: LuksVolume) -> tuple[Argv, ...]:
    """Return the commands for what closes the volume and overwrites header and key slots."""
    return (
        ("cryptsetup", "close", volume.name),
        ("blkdiscard", "--zeroout", "--length", str(volume.offset_bytes), volume.on_path),
    )
