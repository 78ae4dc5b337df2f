"""The inventory: every disk with every reason why it is not free."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from raidtui.inventory import checks, hardware, probe
from raidtui.inventory.blocks import Node, boot_id, is_physical_disk, is_root, read_blocks
from raidtui.inventory.census import Census, take_census
from raidtui.inventory.checks import CHECKS
from raidtui.inventory.content import DataSeen
from raidtui.inventory.hardware import read_disk
from raidtui.inventory.probe import Probe
from raidtui.inventory.reasons import CONTENT, SUPERSEDED, reason, unchecked, with_safe_remedies
from raidtui.inventory.signatures import Signature
from raidtui.inventory.waiting import scan_alone
from raidtui.model.disk import Disk, Fingerprint, Reason, fingerprint


class Ownership(NamedTuple):
    """The run that asks for a scan: it is not refused its own disks."""

    run_id: str = ""
    pids: frozenset[int] = frozenset()
    """Processes of the run, beside this one, whose open files are no reason."""
    holds: frozenset[str] = frozenset()
    """Ids of disks that this process holds exclusively, so that the check for exclusive access is skipped."""


class Examined(NamedTuple):
    """One disk, with its signatures and the record of the checks, for the gate."""

    disk: Disk
    signatures: tuple[Signature, ...] = ()
    evidence: Mapping[str, Any] = MappingProxyType({})
    """Record of the checks: time, and every finding; JSON-able."""


def scan(*, held: Mapping[str, str] | None = None, mine: Ownership | None = None) -> tuple[Disk, ...]:
    """Return all whole physical disks by name, each free or with every reason why not.

    `held`: id or wwid → the run that holds the disk. Never raises for what a disk or a tool does: that becomes a reason.
    """
    return tuple(examined.disk for examined in examine(held=held, mine=mine))


def examine(
    *,
    held: Mapping[str, str] | None = None,
    mine: Ownership | None = None,
    only: Collection[str] | None = None,
    look_s: float = 0.0,
) -> tuple[Examined, ...]:
    """Scan with evidence. `only`: ids of the disks to scan. `look_s`: more seconds of search on disks that seem blank."""
    with scan_alone() if is_root() else nullcontext():
        return _examine(held or {}, mine or Ownership(), only, look_s)


def search(disks: Sequence[Disk], seconds: float) -> tuple[Disk, ...]:
    """Search disks for data for about `seconds`, all at once; return them with `look`, or with the reason that was found.

    Their content is examined, not their users.
    """
    with scan_alone():
        blocks, seen = read_blocks(), DataSeen()
        jobs = {
            _key(disk): _job(disk, nodes, False, seconds, seen.get(disk))
            for disk in disks
            if (nodes := blocks.family(disk.name))
        }
        answers = probe.probe_all(jobs, probe.DEADLINE_S + seconds)
        seen.update({disk: answer.content for disk in disks if (answer := answers.get(_key(disk)))})
    return tuple(_searched(disk, answers.get(_key(disk))) for disk in disks)


def _searched(disk: Disk, answer: Probe | None) -> Disk:
    reasons = (*disk.reasons, *probe.probe_reasons(disk.name, answer, in_use=True))
    look = None if answer is None or reasons else answer.content.look
    return msgspec.structs.replace(disk, reasons=with_safe_remedies(tuple(dict.fromkeys(reasons))), look=look)


def present() -> tuple[Fingerprint, ...]:
    """Return the fingerprints of all disks, from sysfs alone, without checking if they are free."""
    return tuple(fingerprint(disk, boot_id()) for disk in _disks())


def kernel_names(prints: Iterable[Fingerprint]) -> tuple[str, ...]:
    """Return the present kernel names of these disks; missing disks are left out."""
    wanted = {(print_.serial, print_.wwid) for print_ in prints}
    return tuple(disk.name for disk in _disks() if (disk.serial, disk.wwid) in wanted)


def unmoved(prints: Iterable[Fingerprint]) -> dict[str, str]:
    """Return the kernel names, by id, of those of these disks that never left: same boot, same connection."""
    wanted, boot = set(prints), boot_id()
    return {disk.id: disk.name for disk in _disks() if fingerprint(disk, boot) in wanted}


def _disks() -> tuple[Disk, ...]:
    blocks = read_blocks()
    return hardware.with_ids(tuple(read_disk(node) for node in blocks.nodes.values() if is_physical_disk(node)))


def _examine(held: Mapping[str, str], mine: Ownership, only: Collection[str] | None, look_s: float) -> tuple[Examined, ...]:
    census = take_census(mine.pids)
    disks = hardware.with_ids(census.disks)
    looked_at = [disk for disk in disks if only is None or disk.id in only]
    nodes = {disk.name: census.blocks.family(disk.name) for disk in looked_at}
    known = {disk.name: _known(disk, nodes[disk.name][0], disks, census, held, mine) for disk in looked_at}
    jobs = {}
    answers: Mapping[tuple[str, int | None], Probe | None] = {}
    if is_root():
        seen = DataSeen()
        for disk in looked_at:
            # A disk that a run works on is left alone: reading from it would disturb what is being measured, and
            # even a moment of exclusive access could make the run's own tools fail.
            if disk.size_bytes and "held" not in _codes(known[disk.name]):
                exclusively = disk.id not in mine.holds and not _used(known[disk.name])
                jobs[_key(disk)] = _job(disk, nodes[disk.name], exclusively, look_s, seen.get(disk))
        answers = probe.probe_all(jobs, probe.DEADLINE_S + look_s)
        seen.update({disk: answer.content for disk in looked_at if (answer := answers.get(_key(disk)))})
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    examined = []
    for disk in sorted(looked_at, key=lambda disk: _natural(disk.name)):
        key = _key(disk)
        examined.append(_examined(disk, known[disk.name], key in jobs, answers.get(key), at, census))
    return tuple(examined)


def _key(disk: Disk) -> tuple[str, int | None]:
    return disk.name, disk.diskseq


def _job(disk: Disk, nodes: tuple[Node, ...], exclusively: bool, look_s: float, first: int | None) -> Callable[[], Probe]:
    return lambda: probe.probe_disk(disk, nodes, exclusively=exclusively, look_s=look_s, first=first)


def _known(
    disk: Disk, node: Node, disks: tuple[Disk, ...], census: Census, held: Mapping[str, str], mine: Ownership
) -> dict[str, list[Reason]]:
    """Return the reasons by check, from the census alone."""
    found: dict[str, list[Reason]] = {}

    def note(name: str, check: Callable[[], Iterator[Reason]]) -> None:
        try:
            found[name] = list(check())
        except Exception as error:  # a check that fails has not said yes
            found[name] = [unchecked(name, error)]

    for name, function in CHECKS.items():
        note(name, lambda function=function: function(disk.name, census))  # type: ignore[misc]
    note("identity", lambda: checks.check_identity(disk, disks))
    note("kind", lambda: checks.check_kind(disk, node))
    note("held", lambda: checks.check_held(disk, held, mine.run_id))
    note("sources", lambda: (unchecked(what, why) for what, why in census.failures.items()))
    if not is_root():
        # The one reason that explains all the others; what was seen without root stays.
        found["sources"] = [reason("not-root", "only root can see whether it is in use", "sudo raidtui disks")]
        found["udev"] = [r for r in found["udev"] if r.code != "unchecked"]
    return found


def _codes(found: Mapping[str, list[Reason]]) -> set[str]:
    return {r.code for reasons in found.values() for r in reasons}


def _used(found: Mapping[str, list[Reason]]) -> bool:
    """Return True if a user of the disk is already known."""
    return bool(_codes(found) - CONTENT - {"unchecked", "open", "duplicate-identity", "no-identity"})


def _examined(
    disk: Disk, found: dict[str, list[Reason]], asked: bool, answer: Probe | None, at: str, census: Census
) -> Examined:
    if asked:
        found = {**found, "content": list(probe.probe_reasons(disk.name, answer, in_use=_used(found)))}
        names = [node.name for node in census.blocks.partitions(disk.name)]
        if names and answer is not None and not answer.errors and not answer.content.has_table(disk.name):
            found["partitions"] = [checks.partitions_reason(disk.name, names, table=False)]
    every = [r for rs in found.values() for r in rs]
    reasons = [r for r in every if not _superseded(r, every)]
    told = answer or Probe()
    whole = msgspec.structs.replace(
        disk,
        temperature_c=told.temperature_c,
        wear_percent=told.wear_percent,
        reasons=with_safe_remedies(sorted(dict.fromkeys(reasons), key=_rank)),
        look=None if reasons else told.content.look,
    )
    evidence = {
        "at": at,
        "boot_id": census.boot_id,
        "disk": {"id": disk.id, "name": disk.name, "serial": disk.serial, "wwid": disk.wwid, "model": disk.model,
                 "size_bytes": disk.size_bytes, "diskseq": disk.diskseq},
        "looked_at": {"mounts": len(census.mounts), "arrays": len(census.arrays), "mappings": len(census.mappings),
                      "volumes": len(census.volumes), "pools": len(census.pools), "open_devices": len(census.openers)},
        "checks": {name: [r.message for r in rs] for name, rs in found.items()},
        "content": {"signatures": [s._asdict() for s in told.content.signatures], "fill": told.content.fill,
                    "regions": told.content.regions, "look": msgspec.to_builtins(told.content.look),
                    "exclusive": told.exclusive},
    }  # fmt: skip
    return Examined(whole, told.content.signatures, evidence)


def _superseded(found: Reason, every: Sequence[Reason]) -> bool:
    """Return True if a better reason concerns the same device; what is on another partition stays reported."""
    better = [other.message for other in every if other.code in SUPERSEDED.get(found.code, ())]
    if found.code == "open":
        return bool(better)
    where = re.split(r"(?: on | by )", found.message)[-1]
    return any(where in re.split(r"[\s,()]+|/dev/", message) for message in better)


def _rank(found: Reason) -> int:
    """Return the order of a reason: system first, then users, then content."""
    return 0 if found.system else 2 if found.code in CONTENT else 1


def _natural(name: str) -> tuple[int, str]:
    return len(name), name
