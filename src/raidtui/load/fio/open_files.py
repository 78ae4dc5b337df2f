"""How many files fio may hold open: it opens all of a job's at once, and servers allow 1024 unless they are asked."""

from __future__ import annotations

import resource
from typing import Final

from raidtui.load.fio.options import FioSpec

MOST: Final = 400_000
"""Of all jobs: somewhat less than what systemd and the kernel let a process have."""
_OTHERS: Final = 256
"""For everything else that is open."""


def allow(spec: FioSpec, targets: int) -> None:
    """Let this process, and what it starts, open as many files as the workload needs, as far as the hard limit goes."""
    needed = spec.numjobs * spec.nrfiles * targets + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
