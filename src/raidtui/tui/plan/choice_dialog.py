"""Which layouts and workloads are measured, and whether it is a rehearsal: what `--layout`, `--workload`, `--quick` are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static

from raidtui.base.text import clean
from raidtui.model.plan import Options
from raidtui.tui.widgets.dialog import Dialog


class _Choice(NamedTuple):
    """One line of the list."""

    kind: str
    """`layout`, `workload` or `quick`."""
    name: str = ""


class CheckList(OptionList):
    """Lines with a box each, that says by its sign and not by its colour alone whether it is ticked."""

    DEFAULT_CSS = """
    CheckList { height: auto; max-height: 14; border: none; padding: 0; background: $surface; }
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
    """Asks for options. Answers them, or None when it was left. At least one layout and one workload stay chosen."""

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
