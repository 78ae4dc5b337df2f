"""Pictures of the screens: SVG files beside the tests, compared as text. RAIDTUI_WRITE_GOLDEN=1 makes them anew."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

FOLDER = Path(__file__).parent / "pictures"


def picture(app: App[Any], title: str = "raidtui") -> str:
    """The screen as it is, without what differs from one taking to the next, and without links to fonts elsewhere."""
    svg = app.export_screenshot(title=title, simplify=True)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)


async def same_picture(pilot: Pilot[Any], name: str, patience_s: float = 10.0) -> None:
    """Wait until the screen is as in `pictures/NAME.svg`. When it never is, the picture is left in `pictures/NAME.new.svg`.

    What is drawn late, on a machine with other work to do, is drawn all the same.
    """
    path = FOLDER / f"{name}.svg"
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        await pilot.pause(1.0)
        FOLDER.mkdir(exist_ok=True)
        path.write_text(picture(pilot.app))
        return
    fresh = path.with_suffix(".new.svg")
    expected = path.read_text() if path.exists() else ""
    deadline = asyncio.get_running_loop().time() + patience_s
    while (now := picture(pilot.app)) != expected:
        if asyncio.get_running_loop().time() > deadline:
            fresh.write_text(now)
            raise AssertionError(f"the screen does not look like {path.name}; it looks like {fresh.name}")
        await pilot.pause(0.1)
    fresh.unlink(missing_ok=True)
