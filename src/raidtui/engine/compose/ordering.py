"""In which order layouts are built, and workloads are run on each. Pure."""

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
    """Every building of a layout, in order. The same seed gives the same order."""
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
    """In an order that follows from the seed alone, on every machine and with every version of Python."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())


def _with_second(blocks: list[Block], noise_of: str | None) -> list[Block]:
    """With the second building of a layout half a cycle from its first, so that little else has both in common."""
    first = next((place for place, block in enumerate(blocks) if block.layout == noise_of), None)
    if first is None:
        return blocks
    place = (first + (len(blocks) + 2) // 2) % (len(blocks) + 1)
    return [*blocks[:place], blocks[first]._replace(again=True), *blocks[place:]]
