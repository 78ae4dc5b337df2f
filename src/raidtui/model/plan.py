"""A plan: a scenario bound to disks, as the ordered steps that will run. What was shown is what runs."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from raidtui.model.disk import Fingerprint, Look
from raidtui.model.network import LinkEnd
from raidtui.model.sweep import Swept

Phase = Literal["prepare", "build", "keep", "measure", "teardown", "finish"]
Argv = tuple[str, ...]
TargetKind = Literal["block", "directory", "image"]
"""Measured object: a block device, files in a directory, or an image of a cluster that the workload's tool opens itself."""
_NAMESPACE: Final = uuid.UUID("3b6a1d4e-8f0c-5d27-9a51-6c2e7f90b8d4")


class Created(msgspec.Struct, frozen=True):
    """Object that a step creates, with enough to find and remove exactly this one after a crash."""

    kind: str
    name: str
    uuid: str


class Host(msgspec.Struct, frozen=True, omit_defaults=True):
    """A host beside the storage server, as it was when the run was planned."""

    ref: str
    """Group and number: `clients-1`."""
    address: str
    """The ssh destination by which the storage server reaches it."""
    host: str
    machine_id: str
    boot_id: str
    kernel: str
    own_address: str
    """Its address on the link to the storage server."""
    storage_address: str
    """The storage server's address on that link."""
    own_link: LinkEnd | None = None
    """Its interface on that link; None if it is not known."""
    storage_link: LinkEnd | None = None
    """The storage server's interface on that link."""
    clock_difference_s: float = 0.0
    """Its clock minus the storage server's, in seconds; the time that the message took is in it."""


OWN_VOLUMES: Final = "volumes of its own"
OWN_REGION: Final = "a region of its own"
OWN_DISKS: Final = "disks of its own"


class OnHost(msgspec.Struct, frozen=True):
    """A part of a target: devices of another host, and the region of them that it loads."""

    host: str
    refs: tuple[str, ...]
    offset_bytes: int
    own: bool = False
    """True if no other host has these devices."""
    built: bool = False
    """True if the host built them itself, from its own disks."""

    @property
    def words(self) -> str:
        """Return what the host has: its disks, volumes, or a part of what the others load too."""
        return OWN_DISKS if self.built else OWN_VOLUMES if self.own else OWN_REGION


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One action of a plan."""

    id: str
    action: str
    """Name of the action: `md.create`, `disks.blank`, `measure`."""
    title: str
    phase: Phase
    block: str = ""
    """The building it belongs to (see `block_name`): when a build step fails, the block's teardown steps run."""
    cell: str = ""
    args: dict[str, Any] = {}
    """The action's arguments. Devices are references (`disk:ID`, `md:NAME`), never paths."""
    commands: tuple[Argv, ...] = ()
    """Commands to be executed, as far as known in advance; they can be copied. The same argv appear in the journal, with
    descriptors in place of the targets that are measured or filled."""
    files: dict[str, str] = {}
    """Text of the files that the commands read, by name in the folder where they run."""
    undo: tuple[Argv, ...] = ()
    creates: Created | None = None
    erases: tuple[str, ...] = ()
    """Ids of the disks whose content this step destroys."""
    writes_bytes: int | None = 0
    """Upper bound of what it writes to disks; None where only the disks' speed bounds it."""
    seconds: float = 0.0
    """Estimated duration."""
    host: str = ""
    """Host that does it (`Host.ref`); empty for the storage server."""
    takes: tuple[str, ...] = ()
    """Pools of a cluster that were there before, in which it makes something of the run's own."""


class CellPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout × one workload × one round; `part` names the disk where a layout is measured disk by disk."""

    id: str
    layout: str
    workload: str
    round: int
    part: str = ""
    size_bytes: int = 0
    data_disks: tuple[str, ...] = ()
    """Ids of the disks that keep the layout's data: no journals, caches or spares."""
    expected_write_amplification: Amplification | None = None
    """None where nothing is written."""
    again: bool = False
    """Measured on the second building of a layout that is measured against itself (`Policy.noise_of`)."""
    sweep: Swept | None = None
    """Its place in a sweep; None for a workload that is given by itself."""


class SweepPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """Cost of one sweep of a plan."""

    name: str
    bs: tuple[str, ...]
    """Block sizes, jobs and queue depths of its cells."""
    numjobs: tuple[int, ...]
    iodepth: tuple[int, ...]
    workloads: int
    """Number of combinations that are measured."""
    cells: int
    seconds: float
    """Estimated duration of its cells, with what is done for each of them: fills, rests."""


class Keep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layout that is built for good: nothing is measured, and nothing is taken down unless the build fails."""

    name: str
    """Name of the array, volume group or pool."""
    mount: str
    """Mount point of a filesystem, on the server itself."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a replay that are not part of the scenario."""

    quick: bool = False
    """A rehearsal: at most 3 s per workload, at most 256 MiB prefill."""
    layouts: tuple[str, ...] = ()
    """Restriction to these layouts; empty means all."""
    workloads: tuple[str, ...] = ()
    keep: Keep | None = None
    """Name and place of the layout that is kept; None for a run that measures and gives the disks back."""


class Kept(msgspec.Struct, frozen=True):
    """The layout that a plan leaves on the server for good."""

    path: str
    """Device or mount point that is there in the end."""
    lines: dict[str, tuple[str, ...]]
    """Lines that bring it back after a restart, by the file that they belong to: raidtui writes none of these files."""
    notes: tuple[str, ...]
    """Parts of the scenario that are left out, as sentences."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ordered steps of one run, and what they cost."""

    digest: str
    token: str
    """Eight characters that make this plan's names and UUIDs its own."""
    scenario: dict[str, Any]
    options: Options
    binding: dict[str, tuple[Fingerprint, ...]]
    steps: tuple[Step, ...]
    cells: tuple[CellPlan, ...]
    erases: tuple[str, ...]
    """Ids of all disks that will be erased: exactly what `--erase` must name."""
    seconds: float
    writes_bytes: int | None
    warnings: tuple[str, ...] = ()
    ceilings: dict[str, Any] = {}
    """Layouts that the plan adds because the policy asks for ceilings: bare disks and bare exports, by name, as a scenario
    writes them."""
    sweeps: tuple[SweepPlan, ...] = ()
    hosts: dict[str, tuple[Host, ...]] = {}
    """Hosts beside the storage server, by group."""

    kept: Kept | None = None
    """The layout that it leaves on the server for good; None for a run that measures and gives the disks back."""
    looks: dict[str, Look] = {}
    """Extent of the search on each disk to be erased when the plan was made, by disk id: the basis of the word blank."""

    @property
    def takes(self) -> tuple[str, ...]:
        """Return the names of all existing pools in which it makes something: exactly what `--pool` must name."""
        return tuple(sorted({name for step in self.steps for name in step.takes}))

    @property
    def ends_early(self) -> bool:
        """True if its cells and seconds are upper limits: a ranking skips cells that it no longer needs."""
        policy = self.scenario.get("policy")
        return isinstance(policy, dict) and policy.get("ranking") is not None


def own_disks(binding: Mapping[str, tuple[Fingerprint, ...]]) -> tuple[Fingerprint, ...]:
    """Return the disks of a binding that are not those of another host, each once."""
    return tuple({disk.id: disk for disks in binding.values() for disk in disks if not disk.host}.values())


def plan_digest(
    scenario: Mapping[str, Any],
    binding: Mapping[str, tuple[Fingerprint, ...]],
    options: Options,
    hosts: Mapping[str, tuple[Host, ...]] = MappingProxyType({}),
) -> str:
    """Digest to which consent refers: the same scenario on the same disks with the same options has the same digest.

    The steps follow from these alone; kernel names, the moment and the run's own names are left out.
    """
    disks = {
        role: [[p.id, p.serial, p.wwid, p.model, p.size_bytes, p.logical_sector_bytes] for p in prints]
        for role, prints in binding.items()
    }
    body = {"scenario": scenario, "disks": disks, "options": msgspec.to_builtins(options)}
    if hosts:
        body["hosts"] = {group: [[one.machine_id, one.storage_address] for one in found] for group, found in hosts.items()}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


KEEP: Final = "keep"
"""Action of the step after which a layout is the operator's: nothing of it is taken down any more, whatever happens."""
GIVE: Final = "give"
"""Action of the step after which a run no longer holds the disks of a kept layout, so that udev names what is on them."""
KEPT: Final = "kept"
"""Its outcome. Once this is in the journal, no recovery undoes what the run made."""
_AGAIN: Final = " again"


def block_name(layout: str, number: int, *, again: bool = False) -> str:
    """A building of a layout by the first round that is measured on it: `raid5#1`, its second one `raid5#1 again`."""
    return f"{layout}#{number}{_AGAIN if again else ''}"


def block_parts(block: str) -> tuple[str, int, bool]:
    """Layout, first round, and whether it is the second building. Raises ValueError for what is no block's name."""
    layout, _, number = block.removesuffix(_AGAIN).rpartition("#")
    return layout, int(number), block.endswith(_AGAIN)


class Names:
    """Names and UUIDs of what one plan creates: the same for the same token, so that they are known before they exist.

    Names are `rt` + token + a letter or two: safe for md, LVM, ZFS and device-mapper, and short enough for all of them.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._count = 0

    def new(self, kind: str) -> Created:
        """The next name and UUID, for an object of this kind."""
        number = self._count
        self._count += 1
        letters = chr(97 + number % 26)
        if number >= 26:
            letters = chr(96 + number // 26 % 26) + letters
        name = f"rt{self._token}{letters}" if number < 676 else f"rt{self._token}{number}"
        return Created(kind, name, str(uuid.uuid5(_NAMESPACE, f"{self._token}/{number}/{kind}")))


class Amplification(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Predicted bytes that all disks together move for each byte that a workload writes, by geometry and pattern alone.

    What it cannot know is not in it: metadata of filesystems and of ZFS, superblocks, bits of write-intent bitmaps.
    """

    why: str
    """One sentence with the derivation, or with the reason why the value cannot be known."""
    low: float | None = None
    """Written at least; None where it cannot be known."""
    high: float | None = None
    """Written at most; None where nothing bounds it, or where it cannot be known."""
    read_low: float = 0.0
    """Read at least before something can be written (read-modify-write)."""
    read_high: float | None = 0.0
    """Read at most; None where nothing bounds it."""
    low_beside: float = 0.0
    """Part of `low` that goes to disks that do not keep the data: journals, logs, caches."""
