"""Plans of the operator: workloads in shorthand, costs, consent to erase disks, and the command line that runs the plan."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from raidtui.base.text import clean, named, plural
from raidtui.front.hosts import addresses, host_words
from raidtui.model.disk import Fingerprint, names_of
from raidtui.model.jsonio import MAX_RESULT_BYTES, read_json
from raidtui.model.plan import Kept, Options, Plan, Step, SweepPlan
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import ERASE_TOO_FEW, ERASE_TOO_MANY, SHORTHAND, pools_refused
from raidtui.model.shorthand import is_shorthand, read_shorthand
from raidtui.model.units import duration_text, size_text


def erased_disks(plan: Plan) -> tuple[Fingerprint, ...]:
    """Return the fingerprint of each disk that the plan erases, in its order."""
    known = {disk.id: disk for disks in plan.binding.values() for disk in disks}
    return tuple(known[id_] for id_ in plan.erases if id_ in known)


MOST_NAMED: Final = 4
"""Largest number of workloads that `writes_text` names."""


def writes_text(plan: Plan) -> str:
    """Return the bytes that a plan writes to disks; where they are not known, the workloads that are the reason."""
    if plan.writes_bytes is not None:
        return f"at most {size_text(plan.writes_bytes)}"
    workloads = {cell.id: cell.workload for cell in plan.cells}
    unbounded = [step for step in plan.steps if step.writes_bytes is None]
    names = list(dict.fromkeys(clean(workloads.get(step.cell, step.title), 70) for step in unbounded))
    who = f"workload {names[0]} is" if len(names) == 1 else f"workloads {named(names, MOST_NAMED)} are"
    seconds = duration_text(sum(step.seconds for step in unbounded))
    rest = sum(step.writes_bytes or 0 for step in plan.steps)
    more = f"; the rest at most {size_text(rest)}" if rest else ""
    return f"not known: {who} bounded by time alone (about {seconds} in all){more}"


def sweep_words(sweep: SweepPlan) -> str:
    """Return `randread: 8 combinations (numjobs 1, 4 × iodepth 1, 16, 64, 256), 16 cells, about 9 min`."""
    axes = {"bs": sweep.bs, "numjobs": sweep.numjobs, "iodepth": sweep.iodepth}
    listed = " × ".join(f"{name} {', '.join(map(str, values))}" for name, values in axes.items() if len(values) > 1)
    words = f"{plural(sweep.workloads, 'combination')}{f' ({listed})' if listed else ''}, {plural(sweep.cells, 'cell')}"
    return clean(f"{sweep.name}: {words}, about {duration_text(sweep.seconds)}", 1000)


def check_consent(plan: Plan, named: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of the disks to erase if `named` are exactly these. Raises ProblemError (exit 3)."""
    problems: list[Problem] = []
    meant: set[str] = set()
    for name in named:
        fitting = [disk for disk in erased_disks(plan) if name in names_of(disk)]
        if len(fitting) == 1:
            meant.add(fitting[0].id)
        else:
            what = "names more than one disk of this plan" if fitting else "is not a disk that this plan erases"
            problems.append(_refused(ERASE_TOO_MANY, f"{name[:80]!r} {what}", "Leave it out; nothing was touched."))
    for disk in erased_disks(plan):
        if disk.id not in meant:
            facts = f"{disk.model}, {disk.id}"
            remedy = f"Add {disk.id} to --erase, or bind other disks; nothing was touched."
            problems.append(_refused(ERASE_TOO_FEW, f"this plan erases a disk that was not named: {facts}", remedy))
    if problems:
        raise ProblemError(*problems)
    return plan.erases


def check_pools(plan: Plan, named: Sequence[str]) -> tuple[str, ...]:
    """Return the existing pools in which the plan makes something, if `named` are these. Raises ProblemError (exit 3)."""
    if problems := tuple(pools_refused(plan.takes, named)):
        raise ProblemError(*problems)
    return plan.takes


def taken_words(plan: Plan) -> str:
    """Return a sentence about existing pools of a cluster; empty if the plan uses none."""
    if not plan.takes:
        return ""
    which = f"pool {clean(plan.takes[0])}" if len(plan.takes) == 1 else f"pools {clean(', '.join(plan.takes), 400)}"
    return f"Images are made in {which}, there before the run, and removed from it; nothing else in it is changed."


def writable_name(disk: Fingerprint) -> str:
    """Return an id that can be typed in a shell: the serial, or the WWN if the serial has unusual characters."""
    return next((name for name in (disk.id, disk.wwid) if name and clean(name) == name and "," not in name), disk.id)


def _refused(refusal: Refusal, message: str, remedy: str) -> Problem:
    return refusal.problem(message, place="--erase", remedy=remedy, exit=Exit.REFUSED)


LEAST_CHARACTERS: Final = 4
MOST_TYPED_ALIKE: Final = 4
"""Largest number of disks of one model and size to type one by one; one code stands for more of them."""
_CODE_CHARACTERS: Final = 6
_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Characters of a code, without those that are easily confused."""


class Line(NamedTuple):
    """One line to be typed, and the disks that it consents to; without disks, the name of an existing pool."""

    disks: tuple[Fingerprint, ...]
    expected: str
    name: str = ""
    """Name of the disk or pool, which ends with the expected text; empty if a code is expected."""


def lines_to_type(plan: Plan) -> tuple[Line, ...]:
    """Return the lines to type. Every disk to erase is in exactly one line, and no two lines expect the same text."""
    lines: list[Line] = []
    erased = erased_disks(plan)
    single: list[Fingerprint] = []
    for alike in _alike(erased):
        if len(alike) > MOST_TYPED_ALIKE:
            lines.append(Line(alike, _code(plan.digest, alike)))
        else:
            single += alike
    names = {disk.id: clean(writable_name(disk)).strip() for disk in single}
    lines += [line_of(plan.digest, disk, names) for disk in erased if disk.id in names]
    return (*lines, *(Line((), name, name) for name in plan.takes))


def matches(line: Line, typed: str) -> bool:
    """Return True if the text is exactly the expected one or the disk's whole name, apart from blanks around it."""
    return typed.strip() in {line.expected, line.name or line.expected}


def consented(lines: Sequence[Line], typed: Sequence[str]) -> tuple[str, ...] | None:
    """Return the ids of the disks to erase if every line was typed correctly; else None."""
    if len(lines) != len(typed) or not all(map(matches, lines, typed)):
        return None
    return tuple(disk.id for line in lines for disk in line.disks)


def _alike(disks: Sequence[Fingerprint]) -> list[tuple[Fingerprint, ...]]:
    groups: dict[tuple[str, int], list[Fingerprint]] = {}
    for disk in disks:
        groups.setdefault((disk.model, disk.size_bytes), []).append(disk)
    return [tuple(group) for group in groups.values()]


def line_of(digest: str, disk: Fingerprint, names: Mapping[str, str]) -> Line:
    """Return the shortest end of the disk's name that is unique among `names` (by id, with its own).

    A code of the shown plan's digest stands for it if the name cannot be typed or is not unique.
    """
    name = names[disk.id]
    others = [other for id_, other in names.items() if id_ != disk.id]
    if not name.isascii() or not name or name in others:
        return Line((disk,), _code(digest, (disk,)))
    for count in range(LEAST_CHARACTERS, len(name)):
        end = name[-count:]
        if end == end.strip() and not any(other.endswith(end) for other in others):
            return Line((disk,), end, name)
    return Line((disk,), name, name)


def _code(digest: str, disks: Sequence[Fingerprint]) -> str:
    """Return a code that depends on the plan and the disks."""
    facts = "\0".join([digest, *sorted(f"{disk.id}\0{disk.wwid}" for disk in disks)])
    hashed = hashlib.sha256(facts.encode("utf-8", "backslashreplace")).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in hashed[:_CODE_CHARACTERS])


def replay_line(plan: Plan, scenario: str, options: Options, *, on: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """Return the command line that runs this plan of the file `scenario` with consent to erase its disks.

    `on` are the words that name the server (`--on HOST`), `more` are further options. Control characters are removed.
    """
    words = ["raidtui", *on, "replay" if options.keep is None else "build", scenario]
    for role, disks in plan.binding.items():
        words += ["--bind", f"{role}={','.join(writable_name(disk) for disk in disks)}"]
    for word in host_words(addresses(plan)):
        words += ["--host", word]
    for flag, names in (("--layout", options.layouts), ("--workload", options.workloads)):
        for name in names:
            words += [flag, name]
    words += ["--quick"] if options.quick else []
    if (keep := options.keep) is not None:
        words += ["--name", keep.name, "--mount", keep.mount]
    words += more
    if plan.erases:
        words += ["--erase", ",".join(writable_name(disk) for disk in erased_disks(plan))]
    for name in plan.takes:
        words += ["--pool", name]
    return clean(shlex.join(words), limit=65536)


def kept_lines(kept: Kept) -> Iterator[str]:
    """Yield what stays on the server, and what the operator adds so that it comes back after a restart."""
    yield f"Kept     {clean(kept.path)}: it stays when the run has ended; nothing is measured"
    for file, lines in kept.lines.items():
        yield f"To have it back after a restart, add to {file}:"
        yield from (f"  {clean(line, limit=4096)}" for line in lines)
    yield from (f"Note     {clean(note)}" for note in kept.notes)


def phase_words(plan: Plan, step: Step) -> str:
    """Return the heading of a step's phase."""
    if plan.kept is not None and step.phase == "teardown":
        return "teardown, only if the build fails"
    return step.phase


def workload_names(words: Sequence[str]) -> tuple[str, ...]:
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
