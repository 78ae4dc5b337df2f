"""Warnings about layouts that can be built but have a consequence the operator should know: one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import Final, NamedTuple

from raidtui.engine.compose.sweeps import by_sweep
from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk, link_bytes_per_s
from raidtui.model.scenario import Load
from raidtui.model.units import size_text
from raidtui.stack.layer import Shape, WritePath

_DONE: Final = {"compresses": "compressed", "deduplicates": "deduplicated"}


class Inputs(NamedTuple):
    """The disks in each input of a layer, and which of these inputs writes go through."""

    disks: Mapping[str, tuple[Disk, ...]]
    write_path: tuple[WritePath, ...] = ()


class Shaped(NamedTuple):
    """One layer of a layout, with the word for it and what it is worth."""

    words: str
    shape: Shape


def of_role(role: str, disks: Sequence[Disk]) -> Iterator[str]:
    """Differences within one role that make its figures those of the slowest or smallest disk."""
    yield from _differences(f"The disks of role {role}", disks)
    if slow := [disk.id for disk in disks if disk.link and disk.link.below_maximum]:
        yield f"The PCIe link of {', '.join(slow)} is below its maximum: sequential figures will be lower than they could."


def of_layer(inputs: Inputs, roles: Mapping[str, tuple[Disk, ...]]) -> Iterator[str]:
    """Warn about inputs of a layer with unlike disks, and about a device that slows down those behind it."""
    for disks in inputs.disks.values():
        ids = {disk.id for disk in disks}
        mixed = {role: found for role, found in roles.items() if found and ids & {disk.id for disk in found}}
        if len(mixed) > 1:
            # What differs within a role is said of that role: here one disk stands for each.
            yield from _differences(f"The disks of roles {' and '.join(mixed)}", [found[0] for found in mixed.values()])
    yield from _slowed(inputs)


def _differences(what: str, disks: Sequence[Disk]) -> Iterator[str]:
    if len({disk.model for disk in disks}) > 1:
        yield f"{what} are of different models: the slowest of them sets the pace."
    if len({disk.size_bytes for disk in disks}) > 1:
        least = size_text(min(disk.size_bytes for disk in disks))
        yield f"{what} differ in size: only {least} of each is used where they are striped or mirrored."
    if len({disk.rotational for disk in disks if disk.rotational is not None}) > 1:
        yield f"{what} are rotating ones and flash: the rotating ones set the pace."
    if len({disk.logical_sector_bytes for disk in disks}) > 1:
        yield f"{what} differ in their logical sectors: what stands on them takes the larger ones."


def _slowed(inputs: Inputs) -> Iterator[str]:
    """A device that writes pass, and that is slower than those behind it."""
    for passage in inputs.write_path:
        own = inputs.disks.get(passage.through, ())
        behind = [disk for name in passage.behind for disk in inputs.disks.get(name, ())]
        if not own or not behind:
            continue
        name = passage.through.partition(".")[0]
        if min(map(_rank, own)) < max(map(_rank, behind)):
            yield f"The {name} is a slower kind of disk than those behind it: {passage.writes} waits for it."
            continue
        through, theirs = link_bytes_per_s(own), link_bytes_per_s(behind)
        if passage.large and through is not None and theirs is not None and through < theirs:
            yield (
                f"{passage.writes[0].upper()}{passage.writes[1:]} passes the {name}, whose link carries "
                f"{through / 1e9:.1f} GB/s, and those behind it {theirs / 1e9:.1f} GB/s: large writes will go at the pace "
                f"of the {name}."
            )


def of_data(reducing: Mapping[str, Sequence[str]], silent: Sequence[str]) -> Iterator[str]:
    """Layouts that compress or deduplicate, each with how, and the workloads on them that do not say what they write."""
    ways: dict[str, list[str]] = {}
    for layout, how in reducing.items():
        ways.setdefault(" and ".join(_DONE[word] for word in how), []).append(layout)
    for how, layouts in ways.items() if silent else ():
        yield (
            f"What is written to {', '.join(layouts)} is {how} there, and {_lower(workloads_named(silent))} "
            f"{'does' if len(silent) == 1 else 'do'} not say what it is like: it is random data, of which nothing becomes "
            "less (buffer_compress_percentage 0, dedupe_percentage 0)."
        )


def of_memory(found: Mapping[tuple[str, str], int], loads: Mapping[str, Load]) -> Iterator[str]:
    """Warn about layers that can answer a workload's reads from memory. `found`: bytes by (layout, workload)."""
    workloads: dict[tuple[str, int], list[str]] = {}
    for (layout, workload), most in found.items():
        workloads.setdefault((layout, most), []).append(workload)
    layouts: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for (layout, most), names in workloads.items():
        layouts.setdefault((tuple(names), most), []).append(layout)
    for (alike, most), where in layouts.items():
        who = workloads_named(by_sweep(alike, loads))
        yield (
            f"{who} on {', '.join(where)}: all that is read fits into the ARC, which may take "
            f"{size_text(most)}, so that memory answers instead of the disks. A smaller arc_max, cold caches in the policy "
            "or a larger region change that."
        )


def of_workloads(
    layers: Sequence[Shaped], patterns: Mapping[str, Pattern], sector_bytes: int | None
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Block sizes of the workloads against chunk, stripe and sectors of a layout: names of workloads, and the sentence."""
    if sector_bytes is not None:
        broken = [name for name, found in patterns.items() if found.under_sector(sector_bytes)]
        if broken:
            text = size_text(sector_bytes)
            yield tuple(broken), f"blocks or offsets are not whole logical sectors of {text}: direct I/O will be refused."
    for words, shape in layers:
        least = shape.buffered_under
        cached = [n for n, p in patterns.items() if p.whole_sectors and any(size < least for size in p.block_bytes)]
        if cached:
            which = "direct I/O" if isinf(least) else f"direct I/O in less than {size_text(int(least))}"
            yield tuple(cached), f"{which} goes through the page cache ({words}), so memory is measured as well."
        stripe = shape.stripe_bytes if shape.reads_to_write else None
        small = [name for name, found in patterns.items() if stripe and _partial(found, stripe)]
        if stripe and small:
            yield (
                tuple(small),
                (
                    f"writes do not fill the stripe of {size_text(stripe)} ({words}), so old data and "
                    "parity are read first for each (read-modify-write)."
                ),
            )
        chunk = shape.chunk_bytes
        split = [n for n, p in patterns.items() if chunk and p.random and any(size > chunk for size in p.block_bytes)]
        if chunk and split:
            yield (
                tuple(split),
                (
                    f"random blocks are larger than the chunk of {size_text(chunk)} ({words}), so each "
                    "keeps several disks busy."
                ),
            )


def _partial(found: Pattern, stripe_bytes: int) -> bool:
    """Return True if md cannot gather full stripes: blocks are random and smaller, or too little is in flight."""
    if not found.writes or not found.block_bytes:
        return False
    if found.random:
        return any(size % stripe_bytes for size in found.block_bytes)
    return found.in_flight_bytes < stripe_bytes


def workloads_named(names: Sequence[str]) -> str:
    """`Workload a`, `Workloads a, b`."""
    return f"Workload {names[0]}" if len(names) == 1 else f"Workloads {', '.join(names)}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _rank(disk: Disk) -> int:
    return {"hdd": 0, "ssd": 1, "nvme": 2}[disk.kind]
