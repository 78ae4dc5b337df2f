"""The buildings of a result's layouts: what each is called, and which cells were measured on it."""

from __future__ import annotations

from raidtui.model.result import Built, Cell


def building_words(built: Built) -> str:
    """`raid5, round 2`, `raid5, round 2 again` (measured against itself), `raid5, rounds 1 to 3 on one build`."""
    last = built.round + built.rounds - 1
    rounds = f"rounds {built.round} to {last} on one build" if built.rounds > 1 else f"round {built.round}"
    return f"{built.layout}, {rounds}{' again' if built.again else ''}"


def measured_on(cell: Cell, built: Built) -> bool:
    """Whether a cell was measured on this building."""
    of_round = built.round <= cell.round < built.round + built.rounds
    return of_round and (cell.layout, cell.again) == (built.layout, built.again)
