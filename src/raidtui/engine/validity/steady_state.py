"""The cell was to be measured in a steady state, and came to one."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.run.passes import spread_words
from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.statistics.steady import MAX_EXCURSION, MAX_RANGE, WINDOW

NOT_STEADY = Meaning(
    "not-steady",
    "caution",
    "Steady state was not reached",
    "The policy asks for a steady state as SNIA's test specification has it, and over the last passes the workload still "
    "scattered or drifted by more: what is reported is their average, and a longer run may give another one.",
    "Let passes be longer (`runtime`), precondition with 2x, keep the server free of other work; or say `steady: false`.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    steady = evidence.cell.steady
    if steady is None or steady.reached is not None or evidence.cancelled or evidence.lost:
        return
    passes = len(steady.passes)
    if passes < WINDOW:
        yield NOT_STEADY.mark(f"steady state was not reached: only {passes} of at least {WINDOW} passes were run")
        return
    restless = [spread_words(name, one) for name, one in steady.variables.items() if not one.steady]
    yield NOT_STEADY.mark(
        f"steady state was not reached in {passes} passes (over the last {WINDOW} a range below {MAX_RANGE:.0%} and a line "
        f"below {MAX_EXCURSION:.0%} of the average are asked for): {'; '.join(restless)}"
    )


CHECK = Check(find, (NOT_STEADY,), rank=60)
