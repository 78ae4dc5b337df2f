"""Dialogs of the screen Plan: choice of layouts and workloads, and consent to erasing disks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static

from raidtui.base.text import clean, plural
from raidtui.front.phrases import looks_line
from raidtui.front.plan import Line, lines_to_type, taken_words
from raidtui.model.disk import Fingerprint
from raidtui.model.plan import Options, Plan
from raidtui.model.protocol import DiskList
from raidtui.model.units import size_text
from raidtui.tui.plan.panes import changed_disk
from raidtui.tui.widgets.dialog import Dialog
from raidtui.tui.widgets.typed_consent import TypedConsent, name_to_type, visible_name

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


class ConsentDialog(TypedConsent):
    """Dialog for consent to a plan. Answers the ids of the disks to erase, or None if nothing may be touched."""

    HELP = """\
## Consent

Each disk that will be erased is named by the end of its serial, which you type beside it; for many disks alike one code
stands for all of them. A pool of a cluster that was there before is named whole. Nothing starts before every line
has its tick. **escape** leaves, and nothing was touched.
"""

    def __init__(self, plan: Plan) -> None:
        count = len(plan.erases)
        lines = lines_to_type(plan)
        super().__init__("Consent", lines, yes=f"Erase {plural(count, 'disk')} and start" if count else "Start")
        self._plan = plan
        self._roles = {disk.id: role for role, prints in plan.binding.items() for disk in prints}
        self._width = max((len(visible_name(line)) for line in lines), default=0)

    def question(self) -> Text:
        return _question(self._plan, self.lines_to_type)

    def line_words(self, line: Line) -> Text:
        held = dict.fromkeys(self._roles[disk.id] for disk in line.disks if disk.id in self._roles)
        return _line_text(line, ", ".join(clean(role, 12) for role in held), self._width)

    def on_mount(self) -> None:
        app = cast("SharedApp", self.app)
        app.disks_changed.subscribe(self, self._disks_changed)
        if app.disks is not None:
            self._disks_changed(app.disks)

    def _disks_changed(self, disks: DiskList) -> None:
        """Close the dialog if a disk changed: the consent would be to another plan."""
        if self.is_current and (why := changed_disk(self._plan, disks)):
            self.give_up(why)


def _question(plan: Plan, lines: tuple[Line, ...]) -> Text:
    if not lines:
        return Text("This plan erases no disk. Start it?")
    count = len(plan.erases)
    text = Text()
    if count:
        text = Text.assemble((f"{plural(count, 'disk')} will be ERASED", "bold"), ". All that is on ",
                             "it" if count == 1 else "them", " will be lost.\n")  # fmt: skip
    if looked := looks_line(plan):
        text.append(f"{looked}\n")
    if taken := taken_words(plan):
        text.append(f"{taken}\n")
    codes = sum(not line.name for line in lines)
    if codes:
        text.append("Type the code that is shown for the disks that it stands for.")
    if codes < len(lines):
        text.append(f"{' ' if codes else ''}Type the underlined {_what_is_named(plan)}.")
    return text


def _what_is_named(plan: Plan) -> str:
    named = ["end of each disk's name"] if plan.erases else []
    return " and the ".join([*named, "name of each pool"] if plan.takes else named)


def _line_text(line: Line, role: str, width: int) -> Text:
    """Return the disk with its name in `width` cells, or the disks and their code."""
    text = Text(no_wrap=True, overflow="ellipsis")
    if not line.disks:
        return text.append(" " * (width - len(visible_name(line)))).append_text(name_to_type(line)).append("  pool", "dim")
    disk = line.disks[0]
    if not line.name:
        text.append_text(name_to_type(line))
        text.append(f"  {_disks(line.disks)}, {role}" if role else f"  {_disks(line.disks)}")
        return text
    text.append(" " * (width - len(visible_name(line)))).append_text(name_to_type(line))
    return text.append(f"  {role:<7}  {size_text(disk.size_bytes)}  {clean(disk.model, 40)}", "dim")


def _disks(disks: tuple[Fingerprint, ...]) -> str:
    first = disks[0]
    count = "" if len(disks) == 1 else f"all {len(disks)} × "
    return f"{count}{clean(first.model, 40)} of {size_text(first.size_bytes)}"
