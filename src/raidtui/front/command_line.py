"""Command lines: workloads given in shorthand, and the `raidtui replay` line that runs a plan."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from raidtui.base.text import clean
from raidtui.front.consent import erased_disks, writable_name
from raidtui.model.jsonio import MAX_RESULT_BYTES, read_json
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import fail
from raidtui.model.refusals import SHORTHAND
from raidtui.model.shorthand import is_shorthand, read_shorthand


def replay_line(plan: Plan, scenario: str, options: Options, *, on: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """Return the command line that runs this plan of the file `scenario` with consent to erase its disks.

    `on` are the words that name the server (`--on HOST`), `more` are further options. Control characters are removed.
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


def names_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the workload names; a shorthand is replaced by the name that it gets."""
    return tuple(read_shorthand(word).name if is_shorthand(word) else word for word in words)


def with_workloads(document: str, words: Sequence[str]) -> str:
    """Return the document with a workload added for every shorthand; unchanged to the byte if there is none.

    Raises ProblemError (`shorthand`, `json`).
    """
    said = [read_shorthand(word) for word in words if is_shorthand(word)]
    if not said:
        return document
    value = read_json(document.encode(), max_bytes=MAX_RESULT_BYTES)
    scenario = value.get("scenario", value) if isinstance(value, dict) else None
    workloads = scenario.setdefault("workloads", {}) if isinstance(scenario, dict) else None
    if not isinstance(scenario, dict) or not isinstance(workloads, dict):
        raise fail(SHORTHAND, "there is no scenario that a workload could be added to", place="--workload")
    _add_to_policy(scenario, [one.name for one in said])
    for one in said:
        workloads.setdefault(one.name, {"fio": one.options})
    return json.dumps(value)


def _add_to_policy(scenario: dict[str, Any], added: list[str]) -> None:
    """Add the workloads to every layout if the policy limits workloads to layouts."""
    policy, layouts = scenario.get("policy"), scenario.get("layouts")
    only = policy.get("only") if isinstance(policy, dict) else None
    if (
        not isinstance(only, dict)
        or not isinstance(layouts, dict)
        or not all(isinstance(met, list) for met in only.values())
    ):
        return
    taken = [name for met in only.values() for name in met]
    free = [name for name in scenario["workloads"] if name not in taken]
    only |= {layout: [*only.get(layout, free), *added] for layout in layouts}
