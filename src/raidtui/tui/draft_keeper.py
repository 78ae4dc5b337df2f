"""The draft on disk while it is edited, and the question at the next start about one that was never saved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean, plural
from raidtui.tui.draft import Draft

if TYPE_CHECKING:
    from raidtui.front.kept import Kept, UnsavedDraft
    from raidtui.tui.shared import SharedApp

_PAUSE_S: Final = 0.3
"""Delay after a change of the draft until it is written."""


class DraftKeeper:
    """Writes the application's draft after each change until it is saved."""

    def __init__(self, app: SharedApp) -> None:
        self._app = app
        self._file: UnsavedDraft | None = None
        self._late = False
        """True if the file is older than the draft."""

    def changed(self) -> None:
        """The draft changed, or was saved."""
        if not self._app.history.unsaved:
            self.forget()
            return
        self._late = True
        self._app.run_worker(self._write_soon(), group="draft", exclusive=True)

    async def _write_soon(self) -> None:
        await asyncio.sleep(_PAUSE_S)
        await asyncio.to_thread(self.write)

    def write(self) -> None:
        """Write the draft if the file is older."""
        from raidtui.front.kept import UnsavedDraft

        if not self._late:
            return
        self._late = False
        draft = self._app.draft
        self._file = self._file or UnsavedDraft()
        try:
            self._file.keep(draft.document, draft.bind)
        except OSError as error:
            words = f"the draft cannot be kept: {clean(error.strerror or error, 200)}. Save it with s on Compose."
            self._app.call_later(self._app.notify, words, severity="warning", timeout=12, markup=False)

    def forget(self) -> None:
        """Remove the file: the draft was saved, or is not wanted."""
        self._late = False
        if self._file is not None:
            self._file.forget()

    def offer(self) -> None:
        """Ask about drafts that earlier sessions left unsaved, if there are any."""
        from raidtui.front.kept import left_drafts

        try:
            left = left_drafts()
        except OSError:
            return
        if left:
            self._ask(left)

    def _ask(self, left: list[Kept]) -> None:
        from raidtui.front.kept import discard
        from raidtui.tui.compose.pick import Entry, Pick

        def answered(taken: int | None) -> None:
            if taken is None or taken == len(left):
                return
            if taken > len(left):
                for kept in left:
                    discard(kept.path)
                return
            self._go_on(left[taken])

        entries = [Entry(f"go on with {_name(kept)}", f"{kept.when}, {_size(kept)}") for kept in left]
        entries += [Entry("not now", "it is offered again at the next start"), Entry("discard", "the changes are lost")]
        asked = "raidtui ended before this scenario was saved." if len(left) == 1 else "These were never saved."
        self._app.push_screen(Pick("Unsaved scenario", entries, asked=asked), answered)

    def _go_on(self, kept: Kept) -> None:
        from raidtui.front.kept import discard

        draft = Draft(kept.scenario.document, kept.scenario.bind)
        self._app.change_draft(draft, f"go on with {_name(kept)}", anew=True)
        self.write()
        discard(kept.path)
        self._app.call_later(self._app.switch_mode, "compose")


def _name(kept: Kept) -> str:
    return clean(kept.scenario.document.get("name") or "a scenario without a name", 60)


def _size(kept: Kept) -> str:
    layouts = kept.scenario.document.get("layouts")
    return plural(len(layouts) if isinstance(layouts, dict) else 0, "layout")
