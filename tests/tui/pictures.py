"""Pictures of the screens: SVG files beside the tests, compared as text. RAIDTUI_WRITE_GOLDEN=1 makes them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from textual.app import App

FOLDER = Path(__file__).parent / "pictures"


def picture(app: App[Any], title: str = "raidtui") -> str:
    """The screen as it is, without what differs from one taking to the next, and without links to fonts elsewhere."""
    svg = app.export_screenshot(title=title, simplify=True)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)


def same_picture(app: App[Any], name: str) -> None:
    """Fails when the screen is not as in `pictures/NAME.svg`; the new picture is then in `pictures/NAME.new.svg`."""
    path = FOLDER / f"{name}.svg"
    now = picture(app)
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(now)
        return
    fresh = path.with_suffix(".new.svg")
    if not path.exists() or path.read_text() != now:
        fresh.write_text(now)
        raise AssertionError(f"the screen does not look like {path.name}; it looks like {fresh.name}")
    fresh.unlink(missing_ok=True)
