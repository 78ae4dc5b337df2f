"""The screen Compose: the actions on the draft."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any, ClassVar, TypeVar

from textual.binding import Binding, BindingType

from raidtui.base.text import clean
from raidtui.front.files import typed_path
from raidtui.front.phrases import sentence
from raidtui.model.describe import Kind, Kinds, Preset
from raidtui.model.problem import Problem, ProblemError
from raidtui.tui.compose import edit, files, fill
from raidtui.tui.compose.begin_from import BeginFrom
from raidtui.tui.compose.composer import PANES, Composer
from raidtui.tui.compose.document import Layer, Path, at, layer_at, main_input, one_of
from raidtui.tui.compose.edit import Change, KindOffer, layer_offers, load_offers, takes_layer
from raidtui.tui.compose.editor import Editor
from raidtui.tui.compose.files import confirm_unsaved, save
from raidtui.tui.compose.lists import FormList, ObjectWanted
from raidtui.tui.compose.pick import Entry, Pick
from raidtui.tui.compose.preview import PreviewPane
from raidtui.tui.compose.usual import LAYERS
from raidtui.tui.compose.value_text import names_of
from raidtui.tui.draft import USUAL_ROLES, role_names
from raidtui.tui.widgets.dialog import AskText, Dialog, Offer

Answer = TypeVar("Answer")

_ENTRY = ("role", "layout", "workload")
_NAMED = (*_ENTRY, "host")
_IN_STACK = ("layout", "layer", "input")


class ComposeScreen(Composer):
    """Outline, form and preview of one scenario, and every way to change it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New", id="compose.new", tooltip="Begin anew: empty, a shipped scenario, or a result"),
        Binding("r", "add_role", "Role", id="compose.role", tooltip="Add a role: a name that stands for some disks"),
        Binding("l", "add_layout", "Layout", id="compose.layout", tooltip="Add a layout by its lowest layer"),
        Binding("w", "add_workload", "Workload", id="compose.workload", tooltip="Add a workload, from a preset or free"),
        Binding("d", "duplicate", "Copy", id="compose.duplicate", tooltip="Duplicate what is here, to change it"),
        Binding("x", "remove", "Remove", id="compose.remove", tooltip="Take away what is under the cursor"),
        Binding("u,ctrl+z", "undo", "Undo", id="compose.undo", tooltip="Undo the last change"),
        Binding("s,ctrl+s", "save", "Save", id="compose.save", tooltip="Save the scenario as a JSON file"),
        Binding("k", "keep", "Keep", id="compose.keep", show=False,
                tooltip="Keep the scenario and its disks in the library; n begins from it"),
        Binding("p", "app.switch_mode('plan')", "Plan", id="compose.plan", tooltip="Go on to the plan"),
        Binding("h", "add_hosts", "Hosts", id="compose.hosts", show=False,
                tooltip="Add a group of hosts that load what the storage server exports"),
        Binding("t", "on_top", "Layer on top", id="compose.top", tooltip="Put a layer on the one here", show=False),
        Binding("b", "below", "Layer below", id="compose.below", tooltip="Put a layer below the one here", show=False),
        Binding("R", "rename", "Rename", id="compose.rename", tooltip="Give it another name", show=False),
        Binding("shift+up,K", "move(-1)", "Move up", id="compose.up", tooltip="Move it up", show=False),
        Binding("shift+down,J", "move(1)", "Move down", id="compose.down", tooltip="Move it down", show=False),
        Binding("ctrl+y,U", "redo", "Redo", id="compose.redo", tooltip="Do again what was undone", show=False),
        Binding("o", "open", "Open", id="compose.open", tooltip="Open a scenario or result file", show=False),
        Binding("e", "problem", "Next problem", id="compose.problem", tooltip="Go to the next problem's place", show=False),
        Binding("c", "copy", "Copy commands", id="compose.copy", tooltip="Copy the commands to the clipboard", show=False),
        Binding("slash", "find_option", "Find option", id="compose.find", show=False,
                tooltip="Find an option of what is here by its name, value or description"),
        Binding("f", "fill", "Fill", id="compose.fill", show=False,
                tooltip="Fill the role here with free disks, or all roles"),
        Binding("v", "exact", "Exact commands", id="compose.exact", show=False,
                tooltip="Show the commands word by word as they will run, or without LVM's settings"),
        Binding("g", "app.switch_mode('disks')", "Choose disks", id="compose.disks", show=False,
                tooltip="Go to Disks and choose some"),
        Binding("tab", "pane(1)", "Pane", id="compose.next", tooltip="To the next pane"),
        Binding("shift+tab", "pane(-1)", "Pane before", id="compose.before", tooltip="To the pane before", show=False),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._problem: Problem | None = None
        """Problem that was visited last."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey actions that are not allowed for the line under the cursor."""
        what = self.line.what if self.line else "scenario"
        history = self.raidtui.history
        allowed = {
            "duplicate": what in _NAMED,
            "rename": what in _NAMED,
            "move": what in _ENTRY,
            "remove": what not in ("scenario", "section", "policy"),
            "on_top": what in _IN_STACK,
            "below": what in _IN_STACK,
            "problem": bool(self.preview and self.preview.problems),
            "undo": history.can_undo,
            "redo": history.can_redo,
        }
        return True if allowed.get(action, True) else None

    def action_pane(self, by: int) -> None:
        panes = list(PANES)
        self.focus_pane(panes[(panes.index(self.pane) + by) % len(panes)])

    def action_problem(self) -> None:
        """Go to the place of a problem; pressed again, to the next problem."""
        problems = self.query_one(PreviewPane).problems
        if problems:
            last = problems.index(self._problem) if self._problem in problems else -1
            self._problem = problems[(last + 1) % len(problems)]
            self.go_to_problem(self._problem)

    def action_find_option(self) -> None:
        rows = [row for row in self.form.rows if not row.heading]
        if not rows:
            self.notify("there are no options here", timeout=3)
            return
        entries = [Entry(".".join(map(str, row.path[len(self.line.form) if self.line else 0 :])) or row.field.name,
                         row.shown or "–", " ".join((row.field.help, *names_of(row.field)))) for row in rows]  # fmt: skip
        self._ask(Pick("Find an option", entries, yes="Go"), lambda taken: self._to_option(rows[taken].path))

    def _to_option(self, path: Path) -> None:
        self.focus_pane("form")
        self.query_one("#form", FormList).go_to(path)

    def action_fill(self) -> None:
        """Fill the role under the cursor, or every role that lacks disks."""
        draft, disks = self.raidtui.draft, self.disks
        short = fill.short_roles(draft)
        here = [str(self.here[1])] if self.here[:1] in (("roles",), ("bind",)) and len(self.here) > 1 else []
        roles = [name for name in here if name in short] or list(short)
        if disks is None or not roles:
            self.notify("the disks are not known yet" if disks is None else "every role has its disks", timeout=4)
            return
        made, lacking = fill.filled(draft, list(disks.values()), roles)
        self.take(Change(made, f"fill {', '.join(roles)}", self.here))
        for words in fill.words(lacking):
            self.notify(clean(words, 200), severity="warning", timeout=6, markup=False)

    def action_exact(self) -> None:
        self.query_one(PreviewPane).action_exact()

    def action_copy(self) -> None:
        self.query_one(PreviewPane).action_copy()

    def action_add_role(self) -> None:
        draft = self.raidtui.draft
        usual = next((name for name in USUAL_ROLES if name not in role_names(draft)), "data")
        name = edit.free_name(draft, "roles", usual)
        asked = "Name of the role. Its disks are chosen on the screen Disks."
        dialog = AskText("New role", asked, value=name, check=lambda text: edit.name_error(draft, ("roles", text)))
        self._ask(dialog, lambda wanted: self.change(lambda: edit.add_role(self.raidtui.draft, wanted)))

    def action_add_hosts(self) -> None:
        draft = self.raidtui.draft
        asked = "Name of the group. Choose it as `to` of an export (nvmeof, iscsi); the screen Plan asks for addresses."
        name = edit.free_name(draft, "hosts", "clients")
        dialog = AskText("New hosts", asked, value=name, check=lambda text: edit.name_error(draft, ("hosts", text)))
        self._ask(dialog, lambda wanted: self.change(lambda: edit.add_hosts(self.raidtui.draft, wanted)))

    def action_add_layout(self) -> None:
        self._add_layer(
            "New layout: its lowest layer",
            takes_layer,
            lambda offer: edit.add_layout(self.raidtui.draft, offer.kind, offer.given, offer.words),
        )

    def action_on_top(self) -> None:
        path = self._layer_here()
        if path is not None:
            self._add_layer(
                f"On top of {path[-1]}",
                takes_layer,
                lambda offer: edit.put_on_top(self.raidtui.draft, path, offer.kind, offer.given),
            )

    def action_below(self) -> None:
        path, line = self._layer_here(), self.line
        if path is not None and line is not None:
            self._below(line.path if line.what == "input" else main_input(self.kinds, self._layer(path)))

    def _below(self, into: Path) -> None:
        self._add_layer(
            f"A layer below, as {into[-1]}",
            lambda kind: kind.offers == "block",
            lambda offer: edit.put_below(self.raidtui.draft, into, offer.kind, offer.given),
        )

    def on_editor_layer_wanted(self, message: Editor.LayerWanted) -> None:
        self._below(message.row.path)

    def on_object_wanted(self, message: ObjectWanted) -> None:
        """Add an object; where it may be of several kinds, such as a vdev, ask for the kind."""
        row, here = message.row, self.here
        kinds = one_of(row.field.fields)

        def add(given: Mapping[str, Any]) -> Change:
            return edit.add_object(self.raidtui.draft, row.path, row.field, given)

        def show(made: Change) -> Change:
            self.query_one("#form", FormList).opened.add(made.path)
            return made._replace(path=here)

        if not kinds:
            self.change(lambda: show(add({})))
            return
        entries = [Entry(kind.name, kind.help, kind.name) for kind in kinds]
        dialog = Pick(f"One more of {row.field.name}", entries, yes="Add")
        self._ask(dialog, lambda taken: self.change(lambda: show(add({kinds[taken].name: edit.BELOW}))))

    def _add_layer(self, title: str, fits: Callable[[Kind], bool], change: Callable[[KindOffer], Change]) -> None:
        if (known := self._known_kinds()) is None:
            return
        offers = layer_offers(known, fits)
        dialog = Pick(title, [layer_entry(offer) for offer in offers])
        self._ask(dialog, lambda taken: self.change(lambda: change(offers[taken])))

    def action_add_workload(self) -> None:
        if (known := self._known_kinds()) is None:
            return
        offers = load_offers(known)
        dialog = Pick("New workload", [
            Entry(offer.title, offer.name) if isinstance(offer, Preset) else Entry(f"free: {offer.words}", offer.kind.title)
            for offer in offers
        ])  # fmt: skip
        self._ask(dialog, lambda taken: self._add_load(offers[taken]))

    def _add_load(self, offer: Preset | KindOffer) -> None:
        draft = self.raidtui.draft
        if isinstance(offer, Preset):
            self.change(lambda: edit.add_preset(draft, offer))
        else:
            self.change(lambda: edit.add_workload(draft, offer.kind, offer.given))

    def action_duplicate(self) -> None:
        self.change(lambda: edit.duplicate(self.raidtui.draft, self.here))
        self.focus_pane("form")

    def action_move(self, by: int) -> None:
        self.change(lambda: edit.move(self.raidtui.draft, self.here, by))

    def action_rename(self) -> None:
        path, draft, old = self.here, self.raidtui.draft, str(self.here[1])
        asked = "New name. References to it change as well."
        dialog = AskText(f"Rename {old}", asked, value=old,
                         check=lambda text: "" if text == old else edit.name_error(draft, (path[0], text)))  # fmt: skip
        self._ask(dialog, lambda new: self.change(lambda: edit.rename(self.raidtui.draft, path, new)))

    def action_remove(self) -> None:
        line, draft = self.line, self.raidtui.draft
        if line is None:
            return
        if line.what == "disk":
            self.change(lambda: edit.take_disk_out(draft, str(line.path[1]), str(line.path[2])))
        elif line.what == "layer":
            self.change(lambda: edit.remove_layer(draft, self.kinds, line.path))
        elif line.what == "layout" and self._stands_on_layer(line.form):
            self._remove_some(line.path, line.form)
        else:
            self.change(lambda: edit.remove(draft, line.path))

    def _remove_some(self, layout: Path, top: Path) -> None:
        draft = self.raidtui.draft
        ways = (lambda: edit.remove_layer(draft, self.kinds, top), lambda: edit.remove(draft, layout))
        entries = [Entry(f"only {top[-1]}", "its input becomes the layout"), Entry("the whole layout")]
        dialog = Pick(f"Remove from {layout[-1]}", entries, yes="Remove")
        self._ask(dialog, lambda taken: self.change(ways[taken]))

    def action_undo(self) -> None:
        self.pending = None
        self.raidtui.undo()

    def action_redo(self) -> None:
        self.pending = None
        self.raidtui.redo()

    def action_new(self) -> None:
        dialog = BeginFrom()

        def begin(taken: int) -> None:
            self.begin_from(dialog.found[taken].name, f"begin from {dialog.found[taken].words}")

        self._ask(dialog, begin)

    def action_open(self) -> None:
        near = [Offer(path.name) for path in sorted(FilePath().glob("*.json"))[:20]]
        dialog = AskText("Open", "A scenario or result file, by its path.", offers=near)
        self._ask(dialog, lambda name: self.begin_from(str(typed_path(name)), f"open {FilePath(name).name}"))

    def begin_from(self, name: str, what: str) -> None:
        """Begin a draft from a file; an empty name is an empty scenario."""
        self.run_worker(self._load(name, what), group="load", exclusive=True)

    async def _load(self, name: str, what: str) -> None:
        """Replace the draft by a file's scenario, after asking about unsaved changes."""
        try:
            draft = await asyncio.to_thread(files.read, name)
        except ProblemError as error:
            self.notify(sentence(error.problems[0]), severity="error", timeout=12, markup=False)
            return
        first = next(iter(draft.document.get("layouts", {})), None)
        confirm_unsaved(
            self.raidtui, "Begin anew", lambda: self._replace(Change(draft, what, ("layouts", first) if first else ()))
        )

    def _replace(self, change: Change) -> None:
        self.take(change, anew=True)
        self.raidtui.history.saved = change.draft
        self.raidtui.drafts.changed()
        self.show_all()

    def action_save(self) -> None:
        self.query_one(Editor).take_text()
        save(self.raidtui)

    def go_to_option(self, kind: str, name: str) -> bool:
        """Put the cursor on an option of the first entry of a kind (`md`, `fio`, `policy`). False if there is none."""
        forms = [line.form for line in self._lines]
        fitting = (path for path in forms if path[-1:] == (kind,) or (kind == "role" and path[:1] == ("roles",)))
        form = next((path for path in fitting if len(path) > 1 or path == ("policy",)), None)
        if form is None:
            return False
        self.go(next(line.path for line in self._lines if line.form == form))
        self.focus_pane("form")
        self.query_one("#form", FormList).go_to((*form, *name.split(".")))
        return True

    def action_keep(self) -> None:
        self.query_one(Editor).take_text()
        files.keep_in_library(self.raidtui)

    def _known_kinds(self) -> Kinds | None:
        """Return the kinds of layers and workloads; warn if the engine has not sent them yet."""
        if self.kinds is None:
            words = "Waiting for the server's list of layers and workloads; try again in a moment."
            self.notify(words, severity="warning", timeout=4)
        return self.kinds

    def _ask(self, dialog: Dialog[Answer], then: Callable[[Answer], None]) -> None:
        """Open a dialog at once, so that it receives keys typed ahead."""

        def answered(given: Answer | None) -> None:
            if given is not None:
                then(given)

        self.app.push_screen(dialog, answered)

    def change(self, make: Callable[[], Change]) -> None:
        """Apply a change, or show why it is refused."""
        try:
            self.take(make())
        except ValueError as error:
            self.notify(clean(error, 200), severity="warning", timeout=6, markup=False)

    def _layer_here(self) -> Path | None:
        path = self.line.form if self.line else ()
        return path if len(path) > 2 and path[0] == "layouts" else None

    def _layer(self, path: Path) -> Layer:
        return Layer(str(path[-1]), path, at(self.raidtui.draft.document, path, {}))

    def _stands_on_layer(self, path: Path) -> bool:
        below = at(self.raidtui.draft.document, main_input(self.kinds, self._layer(path)), None)
        return layer_at(below, ()) is not None


def layer_entry(offer: KindOffer) -> Entry:
    usual = LAYERS.get((offer.kind.kind, offer.words))
    note = usual.line if usual else offer.kind.title
    return Entry(offer.words, note, f"{offer.kind.kind} {offer.kind.title} {usual.also if usual else ''}")
