"""fio's job files, as scenarios: each job becomes a workload, and what is measured becomes a role and a layout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final

from raidtui.base.text import clean
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.results.imports.base import Imported, Reader, Source
from raidtui.results.imports.job_parts.lines import Section, looks_like_one, read_sections
from raidtui.results.imports.job_parts.translate import Loss, translate

CODE: Final = "import-fio-job"
_REMEDY: Final = "Change the job file, or import it with --leave-out."
_BLOCK: Final = {"disk": {"disk": {"on": "@data", "mode": "each"}}}
_FILES: Final = {"xfs": {"filesystem": {"type": "xfs", "on": "@data"}}}


class JobFile:
    """Read by raidtui itself: fio's own reader of job files runs code and expands variables."""

    name = "fio-job"
    title = "a job file of fio, as a scenario"

    def claims(self, source: Source) -> bool:
        return looks_like_one(source.data)

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        """Raises ProblemError (`import-fio-job`) with everything that has no counterpart."""
        workloads: dict[str, Any] = {}
        problems: list[Problem] = []
        notes: list[str] = []
        kinds: dict[bool, str] = {}
        for source in sources:
            jobs = read_sections(source)
            losses = list(_together(jobs))
            for job in jobs:
                made = translate(job)
                losses += made.losses
                if made.options is not None:
                    workloads[_free_name(job.name, workloads)] = {"fio": made.options}
                    kinds.setdefault(made.files, job.name)
            problems += [_problem(source, loss) for loss in losses if loss.fatal]
            notes += _notes(source, losses)
        if len(kinds) > 1:
            text = f"{clean(kinds[False])} measures a device and {clean(kinds[True])} measures files"
            raise fail(CODE, text, place=clean(sources[0].name), remedy="Import them from files of their own.")
        if problems and not leave_out:
            raise ProblemError(*dict.fromkeys(problems))
        if not workloads:
            raise fail(CODE, "nothing is left that could be measured", place=clean(sources[0].name))
        return Imported(_scenario(sources, workloads, files=True in kinds), ".scenario.json", tuple(notes))


def _together(jobs: Sequence[Section]) -> Iterator[Loss]:
    """Jobs that fio would run at the same time as the one before."""
    for before, job in pairwise(jobs):
        waits = job.options.get("stonewall")
        if (waits is None or waits.value == "0") and "wait_for" not in job.options:
            text = f"{clean(job.name)} and {clean(before.name)} run at the same time in fio, and one after another here"
            yield Loss("stonewall", job.line, text, fatal=True)


def _problem(source: Source, loss: Loss) -> Problem:
    text = loss.why if loss.option == "stonewall" else f"{clean(loss.option)}: {loss.why}"
    return Problem(CODE, clean(text, 400), f"{clean(source.name)}:{loss.line}", _REMEDY, int(Exit.USAGE))


def _notes(source: Source, losses: Sequence[Loss]) -> Iterator[str]:
    """One sentence for each reason, with every option that it is the reason for."""
    reasons: dict[str, list[str]] = {}
    for loss in losses:
        why = f"left out: {loss.why}" if loss.fatal and loss.option != "stonewall" else loss.why
        options = reasons.setdefault(why, [])
        if loss.option not in options:
            options.append(loss.option)
    for why, options in reasons.items():
        yield clean(f"{source.name}: {', '.join(options)}: {why}.", 2000)


def _scenario(sources: Sequence[Source], workloads: dict[str, Any], *, files: bool) -> dict[str, Any]:
    names = ", ".join(PurePath(source.name).name for source in sources)
    return {
        "schema": "raidtui.scenario/1",
        "name": _name(PurePath(sources[0].name).stem) or "imported",
        "title": clean(f"Imported from {names}", 190),
        "roles": {"data": {"count": 1}},
        "layouts": _FILES if files else _BLOCK,
        "workloads": workloads,
        "policy": {"initial_sync": "skip-if-zeroed"},
    }


def _free_name(given: str, taken: dict[str, Any]) -> str:
    name = _name(given) or "job"
    number = 2
    free = name
    while free in taken:
        free, number = f"{name[:56]}-{number}", number + 1
    return free


def _name(text: str) -> str:
    """As names in a scenario are: lower case, without blanks."""
    return re.sub(r"[^a-z0-9._+-]+", "-", text.lower()).strip("-._+")[:60]


READER: Reader = JobFile()
