"""Other work of the server during a cell: processes outside the run, and memory that was swapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.evidence import Evidence, caution, invalid
from raidtui.model.host import HostUse, Neighbour
from raidtui.model.mark import Mark
from raidtui.model.units import size_text

MOST_CORES: Final = 0.1
LEAST_BYTES: Final = 1 << 20
LEAST_BYTES_PER_S: Final = 64 << 10
"""Writes beside the run's disks below either of these are logs, which every server writes (`NEIGHBOUR` tells both)."""
EXPLAINED: Final = 0.5
"""A process whose files are unknown counts as the writer of disks that were written at least this share of its bytes."""
NEIGHBOUR = caution(
    "noisy-neighbour",
    "Another process was busy",
    "A process that is no part of the run used more than a tenth of a CPU core, or wrote at least 1 MiB and 64 KiB/s to a "
    "disk of the same controller: it took time and bandwidth from the workload. The kernel counts a process's bytes for "
    "all devices together: a disk is named if the process held it, or a file on it, open for writing. Writes through ZFS, "
    "and processes that open and close files between two looks, may be missed.",
    "Stop the process that the sentence names, or move it elsewhere, and run the cell again (--layout, --workload).",
)
FOREIGN = invalid(
    "foreign-writes",
    "Another process had a disk of the run open for writing, and wrote",
    "A process that is no part of the run wrote while it held a disk of the run, or a device or file on it, open for "
    "writing, however little it wrote. The kernel counts a process's bytes for all devices together, so that some or all "
    "of them may have gone elsewhere. If not, the disks did its work beside the workload's, and data of the layout may be "
    "destroyed.",
    "Find out why the process has that disk (`lsof`), stop it, and run the scenario again.",
)


def find_neighbours(evidence: Evidence) -> Iterator[Mark]:
    host = evidence.cell.host
    for one in host.neighbours if host is not None else ():
        if one.daemon and not one.own_disks:
            continue  # a cluster on this server: its work is the layout's
        about = f"{one.pid} {one.name}"
        who = f"{one.name} (pid {one.pid})"
        who = f"processes that ended since, children of {who}," if one.of_children else who
        wrote = f"{who} used {one.cores:.2f} CPU cores and wrote {size_text(one.written_bytes)}"
        if one.own_disks and one.written_bytes:
            text = f"{wrote}, with {', '.join(one.own_disks)} of the run open for writing"
            yield FOREIGN.mark(text, about=about)
        elif one.cores > MOST_CORES or (host is not None and _wrote_beside(one, host, evidence.monotonic_s)):
            yield NEIGHBOUR.mark(f"{wrote}{_where(one, host)}", about=about)


def _wrote_beside(one: Neighbour, host: HostUse, span_s: float) -> bool:
    """Return True if the process wrote notably to other disks of the run's controllers."""
    moved = sum(host.beside_written_bytes.values())
    known = one.beside or (one.unknown_disks and moved >= EXPLAINED * one.written_bytes)
    return bool(known) and min(one.written_bytes, moved) >= max(LEAST_BYTES, LEAST_BYTES_PER_S * span_s)


def _where(one: Neighbour, host: HostUse | None) -> str:
    if one.beside:
        return f", with {', '.join(one.beside)} of the same controller open for writing"
    moved = host.beside_written_bytes if host is not None else {}
    if one.unknown_disks and moved and one.written_bytes >= LEAST_BYTES:
        return f"; meanwhile {', '.join(moved)} of the same controller was written {size_text(sum(moved.values()))}"
    return ""


SWAPPED = caution(
    "swapped",
    "Memory was swapped",
    "The kernel moved memory to a swap device or back during the measurement: some process waited for that instead of the "
    "layout, and the swap device's disk had more work.",
    "Free memory (a smaller ARC, fewer jobs, other programs stopped) or switch swap off (`swapoff -a`), and run the cell "
    "again (--layout, --workload).",
)


def find_swapping(evidence: Evidence) -> Iterator[Mark]:
    host = evidence.cell.host
    if host is not None and (host.swapped_in_bytes or host.swapped_out_bytes):
        moved = f"{size_text(host.swapped_in_bytes)} were swapped in, {size_text(host.swapped_out_bytes)} out"
        yield SWAPPED.mark(moved)
