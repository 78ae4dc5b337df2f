"""Dialogs of the screen Plan: choice of layouts and workloads, and consent to erasing disks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Input, OptionList, Static

from raidtui.base.text import clean, plural
from raidtui.front.phrases import looks_line
from raidtui.front.plan import Line, consented, lines_to_type, matches
from raidtui.model.disk import Fingerprint
from raidtui.model.plan import Options, Plan
from raidtui.model.protocol import DiskList
from raidtui.model.units import size_text
from raidtui.tui.plan.panes import changed_disk
from raidtui.tui.widgets.dialog import Dialog
from raidtui.tui.widgets.glyphs import glyphs

if TYPE_CHECKING:
    from raidtui.tui.shared import SharedApp


class _Choice(NamedTuple):
    """One line of the list."""

    kind: str
    """`layout`, `workload` or `quick`."""
    name: str = ""


class CheckList(OptionList):
    """List of lines with a tick box each; ticks are signs, not only colours."""

    DEFAULT_CSS = """
    CheckList { height: auto; max-height: 59vh; border: none; padding: 0; background: $surface; }
    CheckList:focus { border: none; background-tint: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "Take or leave", id="choice.toggle", tooltip="Take this line, or leave it out"),
    ]

    def __init__(self, choices: Sequence[_Choice], ticked: Iterable[_Choice]) -> None:
        self.ticked = set(ticked)
        self._choices = choices
        super().__init__(*map(self._words, choices), compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        choice = self._choices[event.option_index]
        self.ticked ^= {choice}
        self.replace_option_prompt_at_index(event.option_index, self._words(choice))

    def _words(self, choice: _Choice) -> Text:
        words = Text("[x] " if choice in self.ticked else "[ ] ", no_wrap=True, overflow="ellipsis")
        if choice.kind == "quick":
            return words.append("rehearsal: at most 3 s a workload")
        return words.append(f"{choice.kind:<9}", "dim").append(clean(choice.name, 63))


class ChoiceDialog(Dialog[Options]):
    """Dialog for plan options, with at least one layout and workload. Answers None when it was left."""

    HELP = """\
## What to measure

**space** takes a line or leaves it out; nothing that is left out is built or measured. A rehearsal runs every workload for
at most 3 seconds: good for trying, not for comparing.
"""

    def __init__(self, options: Options, layouts: Sequence[str], workloads: Sequence[str]) -> None:
        super().__init__("What to measure", hint="space: take or leave · ctrl+s: OK · esc: leave")
        self._given = options
        self._layouts = layouts
        self._workloads = workloads

    def questions(self) -> ComposeResult:
        given = self._given
        layouts = [_Choice("layout", name) for name in self._layouts]
        workloads = [_Choice("workload", name) for name in self._workloads]
        ticked = [choice for choice in layouts if not given.layouts or choice.name in given.layouts]
        ticked += [choice for choice in workloads if not given.workloads or choice.name in given.workloads]
        rehearsal = _Choice("quick")
        yield CheckList([rehearsal, *layouts, *workloads], [*ticked, rehearsal] if given.quick else ticked)
        yield Static(classes="wrong")

    def on_mount(self) -> None:
        self.query_one(CheckList).focus()

    def agree(self) -> None:
        ticked = self.query_one(CheckList).ticked
        layouts = tuple(name for name in self._layouts if _Choice("layout", name) in ticked)
        workloads = tuple(name for name in self._workloads if _Choice("workload", name) in ticked)
        if not layouts or not workloads:
            lacking = "layout" if not layouts else "workload"
            self.query_one(".wrong", Static).update(Text(f"! take at least one {lacking}"))
            return
        self.dismiss(
            Options(
                quick=_Choice("quick") in ticked,
                layouts=() if layouts == tuple(self._layouts) else layouts,
                workloads=() if workloads == tuple(self._workloads) else workloads,
            )
        )


_NAME_LIMIT = 26


class ConsentLine(Horizontal):
    """One line to type: its disks, its input, and a tick once it is right."""

    DEFAULT_CSS = """
    ConsentLine { height: 1; }
    ConsentLine > .what { width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    ConsentLine > Input { width: 16; margin: 0 0 0 1; }
    ConsentLine > .tick { width: 3; padding: 0 0 0 1; color: $text-success; text-style: bold; }
    """

    def __init__(self, line: Line, what: Text) -> None:
        super().__init__()
        self.line = line
        self._line_text = what

    def compose(self) -> ComposeResult:
        yield Static(self._line_text, classes="what")
        yield Input(compact=True, placeholder="type it here", max_length=len(self.line.expected) + 40)
        yield Static(classes="tick")

    @property
    def typed(self) -> str:
        return self.query_one(Input).value

    @property
    def correct(self) -> bool:
        return matches(self.line, self.typed)

    def update_tick(self) -> None:
        self.query_one(".tick", Static).update(Text(glyphs().good if self.correct else ""))


class ConsentDialog(Dialog[tuple[str, ...]]):
    """Dialog for consent to a plan. Answers the ids of the disks to erase, or None if nothing may be touched."""

    HELP = """\
## Consent

Each disk that will be erased is named by the end of its serial, which you type beside it; for many disks alike one code
stands for all of them. Nothing starts before every line has its tick. **escape** leaves, and nothing was touched.
"""

    DEFAULT_CSS = """
    ConsentDialog.-very-wide > .box { width: 130; }
    ConsentDialog > .box { width: 100; border: round $error; border-title-color: $error; }
    ConsentDialog .lines { height: auto; max-height: 51vh; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "to_line(-1)", "Up", id="consent.up", tooltip="To the line above", show=False),
        Binding("down", "to_line(1)", "Down", id="consent.down", tooltip="To the line below", show=False),
    ]

    def __init__(self, plan: Plan) -> None:
        count = len(plan.erases)
        yes = f"Erase {plural(count, 'disk')} and start" if count else "Start"
        super().__init__("Consent", yes=yes, no="No, leave", hint="esc: leave, nothing is touched")
        self._plan = plan
        self._lines = lines_to_type(plan)

    def questions(self) -> ComposeResult:
        yield Static(_question(self._plan, self._lines), classes="asked")
        roles = {disk.id: role for role, prints in self._plan.binding.items() for disk in prints}
        width = max((len(_visible_name(line)) for line in self._lines), default=0)
        with VerticalScroll(classes="lines", can_focus=False):
            for line in self._lines:
                held = dict.fromkeys(roles[disk.id] for disk in line.disks if disk.id in roles)
                role = ", ".join(clean(role, 12) for role in held)
                yield ConsentLine(line, _line_text(line, role, width))
        yield Static(classes="wrong")

    def on_mount(self) -> None:
        app = cast("SharedApp", self.app)
        app.disks_changed.subscribe(self, self._disks_changed)
        self.query_one("#yes", Button).variant = "error"
        self._update_ticks()
        (self.query(Input).first() if self._lines else self.query_one("#no")).focus()
        if app.disks is not None:
            self._disks_changed(app.disks)

    def _disks_changed(self, disks: DiskList) -> None:
        """Close the dialog if a disk changed: the consent would be to another plan."""
        if self.is_current and (why := changed_disk(self._plan, disks)):
            self.app.notify(f"nothing was started: {why}", severity="warning", timeout=15, markup=False)
            self.dismiss(None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._update_ticks()
        self.query_one(".wrong", Static).update("")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Go to the next wrong line; agree if all lines are right."""
        event.stop()
        line = event.input.parent
        if isinstance(line, ConsentLine) and line.correct and (waiting := self._waiting()):
            waiting[0].query_one(Input).focus()
        else:
            self.agree()

    def agree(self) -> None:
        erase = consented(self._lines, [line.typed for line in self.query(ConsentLine)])
        if erase is not None:
            self.dismiss(erase)
            return
        left, of = len(self._waiting()), len(self._lines)
        what = "what was typed is" if of == 1 else f"{left} of {of} lines {'is' if left == 1 else 'are'}"
        words = f"! nothing was started: {what} not right"
        self.query_one(".wrong", Static).update(Text(words))

    def action_leave(self) -> None:
        self.app.notify("nothing was started", timeout=3, markup=False)
        self.dismiss(None)

    def action_to_line(self, way: int) -> None:
        inputs = list(self.query(Input))
        at = next((index for index, one in enumerate(inputs) if one.has_focus), 0)
        if inputs:
            inputs[max(0, min(len(inputs) - 1, at + way))].focus()

    def _waiting(self) -> list[ConsentLine]:
        return [line for line in self.query(ConsentLine) if not line.correct]

    def _update_ticks(self) -> None:
        for line in self.query(ConsentLine):
            line.update_tick()
        self.query_one("#yes", Button).disabled = bool(self._waiting())


def _question(plan: Plan, lines: tuple[Line, ...]) -> Text:
    if not lines:
        return Text("This plan erases no disk. Start it?")
    count = len(plan.erases)
    text = Text.assemble((f"{plural(count, 'disk')} will be ERASED", "bold"), ". All that is on ",
                         "it" if count == 1 else "them", " will be lost.\n")  # fmt: skip
    if looked := looks_line(plan):
        text.append(f"{looked}\n")
    codes = sum(not line.name for line in lines)
    if codes:
        text.append("Type the code that is shown for the disks that it stands for.")
    if codes < len(lines):
        text.append(f"{' ' if codes else ''}Type the underlined end of each disk's name.")
    return text


def _line_text(line: Line, role: str, width: int) -> Text:
    """Return the disk with its name in `width` cells, or the disks and their code."""
    disk = line.disks[0]
    text = Text(no_wrap=True, overflow="ellipsis")
    if not line.name:
        text.append(line.expected, "bold underline")
        text.append(f"  {_disks(line.disks)}, {role}" if role else f"  {_disks(line.disks)}")
        return text
    shown = _visible_name(line)
    text.append(" " * (width - len(shown)))
    text.append(shown[: -len(line.expected)]).append(line.expected, "bold underline")
    return text.append(f"  {role:<7}  {size_text(disk.size_bytes)}  {clean(disk.model, 40)}", "dim")


def _visible_name(line: Line) -> str:
    """Return the end of the name that fits, at least the part to type."""
    name = line.name
    return name if len(name) <= _NAME_LIMIT else "…" + name[-max(_NAME_LIMIT - 1, len(line.expected)) :]


def _disks(disks: tuple[Fingerprint, ...]) -> str:
    first = disks[0]
    count = "" if len(disks) == 1 else f"all {len(disks)} × "
    return f"{count}{clean(first.model, 40)} of {size_text(first.size_bytes)}"
