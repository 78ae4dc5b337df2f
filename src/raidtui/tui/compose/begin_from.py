"""Dialog to choose what a draft begins from, in which scenarios of the library can be deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from raidtui.base.text import clean
from raidtui.front.kept import bring_back_kept, delete_kept
from raidtui.front.phrases import sentence
from raidtui.model.problem import ProblemError
from raidtui.tui.compose.files import beginnings
from raidtui.tui.compose.pick import Entry, Pick


class BeginFrom(Pick):
    """Dialog that answers the number of the chosen beginning in `found`, or None."""

    HELP = """\
## What to begin from

Type a part of the name; **up** and **down** move through the matches, **enter** chooses one, **escape** cancels.
**delete** takes a scenario out of the library, after a question; **ctrl+z** brings back what was deleted last, for 30 days.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        # The text input takes `delete` for itself if it has a character to delete.
        Binding("delete", "delete", "Delete", id="begin.delete", priority=True, show=False,
                tooltip="Delete a scenario of the library; ctrl+z brings it back"),
        Binding("ctrl+z", "bring_back", "Undo", id="begin.undo", show=False,
                tooltip="Bring back the scenario of the library that was deleted last"),
    ]  # fmt: skip

    def __init__(self) -> None:
        self.found = list(beginnings())
        keys = "enter: take it · del: delete · ctrl+z: undo · esc: leave"
        super().__init__("Begin from", self._entries_found(), hint=keys)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "delete":
            return True
        search, number = self.query_one("#search", Input), self.number
        in_text = search.has_focus and search.cursor_position < len(search.value)
        return not in_text and number is not None and self.found[number].in_library

    def action_delete(self) -> None:
        if (number := self.number) is not None:
            one = self.found[number]
            entries = [Entry("keep it"), Entry("delete it", "ctrl+z brings it back for 30 days")]
            question = Pick("Delete from the library", entries, asked=f"{clean(one.words, 100)}, {one.note}")
            self.app.push_screen(question, partial(self._delete, Path(one.name)))

    def _delete(self, path: Path, taken: int | None) -> None:
        if taken == 1:
            try:
                delete_kept(path)
            except ProblemError as error:
                self._warn(error)
            self._look_again()

    def action_bring_back(self) -> None:
        try:
            back = bring_back_kept()
        except ProblemError as error:
            self._warn(error)
        else:
            self.notify(f"{clean(back.stem, 60)} is back", timeout=4, markup=False)
            self._look_again()

    def _look_again(self) -> None:
        self.found = list(beginnings())
        self.renew(self._entries_found())

    def _entries_found(self) -> list[Entry]:
        return [Entry(one.words, one.note) for one in self.found]

    def _warn(self, error: ProblemError) -> None:
        self.notify(sentence(error.problems[0]), severity="warning", timeout=10, markup=False)
