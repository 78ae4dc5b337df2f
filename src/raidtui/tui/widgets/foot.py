"""The two lines at the foot: the keys of what has the focus, and the five screens."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Footer, Static

from raidtui.tui.widgets.kept_lines import KeptLines

_MODES = (("1", "disks", "Disks"), ("2", "compose", "Compose"), ("3", "plan", "Plan"), ("4", "run", "Run"),
          ("5", "results", "Results"))  # fmt: skip


class Foot(Footer, KeptLines):
    """Keys of the screen and of what has the focus; those of the application are in the line below."""

    DEFAULT_CSS = """
    Foot { dock: bottom; height: 1; margin-bottom: 1; background: $surface; }
    """

    def __init__(self) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self._keys: list[tuple[Binding, bool, str]] = []

    async def recompose(self) -> None:
        """Only where other keys are to be shown: the focus moves often, and this is dearer than the rest."""
        active = self.screen.active_bindings.values()
        keys = [(known.binding, known.enabled, known.tooltip) for known in active if known.binding.show]
        if keys != self._keys:
            self._keys = keys
            await super().recompose()


class ModeTab(Static):
    """One screen's key and name. A click goes there."""

    DEFAULT_CSS = """
    ModeTab { width: auto; padding: 0 1; background: $panel; color: $foreground; }
    ModeTab:hover { background: $surface; }
    ModeTab.-here { background: $primary; color: $background; text-style: bold; }
    """

    def __init__(self, key: str, words: str, action: str, *, here: bool = False) -> None:
        super().__init__(Text.assemble((key, "bold"), " ", words), classes="-here" if here else "")
        self._action = action

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.app.run_action(self._action, self.app)


class ModeBar(Horizontal, KeptLines):
    """The five screens, and where help and the exit are."""

    DEFAULT_CSS = """
    ModeBar { dock: bottom; height: 1; background: $panel; }
    ModeBar > .gap { width: 1fr; }
    """

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._mode = mode

    def compose(self) -> ComposeResult:
        for key, mode, words in _MODES:
            yield ModeTab(key, words, f"mode('{mode}')", here=mode == self._mode)
        yield Static(classes="gap")
        yield ModeTab("F1", "Help", "toggle_help")
        yield ModeTab("?", "Keys", "cheat_sheet")
        yield ModeTab("^p", "All", "command_palette")
        yield ModeTab("q", "Quit", "leave")
