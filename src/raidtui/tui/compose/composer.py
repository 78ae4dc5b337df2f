"""Panes of the screen Compose, and how cursor, draft, engine and preview update them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from raidtui.base.text import clean, plural
from raidtui.model.convert import plain
from raidtui.model.describe import Kinds, Preview, PreviewRequest
from raidtui.model.disk import Disk, lasting
from raidtui.model.problem import Problem, ProblemError
from raidtui.tui.compose import edit
from raidtui.tui.compose.document import Path, at, path_of, shared_steps
from raidtui.tui.compose.edit import Change
from raidtui.tui.compose.editor import Editor
from raidtui.tui.compose.figures import short
from raidtui.tui.compose.form import form
from raidtui.tui.compose.fresh import Judged, Verdicts
from raidtui.tui.compose.lists import FormList, LineList, ValueGiven, outline_line
from raidtui.tui.compose.outline import Line, outline
from raidtui.tui.compose.preview import PreviewPane, Shown
from raidtui.tui.compose.row import Form, FormRow
from raidtui.tui.draft import Draft, chosen_for
from raidtui.tui.screens.base import ModeScreen
from raidtui.tui.shared import Seen

PANES = {"outline": "#outline-pane", "form": "#form-pane", "preview": "#preview"}
"""Selector of each pane; the list or text in a pane has the pane's name as its id."""
PAUSE_S: Final = 0.15
"""Delay in seconds after a draft's last change before the engine is asked."""
_EMPTY = """\
This scenario is empty.

  1  to Disks: select some, press r for a role
  l  a layout over them, such as raid5
  w  a workload to measure it with

or start from an existing one:

  n  a shipped scenario, or a result
  o  a file\
"""


class OutlineList(LineList):
    """The scenario's lines."""

    HELP = """\
## The scenario

Roles stand for disks, layouts are layers over roles, every layout is measured with every workload. The form and the
preview show the entry under the cursor. **r**, **l** and **w** add; **t** and **b** put a layer on top of the one under the
cursor or below it; **d** copies an entry; **x** removes it; **u** undoes. **h** adds hosts that load
what the server exports.
"""


class Composer(ModeScreen):
    """State and panes of the screen Compose; the subclass has the actions."""

    MODE = "compose"
    DEFAULT_CSS = """
    #compose-panes { height: 1fr; }
    #compose-panes > .pane { width: 1fr; height: 1fr; }
    #compose-panes > #outline-pane { width: 5fr; }
    #outline.-short { height: auto; }
    #first { height: auto; margin: 1 0 1 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    #compose-panes > #form-pane { width: 6fr; }
    #compose-panes > #preview { width: 7fr; }
    Composer.-narrow #compose-panes > .pane { display: none; width: 1fr; }
    Composer.-narrow #compose-panes > .-here { display: block; }
    Composer PreviewPane.-old Static, Composer PreviewPane.-old LineList { text-style: dim; }
    Composer.-tall Editor { height: 16; }
    Composer.-tall Editor > VerticalScroll { max-height: 7; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.kinds: Kinds | None = None
        self.verdicts = Verdicts()
        self.preview: Preview | None = None
        """The engine's answer for the draft, or the part of an earlier one that still holds."""
        self.checking = True
        """True while that is not the answer to this very draft."""
        self.lost: tuple[Problem, ...] = ()
        """Problems that prevented a newer preview."""
        self.pending: Draft | None = None
        """Draft with the text being typed; None if nothing is typed."""
        self.here: Path = ()
        """Path of the outline's line under the cursor."""
        self.pane = "outline"
        self._lines: list[Line] = []
        self.previewing = False
        """True while the engine is asked for a preview."""
        self._wanted = 0
        """Number of wanted previews so far; detects stale answers."""
        self._keys: tuple[object, ...] = ()
        self._asked_of: tuple[Disk, ...] = ()
        """Disks that verdicts are about."""

    def body(self) -> ComposeResult:
        with Horizontal(id="compose-panes"):
            with Vertical(id="outline-pane", classes="pane"):
                yield OutlineList(id="outline")
                yield Static(_EMPTY, id="first", markup=False)
            with Vertical(id="form-pane", classes="pane"):
                yield FormList(id="form")
                yield Editor(self._name_error)
            yield PreviewPane(id="preview")

    def on_mount(self) -> None:
        app = self.raidtui
        self._asked_of = lasting(app.every_disk)
        app.draft_changed.subscribe(self, lambda _: self._draft_changed())
        app.disks_changed.subscribe(self, lambda _: self._disks_changed())
        app.link_changed.subscribe(self, lambda _: self._ask_kinds())
        self.show_pane("outline")
        self.query_one("#outline").focus()
        self._ask_kinds()
        self._draft_changed()

    @property
    def seen(self) -> Seen | None:
        return self.raidtui.disks_seen

    def take_pending(self) -> None:
        if self.pending is not None:
            self.raidtui.change_draft(self.pending, "type a value")
            self.pending = None

    @property
    def working(self) -> Draft:
        return self.pending or self.raidtui.draft

    @property
    def disks(self) -> Mapping[str, Disk] | None:
        """Present disks by id, also those seen of other hosts; None if they are unknown yet."""
        return None if self.raidtui.disks is None else {disk.id: disk for disk in self.raidtui.every_disk}

    @property
    def line(self) -> Line | None:
        return next((line for line in self._lines if line.path == self.here), None)

    def _ask_kinds(self) -> None:
        if self.raidtui.link_state.up:
            self.run_worker(self._take_kinds(), group="kinds", exclusive=True)

    async def _take_kinds(self) -> None:
        try:
            self.kinds = await self.raidtui.link.call("describe", None, Kinds)
        except ProblemError as error:
            self._not_answered(error.problems)
        else:
            self._draft_changed()

    def _request_preview(self) -> None:
        self._wanted += 1
        if self.kinds is not None and not self.previewing:
            self.run_worker(self._take_previews(), group="preview", exclusive=True)

    async def _take_previews(self) -> None:
        """Ask for a preview of the draft, again if it changed meanwhile; one request at a time."""
        self.previewing = True
        try:
            asked = 0
            while asked != self._wanted:
                asked = self._wanted
                await asyncio.sleep(PAUSE_S)
                if asked == self._wanted:
                    await self._take_preview(asked)
        finally:
            self.previewing = False

    async def _take_preview(self, asked: int) -> None:
        draft, disks = self.working, self._asked_of
        document = json.dumps(draft.document, ensure_ascii=False)
        request = PreviewRequest(document, dict(draft.bind), there=self.raidtui.disks_there)
        try:
            found = await self.raidtui.link.call("preview", plain(request), Preview)
        except ProblemError as error:
            if asked == self._wanted:
                self._not_answered(error.problems)
        else:
            if asked == self._wanted:
                self.lost = ()
                self.verdicts.take(Judged(found, draft, disks, self.raidtui.history.lineage))
                self.show_all()

    def _not_answered(self, problems: tuple[Problem, ...]) -> None:
        self.lost = problems
        self.show_all()

    def _disks_changed(self) -> None:
        """Preview again if a disk or its use changed, not if only its temperature did."""
        if (disks := lasting(self.raidtui.every_disk)) != self._asked_of:
            self._asked_of = disks
            self._draft_changed()

    def _draft_changed(self) -> None:
        self.show_all()
        self._request_preview()

    def show_all(self) -> None:
        """Update all panes; only changed parts are redrawn."""
        # An answer may arrive before the panes exist or while they are removed.
        if len(self.query("#outline, #form, #stack")) < 3:
            return
        self._look_up()
        self._show_outline()
        self._show_form()
        self._show_preview()
        self._refresh_keys()

    def _look_up(self) -> None:
        """Find what the engine said of the draft as it is now."""
        self.preview, fresh = self.verdicts.of(self.working, self._asked_of, self.raidtui.history.lineage)
        self.checking = not fresh
        self.query_one("#preview").set_class(self.checking, "-old")

    def _refresh_keys(self) -> None:
        history, line = self.raidtui.history, self.line
        wrong = bool(self.preview and self.preview.problems)
        now = (line.what if line else "", history.can_undo, history.can_redo, wrong)
        if now != self._keys:
            self._keys = now
            self.refresh_bindings()

    def _show_outline(self) -> None:
        listed = self.query_one("#outline", OutlineList)
        self._lines = outline(self.working, self.kinds, self.preview, self.disks)
        width = max(20, listed.line_width or 76)
        paths = [line.path for line in self._lines]
        if self.here not in paths:
            self.here = max(paths, key=lambda path: (shared_steps(path, self.here), -len(path)))
        with listed.prevent(OptionList.OptionHighlighted):
            listed.show(paths, [outline_line(line, width, old=self.checking) for line in self._lines])
            listed.go(self.here)
        pane = self.query_one("#outline-pane")
        unsaved = " · not saved" if self.raidtui.history.unsaved else ""
        pane.border_title = Content(f"Scenario{unsaved}{self._age_words()}")
        pane.border_subtitle = self._pane_hint("outline")

    def _age_words(self) -> str:
        """Return what is said of verdicts that are not of this very draft."""
        if not self.checking or self._is_empty():
            return ""
        return " · not checked" if self.lost else " · checking…"

    def _is_empty(self) -> bool:
        return not any(self.working.document.get(section) for section in ("roles", "layouts", "workloads"))

    def _show_form(self) -> None:
        self._look_up()
        made = self.form
        pane, listed = self.query_one("#form-pane"), self.query_one("#form", FormList)
        pane.border_title = Content(made.title)
        listed.show_form(made, old=self.checking)
        self._show_option()
        pane.border_subtitle = self._pane_hint("form", self._figures_hint())

    def _show_option(self) -> None:
        self.query_one(Editor).show(self.query_one("#form", FormList).row, self._role_notes())

    def _show_preview(self) -> None:
        nothing = self._is_empty()
        shown = Shown(self.preview, self.here, self.disks, self.working.document, self.working.bind, self.lost, nothing,
                      self._age_words())  # fmt: skip
        self.query_one("#first").display = nothing
        self.query_one("#outline").set_class(nothing, "-short")
        self.query_one(PreviewPane).show(shown)
        self.query_one(PreviewPane).border_subtitle = self._pane_hint("preview")

    @property
    def form(self) -> Form:
        line = self.line
        return form(self.working.document, line.form if line else (), self.kinds, self.preview)

    def _figures_hint(self) -> str:
        """Return the figures of the layout under the cursor, if its preview is on a hidden pane."""
        if not self.has_class("-narrow") or self.preview is None or self.here[:1] != ("layouts",) or len(self.here) < 2:
            return ""
        view = next((view for view in self.preview.layouts if view.name == self.here[1]), None)
        return short(view) if view else ""

    def _pane_hint(self, pane: str, more: str = "") -> Content | None:
        """Return the pane's number and key hint, if only one pane is shown."""
        if not self.has_class("-narrow"):
            return None
        return Content(f"{more + ' · ' if more else ''}{list(PANES).index(pane) + 1} of 3 · tab: next")

    def _role_notes(self) -> dict[str, str]:
        found = at(self.working.document, ("roles",), {})
        notes = {}
        for name, role in found.items():
            count = at(role, ("count",), None)
            chosen = len(chosen_for(self.working, name))
            notes[str(name)] = f"{plural(count, 'disk') if isinstance(count, int) else '? disks'}" + (
                f", {chosen} chosen" if chosen else ", not chosen"
            )
        return notes

    def go(self, path: Path) -> None:
        """Put the outline's cursor on `path`, or on the nearest line above it."""
        self.here = path
        self.show_all()

    def show_pane(self, name: str) -> None:
        """Show this pane if there is room for one only."""
        self.pane = name
        for pane, widget in PANES.items():
            self.query_one(widget).set_class(pane == name, "-here")

    def focus_pane(self, name: str) -> None:
        self.show_pane(name)
        self.query_one(f"#{name}").focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        widget: Widget = event.widget
        for name, pane in PANES.items():
            if self.query_one(pane) in widget.ancestors_with_self and name != self.pane:
                self.show_pane(name)

    @on(LineList.WidthChanged)
    def _widened(self, message: LineList.WidthChanged) -> None:
        message.stop()
        self.show_all()

    @on(OptionList.OptionHighlighted, "#outline")
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        path = self.query_one("#outline", OutlineList).key
        if path is not None and path != self.here:
            self.here = path
            self._show_form()
            self._show_preview()
            self._refresh_keys()

    @on(OptionList.OptionSelected, "#outline")
    def _entered(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.focus_pane("form" if self.form.rows else "outline")

    @on(OptionList.OptionHighlighted, "#form")
    def _form_moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_option()

    @on(PreviewPane.Asked)
    def _asked(self, message: PreviewPane.Asked) -> None:
        self.go_to_problem(message.problem)

    def go_to_problem(self, problem: Problem) -> None:
        """Move the cursor to the option of a problem, or to the nearest line."""
        place = path_of(self.working.document, problem.place)
        fitting = [line.path for line in self._lines if place[: len(line.path)] == line.path]
        self.go(max(fitting, key=len, default=()))
        self.query_one("#form", FormList).go_to(place)
        self.focus_pane("form" if self.form.rows else "outline")

    def take(self, change: Change, *, anew: bool = False) -> None:
        """Apply a change to the draft, and move the cursor to it. `anew`: the new draft is no edit of the one before."""
        self.pending = None
        self.here = change.path
        self.raidtui.change_draft(change.draft, change.what, anew=anew)
        self.show_all()

    def _name_error(self, row: FormRow, name: str) -> str:
        return clean(edit.name_error(self.raidtui.draft, (*row.path[:1], name)), 200)

    @on(Editor.Typed)
    def _typed(self, message: Editor.Typed) -> None:
        self.pending = edit.set_value(self.raidtui.draft, message.row.path, message.value).draft
        self.show_all()
        self._request_preview()

    @on(ValueGiven)
    def _given(self, message: ValueGiven) -> None:
        row, here = message.row, self.here
        self.pending = None
        made = edit.give(self.raidtui.draft, row, message.value)
        self.take(made if row.renames else made._replace(path=here))
        if row.field.type in ("choice", "switch", "devices") and not message.stay and not row.field.many:
            self.query_one("#form").focus()

    @on(Editor.Abandoned)
    def _abandoned(self) -> None:
        self.pending = None
        self.query_one("#form").focus()
        self._draft_changed()

    @on(Editor.Stepped)
    def _stepped(self, message: Editor.Stepped) -> None:
        listed = self.query_one("#form", FormList)
        listed.focus()
        listed.step(message.by)

    @on(OptionList.OptionSelected, "#form")
    def _option_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if not self.query_one("#form", FormList).enter():
            self.query_one(Editor).begin()

    def action_to_outline(self) -> None:
        self.focus_pane("outline")
