"""Steps of a plan, grouped by block and phase, with their exact commands."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from raidtui.base.text import clean, plural
from raidtui.model.plan import Plan, Step
from raidtui.model.units import duration_text

_OPEN_UP_TO = 60
"""Largest number of steps of a plan whose groups are shown open."""
_LINE_LIMIT = 65536


class Group(NamedTuple):
    """Steps that follow each other in one phase of one block."""

    title: str
    """`raid5#1: build`"""
    steps: tuple[tuple[int, Step], ...]
    """Steps with their number in the plan, from 1."""

    first: frozenset[str] = frozenset()
    """Ids of steps that erase a disk which no step before did."""

    @property
    def seconds(self) -> float:
        return sum(step.seconds for _, step in self.steps)


def groups(plan: Plan) -> Iterator[Group]:
    """Yield all steps in order, grouped by block and phase."""
    first, erased = set(), set[str]()
    for step in plan.steps:
        if not erased.issuperset(step.erases):
            first.add(step.id)
        erased.update(step.erases)
    numbered = enumerate(plan.steps, 1)
    for (block, phase), steps in itertools.groupby(numbered, key=lambda pair: (pair[1].block, pair[1].phase)):
        yield Group(f"{clean(block) or 'whole run'}: {phase}", tuple(steps), frozenset(first))


def commands_text(plan: Plan) -> str:
    """Return every command of the plan in shell syntax, with the steps as comments."""
    lines = [f"# plan {plan.digest[:12]} of {clean(plan.scenario.get('name', ''))}"]
    for group in groups(plan):
        lines += ["", f"# {group.title}"]
        for number, step in group.steps:
            lines.append(f"# {number}. {clean(step.title)}")
            lines += [command_line(argv) for argv in step.commands]
    return "\n".join(lines) + "\n"


def command_line(argv: tuple[str, ...]) -> str:
    """Return one command on one line."""
    return clean(shlex.join(argv), _LINE_LIMIT)


class StepTree(Tree[Group | Step | None]):
    """Tree of groups, steps and commands. A step's commands are added when it is opened."""

    HELP = """\
## Steps

All steps of the run, in order. **enter** or a click opens a group or a step: below a step are its exact commands.
**shift+space** opens or closes all. Left and right scroll a long command. **c** copies all commands.
"""

    DEFAULT_CSS = """
    StepTree { background: $background; scrollbar-size: 1 1; padding: 0; }
    StepTree:focus { background-tint: $background; }
    StepTree:nocolor:focus > .tree--cursor { text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "scroll_left", "Left", id="steps.left", tooltip="Scroll a long command", show=False),
        Binding("right,l", "scroll_right", "Right", id="steps.right", tooltip="Scroll a long command", show=False),
        Binding("k", "cursor_up", "Up", id="steps.up", tooltip="One line up", show=False),
        Binding("j", "cursor_down", "Down", id="steps.down", tooltip="One line down", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__("steps", id=id)
        self.show_root = False
        self.guide_depth = 2

    def present(self, plan: Plan | None) -> None:
        """Show the steps of this plan, or none."""
        self.clear()
        if plan is None:
            return
        for group in groups(plan):
            words = Text(group.title, style="bold")
            words.append(f"  {plural(len(group.steps), 'step')}{_about(group.seconds)}", "dim")
            node = self.root.add(words, group, expand=len(plan.steps) <= _OPEN_UP_TO)
            if node.is_expanded:
                _add_steps(node, group)
        self.root.expand()
        self.cursor_line = 0
        self.scroll_home(animate=False)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Group | Step | None]) -> None:
        node = event.node
        if node.children:
            return
        if isinstance(node.data, Group):
            _add_steps(node, node.data)
        elif isinstance(node.data, Step):
            for argv in node.data.commands:
                node.add_leaf(Text(f"$ {command_line(argv)}", no_wrap=True))


def _add_steps(node: TreeNode[Group | Step | None], group: Group) -> None:
    for number, step in group.steps:
        words = Text(f"{number:>3}  {clean(step.title, 200)}", no_wrap=True)
        words.append(_about(step.seconds), "dim")
        if step.id in group.first:
            words.append(f"  erases {plural(len(step.erases), 'disk')}", "bold")
        if step.commands:
            node.add(words, step)
        else:
            node.add_leaf(words, step)


def _about(seconds: float) -> str:
    return f"  about {duration_text(seconds)}" if seconds >= 1 else ""
