"""The line that does without screens what was planned."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from raidtui.base.text import clean
from raidtui.front.consent import erased_disks, writable_name
from raidtui.model.plan import Options, Plan


def replay_line(plan: Plan, scenario: str, options: Options, *, on: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """The exact command line that runs this plan of the file `scenario` and consents to what it erases.

    `on` are the words that name the server (`--on HOST`), `more` are further options. Harmless to a terminal.
    """
    words = ["raidtui", *on, "replay", scenario]
    for role, disks in plan.binding.items():
        words += ["--bind", f"{role}={','.join(writable_name(disk) for disk in disks)}"]
    for flag, names in (("--layout", options.layouts), ("--workload", options.workloads)):
        for name in names:
            words += [flag, name]
    words += ["--quick"] if options.quick else []
    words += more
    if plan.erases:
        words += ["--erase", ",".join(writable_name(disk) for disk in erased_disks(plan))]
    return clean(shlex.join(words), limit=65536)
