"""Asks the engine what a draft comes to: a moment after the last change, one question at a time, stale answers dropped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Protocol

from raidtui.model.convert import plain
from raidtui.model.describe import Preview, PreviewRequest
from raidtui.model.problem import Problem, ProblemError
from raidtui.tui.draft import Draft

PAUSE_S: Final = 0.15
"""How long a draft has to stay as it is before it is asked about."""


class Asker(Protocol):
    """What `Link` is to the previewer."""

    async def call(self, method: str, params: Any = None, type_: Any = Any) -> Any: ...


def request_of(draft: Draft) -> PreviewRequest:
    return PreviewRequest(json.dumps(draft.document, ensure_ascii=False), dict(draft.bind))


class Previewer:
    """`want` a draft; what comes of the last one wanted goes to `on_answer`, or why nothing does to `on_problem`."""

    def __init__(
        self, link: Asker, on_answer: Callable[[Preview], None], on_problem: Callable[[tuple[Problem, ...]], None]
    ) -> None:
        self._link = link
        self._on_answer = on_answer
        self._on_problem = on_problem
        self._wanted: Draft | None = None
        self._count = 0
        """Of everything wanted so far: tells a stale answer."""
        self.working = False

    def want(self, draft: Draft) -> bool:
        """Ask about this draft soon. True where `work` has to be started for it."""
        self._wanted = draft
        self._count += 1
        return not self.working

    async def work(self) -> None:
        """Ask until nothing is wanted that was not asked."""
        self.working = True
        try:
            while self._wanted is not None:
                await self._once()
        finally:
            self.working = False

    async def _once(self) -> None:
        count = self._count
        await asyncio.sleep(PAUSE_S)
        draft = self._wanted
        if count != self._count or draft is None:
            return
        self._wanted = None
        try:
            answer = await self._link.call("preview", plain(request_of(draft)), Preview)
        except ProblemError as error:
            if count == self._count:
                self._on_problem(error.problems)
            return
        if count == self._count:
            self._on_answer(answer)
