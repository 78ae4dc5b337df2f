"""Hosts that generate the load and have no core left for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.base.text import plural
from raidtui.engine.validity.evidence import Evidence, limit
from raidtui.model.mark import Mark

LEAST_PERCENT: Final = 95.0
FULL: Final = limit(
    "generator-bound",
    "A host that generates the load was the limit",
    "Every job of fio on this host used all of its core, or all cores of the host were busy. The host would have loaded "
    "the export no faster if disks, layout and network had done more: the number describes the host.",
    "More jobs (numjobs), if the host has idle cores; more hosts; or larger blocks.",
)


def find_full_hosts(evidence: Evidence) -> Iterator[Mark]:
    polls = evidence.pattern is not None and evidence.pattern.polls
    for host, part in evidence.cell.hosts.items():
        user, system = part.cpu_user_percent, part.cpu_system_percent
        if not polls and user is not None and system is not None and user + system >= LEAST_PERCENT:
            jobs = f"each of {plural(part.jobs, 'job')}" if part.jobs > 1 else "the job"
            yield FULL.mark(f"{jobs} of fio on {host} used {min(user + system, 100):.0f} % of a core", about=host)
        elif (cores := part.cores) is not None and cores.busy >= cores.cpus * LEAST_PERCENT / 100:
            yield FULL.mark(f"{cores.busy:.2f} of {plural(cores.cpus, 'CPU core')} of {host} were busy", about=host)
