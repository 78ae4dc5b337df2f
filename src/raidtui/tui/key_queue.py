"""Keys are handled one after another, so that a key typed while a dialog opens goes into the dialog."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from textual import events
from textual.app import App
from textual.message import Message
from textual.screen import Screen

_PATIENCE_S: Final = 0.5
"""Seconds after which the next key no longer waits for the one before: its widget is gone, or busy."""


class KeyDone(Message):
    """Follows a key through the queues of its widget and of all above it; the key has been handled when it arrives."""


class KeyQueue(App[int]):
    """An application that hands a key to the focused widget when the key before it has been handled.

    Textual sends a key to the widget that has the focus when the key is read. If that widget does not want it, a binding
    above it may open a dialog; the keys read meanwhile would belong to the screen below the dialog.
    """

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._typed: deque[events.Key] = deque()
        """Keys that were read; the first one is being handled."""
        self._number = 0
        """Number of the key that is being handled."""
        self._patient_with = 0
        """Number of the last key that another one had to wait for."""

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if len(self._typed) == 1:
            await self._hand_out()
        elif self._patient_with != (number := self._number):
            self._patient_with = number
            self.set_timer(_PATIENCE_S, lambda: self._next(number))

    async def on_key_done(self, message: KeyDone) -> None:
        message.stop()
        # A screen that this key opened first gets its widgets and its focus: both are in its queue, then in this one.
        opened, number = self.screen, self._number
        if opened.focused is None and opened.is_attached:
            opened.call_later(self._when_open, opened, number)
        else:
            await self._next(number)

    def _when_open(self, opened: Screen[Any], number: int) -> None:
        self.call_later(self._next, number)

    async def _next(self, number: int) -> None:
        """Go on with the next key, unless that has happened already."""
        if number == self._number and self._typed:
            self._typed.popleft()
            if self._typed:
                await self._hand_out()

    async def _hand_out(self) -> None:
        self._number += 1
        await super().on_event(self._typed[0])
        (self.focused or self.screen).post_message(KeyDone())
