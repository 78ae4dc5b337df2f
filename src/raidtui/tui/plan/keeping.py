"""The dialog that asks which layout is built for good, under which name and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raidtui.base.text import clean
from raidtui.model.plan import Keep, Options
from raidtui.tui.shared import SharedApp
from raidtui.tui.widgets.dialog import AskText

_ASKED = "LAYOUT NAME, and a mount point if it is not /srv/NAME. It is built like a run's, stays, and nothing is measured."


def ask_keep(app: SharedApp, layouts: Sequence[str], options: Options, then: Callable[[Options], None]) -> None:
    """Ask what to keep; `then` gets the options of a plan that builds it for good."""
    present = options.keep or Keep("data", "/srv/data")
    layout = next(iter(options.layouts), "") or next(iter(layouts), "")

    def wrong(text: str) -> str:
        words = text.split()
        if len(words) not in (2, 3):
            return "two or three words: LAYOUT NAME [MOUNT]"
        return "" if words[0] in layouts else f"there is no layout {clean(words[0], 40)}: {', '.join(layouts)}"

    def take(text: str | None) -> None:
        if text is not None:
            name, called, *mount = text.split()
            then(Options(layouts=(name,), keep=Keep(called, mount[0] if mount else f"/srv/{called}")))

    value = " ".join(filter(None, (layout, present.name, present.mount)))
    app.push_screen(AskText("Build for good", _ASKED, value=value, check=wrong, yes="Plan it"), take)
