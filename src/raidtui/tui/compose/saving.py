"""Keeping what was composed: saving it, and asking before it is lost.

Dialogs are opened at once by the key that asks for them, never by a task: keys typed ahead go to the dialog.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.front.problems import sentence
from raidtui.model.problem import ProblemError
from raidtui.tui.compose import files
from raidtui.tui.compose.pick import Entry, Pick
from raidtui.tui.widgets.dialog import AskText

if TYPE_CHECKING:
    from raidtui.tui.app import RaidtuiApp

Then = Callable[[], object]


def save(app: RaidtuiApp, then: Then = lambda: None) -> None:
    """Ask for a name and write the draft's scenario there; `then` is called when it was written."""
    suggested = clean(app.draft.document.get("name") or "scenario", 60)

    def named(path: str | None) -> None:
        if not path:
            return
        if Path(path).expanduser().exists():
            entries = [Entry("keep the file", "nothing is written"), Entry("replace it")]
            question = Pick(f"{clean(Path(path).name, 60)} exists already", entries)
            app.push_screen(question, lambda taken: _write(app, path, then) if taken == 1 else None)
        else:
            _write(app, path, then)

    where = f"File name. The folder is {clean(Path.cwd(), 300)} where none is given."
    app.push_screen(
        AskText("Save the scenario", where, value=f"{suggested}.json", check=files.wrong_target, yes="Save"), named
    )


def may_lose(app: RaidtuiApp, what: str, then: Then) -> None:
    """Call `then` once the draft may be replaced: asks first where it has changes that are in no file."""
    if not app.history.unsaved:
        then()
        return

    def answered(taken: int | None) -> None:
        if taken == 0:
            save(app, then)
        elif taken == 1:
            then()

    entries = [Entry("save it first"), Entry("do not save it", "what was composed is lost"), Entry("stay")]
    app.push_screen(Pick(what, entries, asked="The scenario has changes that are in no file."), answered)


def _write(app: RaidtuiApp, path: str, then: Then) -> None:
    draft = app.draft
    try:
        files.write(path, draft.document)
    except ProblemError as error:
        app.notify(sentence(error.problems[0]), severity="error", timeout=12, markup=False)
        return
    app.history.saved = draft
    app.draft_changed.publish(draft)
    app.notify(f"saved as {clean(path, 200)}", timeout=4, markup=False)
    then()
