"""Words on stderr while an engine is slow to speak: what is waited for, and what ssh or sudo said meanwhile."""

from __future__ import annotations

import sys

from raidtui.base.text import clean

_FIRST_S = 5.0
_EVERY_S = 15.0


class WaitingTalk:
    """Says after five seconds, and then four times a minute, how long an engine has been waited for."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._next_s = _FIRST_S
        self._shown = ""

    def __call__(self, waited_s: float, said: str) -> None:
        """`said` is all that the engine's command wrote; only what is new of it is shown."""
        if waited_s < _FIRST_S:
            self._next_s = _FIRST_S
            return
        new = said.removeprefix(self._shown).strip() if said.startswith(self._shown) else said
        self._shown = said
        if new:
            print(new, file=sys.stderr)
        if waited_s >= self._next_s:
            self._next_s = (waited_s // _EVERY_S + 1) * _EVERY_S
            print(f"{waiting_words(self._place, waited_s)} (Ctrl-C gives up)", file=sys.stderr, flush=True)


def waiting_words(place: str, waited_s: float) -> str:
    return f"waiting for the engine on {clean(place)}: {waited_s:.0f} s"
