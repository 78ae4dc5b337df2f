"""What the options of a pool come to, in words: what it is, what is taken where nothing is said, what may fail."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from raidtui.base.text import plural
from raidtui.stack.layer import EVERY_WRITE, WritePath
from raidtui.stack.zfs.spec import (
    Group,
    ZpoolSpec,
    block_bytes,
    groups,
    in_force,
    measured_properties,
    operands,
    vdev_input,
)


def describe(spec: ZpoolSpec, counts: Mapping[str, int]) -> str:
    """`raidz1 of 6, log, blocks of 16KiB`, or `…, files in records of 128KiB`."""
    found = groups(spec, dict(counts))
    data = [group for group in found if group.role == "member"]
    texts = []
    for (kind, width), alike in groupby(data, key=lambda group: (group.word or group.kind, len(group.devices))):
        number = len(list(alike))
        if kind == "stripe":
            texts.append(f"stripe of {number}" if number > 1 else "one disk")
        else:
            texts.append(f"{f'{number} × ' if number > 1 else ''}{kind}" + ("" if ":" in kind else f" of {width}"))
    for role in dict.fromkeys(group.role for group in found if group.role != "member"):
        mirrors = sum(group.kind == "mirror" for group in found if group.role == role)
        texts.append(f"{role} of {mirrors} mirrors" if mirrors > 1 else f"{'mirrored ' if mirrors else ''}{role}")
    for name in ("compression", "dedup"):
        value = {**spec.inherited, **measured_properties(spec)}.get(name)
        if value is not None and (name, value) != ("dedup", "off"):
            texts.append(f"{name} {value}")
    blocks = "blocks" if spec.dataset is None else "files in records"
    return ", ".join([*texts, f"{blocks} of {_size(block_bytes(spec))}"])


def _size(count: int) -> str:
    return f"{count >> 10}KiB" if count >= 1024 else f"{count}B"


def defaults(spec: ZpoolSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """By optional field: what it comes to where it is left out, and why."""
    none = "none"
    return {
        "volume": (none, "files in a dataset are measured" if spec.dataset is not None else "nothing is measured"),
        "dataset": (none, "a volume is measured" if spec.volume is not None else "nothing is measured"),
        "log": (none, "synchronous writes go to the disks of the pool themselves"),
        "cache": (none, "reads are cached in memory only"),
        "special": (none, "metadata is on the same disks as data"),
        "dedup": (none, "deduplication tables are on the same disks as data"),
        "spares": (none, "nothing takes a failed disk's place"),
        "mirrored": (none, "each of these devices stands alone"),
        "mirrored_per": ("all", "each of them is one mirror of all its devices"),
        "properties": ("ashift 12, failmode continue", "most disks write no less than 4KiB; a pool that fails says so"),
        "inherited": (none, "as ZFS has them: it compresses unless told not to"),
        "arc_max": ("as it is", "the ARC is left as the server has it"),
    }  # fmt: skip


def write_path(spec: ZpoolSpec) -> tuple[WritePath, ...]:
    """A log takes synchronous writes (zfsprops(7): sync, logbias). An L2ARC is filled from memory, past all writes."""
    sync = in_force(spec, "sync", "standard")
    if spec.log is None or sync == "disabled" or in_force(spec, "logbias", "latency") == "throughput":
        return ()
    behind = tuple(vdev_input(index, vdev) for index, vdev in enumerate(spec.vdevs))
    return (WritePath("log", behind, EVERY_WRITE if sync == "always" else "every synchronous write", large=True),)


def tolerates_failures(spec: ZpoolSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """By input: how many of its devices may fail without loss, whichever they are, and in words which and what then."""
    found = groups(spec, dict(counts))
    answer = {}
    at = 0
    for index, vdev in enumerate(spec.vdevs):
        name = vdev_input(index, vdev)
        places = range(at, at + counts.get(name, 0))
        at += len(places)
        answer[name] = _of_vdevs([group for group in found if group.devices and group.devices[0] in places])
    inputs = operands(spec)
    if "log" in inputs:
        answer["log"] = (counts.get("log", 0), "the log: nothing is lost unless power fails at that moment")
    if "cache" in inputs:
        answer["cache"] = (counts.get("cache", 0), "the cache: reads are slower, nothing is lost")
    for role in ("special", "dedup"):
        if role in inputs:
            answer[role] = _of_vdevs([group for group in found if group.role == role])
    if spares := counts.get("spares"):
        what = "the spare" if spares == 1 else f"all {plural(spares, 'spare')}"
        answer["spares"] = (spares, f"{what}: nothing takes the place of the next disk that fails")
    return answer


def _of_vdevs(alike: list[Group]) -> tuple[int, str]:
    count = min((group.may_fail for group in alike), default=0)
    if count == 0:
        return 0, "no disk: one that fails takes the whole pool with it"
    if len(alike) > 1:
        return count, f"any {plural(count, 'disk')} of each vdev"
    return count, f"any {count} of the {len(alike[0].devices)} disks"


def may_fail(found: list[Group]) -> int:
    """How many disks may fail without loss, whichever they are."""
    return min((group.may_fail for group in found if group.role in ("member", "special", "dedup")), default=0)


def write_penalty(found: list[Group], block: int, ashift: int, copies: int) -> float:
    """Device writes for one small random write: the volume's block anew, with its parity; without metadata."""
    worst = 1.0
    for group in found:
        if group.role != "member":
            continue
        sectors = max(1, block >> ashift)
        if group.kind == "mirror":
            worst = max(worst, float(len(group.devices)))
        elif group.kind.startswith("raidz"):
            worst = max(worst, float(min(sectors, len(group.devices) - group.parity) + group.parity))
        elif group.kind.startswith("draid"):
            worst = max(worst, float(group.data + group.parity))
    return worst * copies
