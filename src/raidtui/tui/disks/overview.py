"""Disks of one model beside each other, and the capacity of the server: details for a wide terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from raidtui.base.text import plural
from raidtui.model.units import size_text
from raidtui.tui.disks.entries import Entry, state_words, temperature_words, wear_words
from raidtui.tui.widgets.glyphs import Glyphs, bar

_BAR = 12
_MOST_ALIKE = 16
"""Disks of one model that are listed."""
_MOST_MODELS = 10


def overview(here: Entry, entries: Sequence[Entry], signs: Glyphs) -> Iterator[RenderableType]:
    """Yield wear and temperature of all disks of the model, then the capacity by model; nothing for a single disk."""
    there = [entry for entry in entries if entry.facts.disk is not None and not entry.facts.gone]
    if here.facts.disk is not None:
        alike = [one for one in there if (one.facts.model, one.facts.size) == (here.facts.model, here.facts.size)]
        if len(alike) > 1:
            yield Text()
            yield Text(f"{plural(len(alike), 'disk')} of this model: wear and temperature", style="bold")
            yield _alike(alike, here, signs)
    if len(there) > 1:
        yield Text()
        yield Text("Capacity of this server", style="bold")
        yield _capacity(there, signs)


def _alike(alike: Sequence[Entry], here: Entry, signs: Glyphs) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    for one in alike[:_MOST_ALIKE]:
        disk = one.facts.disk
        wear = disk.wear_percent if disk is not None else None
        grid.add_row(
            Text(signs.now if one.id == here.id else " "), Text(one.facts.name or one.facts.serial, no_wrap=True),
            Text(state_words(one.facts, signs), no_wrap=True), bar(wear, _BAR, signs=signs),
            Text(wear_words(disk, signs), justify="right", no_wrap=True),
            Text(temperature_words(disk, signs), justify="right", no_wrap=True),
        )  # fmt: skip
    if len(alike) > _MOST_ALIKE:
        grid.add_row("", Text(f"and {len(alike) - _MOST_ALIKE} more", style="dim"))
    return grid


def _capacity(there: Sequence[Entry], signs: Glyphs) -> RenderableType:
    """Return a bar for each model: full is the model with the most capacity."""
    models: dict[tuple[str, str], list[Entry]] = {}
    for entry in there:
        models.setdefault((entry.facts.model, entry.facts.size), []).append(entry)
    sums = {key: sum(one.facts.disk.size_bytes for one in of if one.facts.disk) for key, of in models.items()}
    most = max(sums.values(), default=0) or 1
    grid = Table.grid(padding=(0, 1))
    grid.add_column(overflow="ellipsis", no_wrap=True, max_width=24)
    for key in sorted(models, key=lambda key: -sums[key])[:_MOST_MODELS]:
        of = models[key]
        free = sum(one.facts.free for one in of)
        grid.add_row(
            Text(f"{len(of)} x {key[0] or 'unknown'}"), bar(100 * sums[key] / most, _BAR, signs=signs),
            Text(size_text(sums[key]), justify="right", no_wrap=True), Text(f"{free} free", no_wrap=True),
        )  # fmt: skip
    if len(models) > _MOST_MODELS:
        grid.add_row(Text(f"and {plural(len(models) - _MOST_MODELS, 'more model')}", style="dim"))
    return grid
