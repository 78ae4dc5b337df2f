"""Keeping what was composed: saving it, and asking before it is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.front.words import sentence
from raidtui.model.problem import ProblemError
from raidtui.tui.compose import files
from raidtui.tui.compose.pick import Entry, Pick
from raidtui.tui.widgets.dialog import AskText

if TYPE_CHECKING:
    from raidtui.tui.app import RaidtuiApp


async def save(app: RaidtuiApp) -> bool:
    """Ask for a name and write the draft's scenario there. False where it was not saved. Runs in a worker."""
    draft = app.draft
    suggested = clean(draft.document.get("name") or "scenario", 60)
    path = await app.push_screen_wait(
        AskText("Save the scenario", f"File name. The folder is {clean(Path.cwd(), 300)} where none is given.",
                value=f"{suggested}.json", check=files.wrong_target, yes="Save")
    )  # fmt: skip
    if not path or not await _may_replace(app, path):
        return False
    try:
        files.write(path, draft.document)
    except ProblemError as error:
        app.notify(sentence(error.problems[0]), severity="error", timeout=12, markup=False)
        return False
    app.history.saved = draft
    app.notify(f"saved as {clean(path, 200)}", timeout=4, markup=False)
    return True


async def may_lose(app: RaidtuiApp, what: str) -> bool:
    """Whether the draft may be replaced: asks where it has changes that are in no file. Runs in a worker."""
    if not app.history.unsaved:
        return True
    entries = [
        Entry("save it first"),
        Entry("do not save it", "undo brings it back as long as raidtui is open"),
        Entry("stay"),
    ]
    taken = await app.push_screen_wait(Pick(what, entries, asked="The scenario has changes that are in no file."))
    if taken == 0:
        return await save(app)
    return taken == 1


async def _may_replace(app: RaidtuiApp, path: str) -> bool:
    if not Path(path).expanduser().exists():
        return True
    entries = [Entry("keep the file", "nothing is written"), Entry("replace it")]
    return await app.push_screen_wait(Pick(f"{Path(path).name} exists already", entries)) == 1
