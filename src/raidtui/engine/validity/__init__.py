"""Validity of a cell: checks whether its numbers can be believed.

A check is pure: it takes the evidence of one cell and yields marks (`model.mark`), each with a code, a sentence with the
figures, and an explanation for `raidtui explain`. No check confirms a number. A new check is a function in the file of its
subject and a line in `CHECKS`.
"""

from __future__ import annotations

from typing import Final

from raidtui.engine.validity import caches, clients, data_path, hardware, host, incidents, network, steadiness
from raidtui.engine.validity.evidence import Check, Evidence, MarkKind
from raidtui.model.mark import Mark, gravest_first
from raidtui.model.refusals import UNCHECKED

CHECKS: Final = (
    # Causes stand before their consequences: marks of one weight are listed in this order.
    Check("lost", incidents.find_lost_disks, (incidents.LOST,)),
    Check("said", incidents.find_reports, (incidents.UNHEALTHY, incidents.DEGRADED, incidents.TOOL, incidents.REMARK)),
    Check("ended_early", incidents.find_early_end, (incidents.CANCELLED, incidents.NOTHING)),
    Check("nothing_beside", incidents.find_resync, (incidents.RESYNC,)),
    Check("undisturbed", host.find_neighbours, (host.FOREIGN, host.NEIGHBOUR)),
    Check("in_memory", host.find_swapping, (host.SWAPPED,)),
    Check("bytes_agree", data_path.find_byte_differences, (data_path.DISAGREE, data_path.UNKNOWN)),
    Check("clocks", incidents.find_clock_jumps, (incidents.SUSPENDED, incidents.JUMPED)),
    Check("packets_arrive", network.find_lost_packets, (network.LOSSY,)),
    Check("cool", hardware.find_heat, (hardware.HOT,)),
    Check("members_alike", hardware.find_slow_members, (hardware.SLOW,)),
    Check("below_ceiling", caches.find_impossible_rates, (caches.LINK, caches.BASELINE)),
    Check("cache_large_enough", caches.find_small_data_set, (caches.FITS,)),
    Check("data_kept_whole", data_path.find_reduced_data, (data_path.REDUCED,)),
    Check("flushed", data_path.find_missing_flushes, (data_path.FASTER,)),
    Check("latency_met", steadiness.find_missed_latency, (steadiness.MISSED,)),
    Check("not_merged", data_path.find_merges, (data_path.MERGED,)),
    Check("reads_reached", caches.find_reads_without_disk, (caches.UNWRITTEN, caches.NOT_FILLED, caches.CACHED)),
    Check("thread_busy", hardware.find_busy_threads, (hardware.BOUND,)),
    Check("hosts_had_cores", clients.find_full_hosts, (clients.FULL,)),
    Check("steady", steadiness.find_rate_changes, (steadiness.UNSTEADY,)),
    Check("steady_state", steadiness.find_unsteady_window, (steadiness.NOT_STEADY,)),
    Check("samples_kept", incidents.find_missing_samples, (incidents.MISSING,)),
)

UNCHECKED_CELL: Final = MarkKind("caution", UNCHECKED)

KINDS: Final = {kind.code: kind for kind in (*(kind for check in CHECKS for kind in check.kinds), UNCHECKED_CELL)}
"""All kinds of marks, by code."""


def marks(evidence: Evidence) -> tuple[Mark, ...]:
    """Return all marks of a cell, the gravest first."""
    return gravest_first(mark for check in CHECKS for mark in _find(check, evidence))


def _find(check: Check, evidence: Evidence) -> list[Mark]:
    try:
        return list(check.find(evidence))
    except Exception as error:  # hours of measuring are not lost to a check that fails
        sentence = f"the check {check.name} failed: {type(error).__name__}: {error}"
        return [UNCHECKED_CELL.mark(sentence, about=check.name)]
