"""Help for keys: the list of all keys that work here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from raidtui.tui.shared import SharedApp


class CheatSheet(ModalScreen[None]):
    """A sheet over the screen; any of its keys closes it."""

    DEFAULT_CSS = """
    CheatSheet { align: center middle; }
    CheatSheet > VerticalScroll {
        width: 90%; max-width: 130; height: auto; max-height: 90%; padding: 1 2; background: $surface;
        border: round $primary; border-title-color: $primary;
    }
    CheatSheet .notices { margin: 0 0 1 0; color: $text-warning; }
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
            if notices := cast(SharedApp, self.app).notices:
                yield Static(Text("\n".join(f"! {notice}" for notice in notices), "bold"), classes="notices")
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
