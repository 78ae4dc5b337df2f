"""The command palette finds everything by its words."""

from __future__ import annotations

import asyncio

from compose_pilot import opened
from made_compose import BOUND
from pilot import drive, until

from raidtui.tui.palette import Everything


async def _hits(app, query):
    provider = Everything(app.screen)
    await provider.startup()
    found = [hit async for hit in provider.search(query)]
    return sorted(found, key=lambda hit: -hit.score)


BEST = {
    "save": "Save  s ^s",
    "results": "Screen Results  5",
    "raid6": "Add layout raid6  l",
    "raid5-journal": "Layout raid5-journal",
    "chunk md": "Option chunk of md",
    "oltp scenario": "Scenario database-oltp",
}


def test_the_best_hit_of_a_word(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        await opened(pilot)
        provider = Everything(app.screen)
        await provider.startup()
        for query, first in BEST.items():
            hits = sorted([hit async for hit in provider.search(query)], key=lambda hit: -hit.score)
            assert hits[0].text.startswith(first), [hit.text for hit in hits[:4]]

    drive(app, talk)


def test_a_layout_is_added_and_an_option_is_gone_to(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await (await _hits(app, "raid6"))[0].command()
        await until(pilot, lambda: "raid6" in app.draft.document["layouts"])
        await (await _hits(app, "chunk md"))[0].command()
        await until(pilot, lambda: screen.query_one("#form").row.field.name == "chunk")
        await asyncio.sleep(0)

    drive(app, talk)
