"""The order in which layouts are built and workloads run. Pure functions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from raidtui.model.plan import block_name
from raidtui.model.scenario import Policy


class Block(NamedTuple):
    """One building of a layout, and the rounds that are measured on it."""

    layout: str
    rounds: tuple[int, ...]
    again: bool = False
    """The second building of the layout that is measured against itself."""

    @property
    def name(self) -> str:
        return block_name(self.layout, self.rounds[0], again=self.again)


def blocks_of(layouts: Sequence[str], policy: Policy, seed: str) -> Iterator[Block]:
    """Return all buildings of the layouts, in order. The same seed gives the same order."""
    rounds = tuple(range(1, policy.rounds + 1))
    for some in (rounds,) if policy.order == "grouped" else ((number,) for number in rounds):
        names = shuffled(layouts, f"{seed}/{some[0]}") if policy.order == "random" else layouts
        yield from _with_second([Block(name, some) for name in names], policy.noise_of)


def workloads_of(workloads: Sequence[str], policy: Policy, seed: str, block: Block, number: int) -> Sequence[str]:
    """The workloads of one round on one building, in order."""
    if policy.order != "random":
        return workloads
    return shuffled(workloads, f"{seed}/{block.name}/{number}")


def shuffled(names: Iterable[str], seed: str) -> list[str]:
    """Shuffle by the seed alone: the same order on every machine and with every version of Python."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())


def _with_second(blocks: list[Block], noise_of: str | None) -> list[Block]:
    """Place the second building of a layout half a cycle after its first, so that the two share little else."""
    first = next((place for place, block in enumerate(blocks) if block.layout == noise_of), None)
    if first is None:
        return blocks
    place = (first + (len(blocks) + 2) // 2) % (len(blocks) + 1)
    return [*blocks[:place], blocks[first]._replace(again=True), *blocks[place:]]
