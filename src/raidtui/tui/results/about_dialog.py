"""Dialog: name, note and tags of a result."""

from __future__ import annotations

from msgspec import structs
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from raidtui.front.about import About
from raidtui.tui.widgets.dialog import Dialog

_FIELDS = {"name": "Name (empty: the scenario's)", "note": "Note", "tags": "Tags, with blanks between them"}


class AboutDialog(Dialog[About]):
    """Asks for name, note and tags of a result."""

    HELP = """\
## About a result

A name to show in place of the scenario's, a note, and tags. Searches find the result by each of them. **enter** takes all
three, **tab** goes to the next one, escape leaves without a change.
"""

    def __init__(self, about: About) -> None:
        super().__init__("About this result", hint="enter: take it · tab: next · esc: leave")
        self._about = about

    def questions(self) -> ComposeResult:
        values = {"name": self._about.name, "note": self._about.note, "tags": " ".join(self._about.tags)}
        for field, title in _FIELDS.items():
            yield Static(title)
            yield Input(values[field], id=field, select_on_focus=False, compact=True, max_length=2000)

    def on_mount(self) -> None:
        self.query_one("#name", Input).focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.agree()

    def agree(self) -> None:
        name, note, tags = (self.query_one(f"#{field}", Input).value.strip() for field in _FIELDS)
        self.dismiss(structs.replace(self._about, name=name, note=note, tags=tuple(dict.fromkeys(tags.split()))))
