"""The two lines at the foot: the keys of what has the focus, and the five screens."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from raidtui.tui.widgets.key_line import KeyLine, LineKey

_MODES = (("1", "disks", "Disks"), ("2", "compose", "Compose"), ("3", "plan", "Plan"), ("4", "run", "Run"),
          ("5", "results", "Results"))  # fmt: skip
_ALWAYS = (LineKey("F1", "Help", "toggle_help"), LineKey("?", "Keys", "cheat_sheet"),
           LineKey("^p", "All", "command_palette"), LineKey("q", "Quit", "leave"))  # fmt: skip


class Foot(KeyLine):
    """Keys of the screen and of what has the focus; those of the application are in the line below."""

    DEFAULT_CSS = """
    Foot {
        dock: bottom; height: 1; margin-bottom: 1; background: $surface; color: $footer-foreground;
        & > .key-line--key {
            color: $footer-key-foreground; background: $footer-key-background; text-style: bold;
        }
        & > .key-line--words { color: $footer-description-foreground; background: $footer-description-background; }
        & > .key-line--hover { color: $footer-key-foreground; background: $block-hover-background; }
    }
    """
    PADDING = (0, 0)
    BETWEEN = 1

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        # While another application has the terminal's focus, nobody has it here, and its keys are to stay.
        if self.app.app_focus and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        """Return each action once, with its first key."""
        if not self.is_attached:
            return
        keys: dict[str, LineKey] = {}
        for known in self.screen.active_bindings.values():
            one = known.binding
            if one.show and one.action not in keys:
                shown = self.app.get_key_display(one)
                keys[one.action] = LineKey(shown, one.description, one.key, off=not known.enabled, tooltip=known.tooltip)
        self.present(tuple(keys.values()))

    async def pressed(self, key: LineKey) -> None:
        """Run the action as if its key were pressed."""
        if key.off:
            self.app.bell()
        else:
            self.app.simulate_key(key.does)


class ModeBar(KeyLine):
    """The five screens, and where help and the exit are."""

    DEFAULT_CSS = """
    ModeBar {
        dock: bottom; height: 1; background: $panel; color: $foreground;
        & > .key-line--key { text-style: bold; }
        & > .key-line--hover { background: $surface; }
        & > .key-line--here { background: $primary; color: $background; text-style: bold; }
    }
    """

    def __init__(self, mode: str) -> None:
        modes = [LineKey(key, words, f"mode('{name}')", here=name == mode) for key, name, words in _MODES]
        super().__init__(modes, _ALWAYS)

    async def pressed(self, key: LineKey) -> None:
        """There."""
        await self.app.run_action(key.does, self.app)
