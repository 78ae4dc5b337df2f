"""Help for keys and commands: the list of all keys that work here, and the command palette of the screen."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Static


class CheatSheet(ModalScreen[None]):
    """A sheet over the screen; any of its keys closes it."""

    DEFAULT_CSS = """
    CheatSheet { align: center middle; }
    CheatSheet > VerticalScroll {
        width: 90%; max-width: 110; height: auto; max-height: 90%; padding: 1 2; background: $surface;
        border: round $primary; border-title-color: $primary;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", id="sheet.close", tooltip="Close this sheet"),
    ]

    def __init__(self, of: Screen[Any]) -> None:
        super().__init__()
        self._of = of

    def compose(self) -> ComposeResult:
        with VerticalScroll() as sheet:
            sheet.border_title = "Keys"
            sheet.border_subtitle = "the table keys of config.toml changes them, by id"
            yield Static(_table(self._of))


def _table(screen: Screen[Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), expand=True, header_style="bold")
    table.add_column("Key", no_wrap=True)
    table.add_column("What it does", ratio=1)
    table.add_column("Id", no_wrap=True)
    for where, bindings in _groups(screen):
        table.add_row(Text(where, style="bold underline"), "", "")
        for keys, binding in bindings:
            table.add_row(Text(keys), Text(binding.tooltip or binding.description), Text(binding.id or "", style="dim"))
        table.add_row("", "", "")
    return table


def _groups(screen: Screen[Any]) -> Iterator[tuple[str, list[tuple[str, Binding]]]]:
    """Return the keys by the node that offers them, from the focus outwards; several keys of one action are one line."""
    nodes: dict[int, tuple[str, dict[str, tuple[list[str], Binding]]]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.system or not (binding.id or binding.description):
            continue
        name, actions = nodes.setdefault(id(active.node), (_name(active.node), {}))
        keys, _ = actions.setdefault(binding.action, ([], binding))
        keys.append(screen.app.get_key_display(binding))
    for name, actions in nodes.values():
        yield name, [(" ".join(dict.fromkeys(keys)), binding) for keys, binding in actions.values()]


def _name(node: Any) -> str:
    if isinstance(node, Screen):
        return "This screen"
    if node is node.app:
        return "Everywhere"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).capitalize()


class Everything(Provider):
    """Commands of the present screen, searched by a part of their words."""

    async def discover(self) -> Hits:
        for words, tooltip, action in self._actions():
            yield DiscoveryHit(words, self._runner(action), help=tooltip)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for words, tooltip, action in self._actions():
            score = max(matcher.match(words), matcher.match(tooltip))
            if score > 0:
                yield Hit(score, matcher.highlight(words), self._runner(action), help=tooltip)

    def _actions(self) -> Iterator[tuple[str, str, tuple[str, DOMNode]]]:
        """Yield description, tooltip, and (action, the node that it is run on)."""
        seen = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.system or not active.enabled or not binding.tooltip or binding.action in seen:
                continue
            seen.add(binding.action)
            yield binding.description or binding.tooltip, binding.tooltip, (binding.action, active.node)

    def _runner(self, action: tuple[str, DOMNode]) -> Callable[[], Awaitable[None]]:
        words, node = action

        async def run() -> None:
            await self.app.run_action(words, node)

        return run
