"""Driving the application in a test: `drive(app, …)` runs one conversation with it to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

SMALL = (80, 24)
LARGE = (200, 60)


def drive(app: App[Any], talk: Callable[[Pilot[Any]], Awaitable[None]], size: tuple[int, int] = SMALL) -> None:
    """Start the application on a terminal of this size, let `talk` press its keys, and end it."""

    async def whole() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await talk(pilot)

    asyncio.run(whole())


async def until(pilot: Pilot[Any], holds: Callable[[], object], patience_s: float = 20.0) -> None:
    """Wait until something is so; fails when it never is."""
    deadline = asyncio.get_running_loop().time() + patience_s
    while not holds():
        assert asyncio.get_running_loop().time() < deadline, "it never came to be"
        await pilot.pause(0.02)
    await pilot.pause()
