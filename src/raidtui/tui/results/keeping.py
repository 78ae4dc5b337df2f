"""Actions of the screen Results on kept files: describe, pin, delete, and bring back."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from msgspec import structs
from textual.binding import Binding, BindingType

from raidtui.base.text import clean, plural
from raidtui.front.about import About, bring_back, delete
from raidtui.front.phrases import sentence
from raidtui.model.problem import ProblemError
from raidtui.tui.results.about_dialog import AboutDialog
from raidtui.tui.results.library import Entry
from raidtui.tui.results.library_pane import LibraryPane
from raidtui.tui.run.dialogs import Confirm
from raidtui.tui.screens.base import ModeScreen


class Keeping(ModeScreen):
    """A screen with a library of results. The subclass says which entry is meant, and takes a deleted one away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d,delete", "delete", "Delete", id="results.delete", show=False,
                tooltip="Delete a file of the results folder; u brings it back"),
        Binding("u", "bring_back", "Undo", id="results.undo", tooltip="Bring back what was deleted last", show=False),
        Binding("m", "about", "Describe", id="results.about", tooltip="Name, note and tags of the result", show=False),
        Binding("P", "pin", "Pin", id="results.pin", tooltip="List it first, or by its date again", show=False),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._deleted: list[str] = []
        """Names of the files deleted here."""

    @property
    def here(self) -> Entry | None:
        """Entry that keys act on."""
        raise NotImplementedError

    @property
    def library(self) -> LibraryPane:
        return self.query_one(LibraryPane)

    def gone(self, entry: Entry) -> None:
        """The file of an entry was deleted."""
        raise NotImplementedError

    def may_keep(self, action: str, here: Entry | None) -> bool:
        """Return True if an action is possible: on files of the results folder, `delete` on those whose run has ended."""
        if here is None or here.path is None:
            return False
        kept = here.path.parent == self.library.folder and here.path.suffix == ".json"
        return kept and (action != "delete" or here.state != "running")

    def action_delete(self) -> None:
        entry = self.here
        if entry is not None and self.may_keep("delete", entry):
            words = f"{entry.scenario or 'It'}, {plural(entry.cells, 'cell')}, began {entry.started[:16].replace('T', ' ')}"
            asked = f"{words}\n\n{clean(entry.path, 400)}\n\nu brings it back for 30 days. A run on the server stays there."
            dialog = Confirm("Delete a result file", asked, yes="Delete", no="Keep")
            self.app.push_screen(dialog, partial(self._delete, entry))

    def _delete(self, entry: Entry, agreed: bool | None) -> None:
        if not agreed or entry.path is None:
            return
        try:
            self._deleted.append(delete(entry.path).name)
        except ProblemError as error:
            self.warn(error)
        else:
            self.gone(entry)

    def action_bring_back(self) -> None:
        try:
            back = bring_back(self._deleted[-1] if self._deleted else "")
        except ProblemError as error:
            self.warn(error)
            return
        self._deleted = self._deleted[:-1]
        self.notify(f"{clean(back.name, 100)} is back", timeout=4, markup=False)
        self.library.reload()

    def action_about(self) -> None:
        if (entry := self.here) is not None:
            self.app.push_screen(AboutDialog(entry.about), partial(self._say, entry))

    def action_pin(self) -> None:
        if (entry := self.here) is not None:
            self._say(entry, structs.replace(entry.about, pinned=not entry.about.pinned))

    def _say(self, entry: Entry, about: About | None) -> None:
        if about is None:
            return
        try:
            self.library.say(entry, about)
        except ProblemError as error:
            self.warn(error)

    def warn(self, error: ProblemError) -> None:
        self.notify(sentence(error.problems[0]), severity="warning", timeout=10, markup=False)
