"""Preview pane: the drawn layout, its figures, problems and build commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from raidtui.front.phrases import sentence
from raidtui.model.describe import LayoutView, Preview, WorkloadView
from raidtui.model.disk import Disk
from raidtui.model.plan import Argv
from raidtui.model.problem import Problem
from raidtui.tui.compose.document import Path, groups_of, path_of, place_of
from raidtui.tui.compose.drawing import Scene, drawing
from raidtui.tui.compose.figures import (
    command_lines,
    commands_text,
    figures,
    heading,
    load_lines,
    overview,
    readable,
    warning_lines,
)
from raidtui.tui.compose.lists import BAD, DIM, LineList, ascii_signs, problem_line
from raidtui.tui.compose.side_by_side import TALL, WIDE, others
from raidtui.tui.widgets.glyphs import glyphs


class Shown(NamedTuple):
    """State that the pane shows."""

    preview: Preview | None
    path: Path
    """Path under the outline's cursor; selects the layout or workload."""
    disks: Mapping[str, Disk] | None
    document: Mapping[str, Any]
    bind: Mapping[str, tuple[str, ...]]
    lost: tuple[Problem, ...] = ()
    """Problems that prevented a newer preview."""
    empty: bool = False
    """True if the scenario has no entries yet."""
    age: str = ""
    """Words behind the title for a preview that is not of this very draft."""


class PreviewPane(VerticalScroll):
    """Preview of the layout or workload under the outline's cursor, or of the whole scenario."""

    HELP = """\
## Preview

The layout as it would be built, from its target down to the disks, and its figures, computed before anything is built.
**Enter** goes to the list of problems, and from a problem to its option; **e** goes there from any pane.
**c** copies the commands to the clipboard, as they will run; **v** shows them so, with LVM's settings.
"""
    DEFAULT_CSS = """
    PreviewPane { scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    PreviewPane Static { height: auto; text-wrap: nowrap; }
    PreviewPane #said { text-wrap: wrap; }
    PreviewPane LineList { height: auto; max-height: 12; scrollbar-gutter: auto; }
    PreviewPane .gone { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "problems", "Problems", id="preview.problems", tooltip="Go to the problems", show=False),
        Binding("escape", "back", "Back", id="preview.back", tooltip="Back to the scenario", show=False),
        Binding("c", "copy", "Copy commands", id="preview.copy", tooltip="Copy the commands to the clipboard", show=False),
    ]

    @dataclass
    class Asked(Message):
        """The user chose a problem: go to its place."""

        problem: Problem

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.border_title = "Preview"
        self._shown = Shown(None, (), None, {}, {})
        self._problems: list[Problem] = []
        self.exact = False
        """True while commands are shown with every option, word by word as they will run."""
        self._drawn: dict[str, Content] = {}
        """Current content of each part; only changed parts are redrawn."""

    def compose(self) -> ComposeResult:
        yield Static(id="said", markup=False)
        yield Static(id="stack", markup=False)
        yield Static(id="wrong-head", markup=False)
        yield LineList(id="problems")
        yield Static(id="after", markup=False)
        yield Static(id="others", markup=False)

    def on_resize(self, event: events.Resize) -> None:
        self.draw()

    def show(self, shown: Shown) -> None:
        self._shown = shown
        self.draw()

    @property
    def commands(self) -> tuple[Argv, ...]:
        """Build commands of the shown layout, or the command of the shown workload."""
        layout, load = self._shown_views()
        return layout.build if layout else (load.command,) if load and load.command else ()

    def draw(self) -> None:
        shown, width = self._shown, max(20, self.scrollable_content_region.width)
        layout, load = self._shown_views()
        name = layout.name if layout else load.name if load else "all layouts"
        self.border_title = Content(f"Preview · {name}{shown.age}")
        said = [Content.styled(sentence(problem), BAD) for problem in shown.lost]
        if shown.empty:
            said.append(Content.styled("Nothing to draw yet.", DIM))
        elif shown.preview is None and not shown.lost:
            said.append(Content.styled("checking…", DIM))
        self._put("#said", said)
        self._put("#stack", self._figures_lines(layout, load, width))
        self._show_problems(layout, load, width)
        after = [] if layout is None else warning_lines(layout.warnings, width)
        after += [] if load is None else warning_lines(load.warnings, width)
        if self.commands:
            down = layout.teardown if layout is not None else ()
            less = any(readable(argv) != argv for argv in (*self.commands, *down))
            turn = f" · v: {'shorter' if self.exact else 'exact'}" if less else ""
            where = f" on {layout.on_each_of[0]} (1 of {len(layout.on_each_of)})" if layout and layout.on_each_of else ""
            after += [*([Content("")] if after else []), heading(f"commands{where}", width, f"c: copy{turn}")]
            after += command_lines(self.commands, width, exact=self.exact)
        if layout is not None and layout.teardown:
            after += [Content(""), heading("and to take it down", width)]
            after += command_lines(layout.teardown, width, exact=self.exact)
        self._put("#after", [Content(""), *after] if after else [])
        self._put("#others", [] if load is not None else self._other_layouts(layout, width))

    def action_problems(self) -> None:
        if self._problems:
            self.query_one("#problems").focus()

    def action_exact(self) -> None:
        self.exact = not self.exact
        self.draw()

    async def action_back(self) -> None:
        if self.query_one("#problems").has_focus:
            self.focus()
        else:
            await self.run_action("screen.to_outline")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Listed problems, in order."""
        return tuple(self._problems)

    def action_copy(self) -> None:
        commands = self.commands
        if not commands:
            self.notify("there are no commands yet", timeout=3)
            return
        self.app.copy_to_clipboard(commands_text(commands))
        self.notify(f"{len(commands)} command{'s' if len(commands) != 1 else ''} copied", timeout=3)

    @on(OptionList.OptionSelected, "#problems")
    def _asked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Asked(self._problems[event.option_index]))

    def _figures_lines(self, layout: LayoutView | None, load: WorkloadView | None, width: int) -> list[Content]:
        shown, preview = self._shown, self._shown.preview
        if layout is not None:
            stack = drawing(layout, Scene(shown.disks, shown.bind, groups_of(shown.document)), width)
            told = [] if layout.problems and layout.size_bytes is None else figures(layout, width)
            return [*stack, *([Content("")] if stack and told else []), *told]
        if load is not None:
            return load_lines(load, width)
        return overview(preview, width) if preview is not None and not shown.empty else []

    def _other_layouts(self, layout: LayoutView | None, width: int) -> list[Content]:
        """Return the drawings of all layouts but the shown one, where there is room."""
        shown = self._shown
        if shown.preview is None or shown.empty or width < WIDE or self.app.size.height < TALL:
            return []
        rest = [view for view in shown.preview.layouts if view is not layout]
        return others(rest, Scene(shown.disks, shown.bind, groups_of(shown.document)), width)

    def _show_problems(self, layout: LayoutView | None, load: WorkloadView | None, width: int) -> None:
        preview = self._shown.preview
        own = layout.problems if layout else load.problems if load else ()
        others = [problem for problem in (preview.problems if preview else ()) if problem not in own]
        self._problems = [*own, *others] if not self._shown.empty else []
        problems = self.query_one("#problems", LineList)
        problems.set_class(not self._problems, "gone")
        lines = [problem_line(self._place_words(problem), problem.message) for problem in self._problems]
        problems.show(list(range(len(lines))), lines)
        self._put("#wrong-head", [Content(""), heading("problems", width, "enter: go there")] if lines else [])

    def _place_words(self, problem: Problem) -> str:
        path = path_of(self._shown.document, problem.place)
        return place_of(path).removeprefix("$.") if path else problem.place.removeprefix("$")

    def _shown_views(self) -> tuple[LayoutView | None, WorkloadView | None]:
        preview, path = self._shown.preview, self._shown.path
        if preview is None or len(path) < 2:
            return None, None
        if path[0] == "layouts":
            return next((view for view in preview.layouts if view.name == path[1]), None), None
        if path[0] == "workloads":
            return None, next((view for view in preview.workloads if view.name == path[1]), None)
        return None, None

    def _put(self, where: str, lines: Sequence[Content]) -> None:
        said = Content("\n").join(lines if glyphs().unicode else [ascii_signs(line) for line in lines])
        if (before := self._drawn.get(where)) is None or not said.is_same(before):
            self._drawn[where] = said
            part = self.query_one(where, Static)
            part.set_class(not lines, "gone")
            part.update(said)
