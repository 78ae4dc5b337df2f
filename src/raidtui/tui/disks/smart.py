"""SMART data of the disk under the cursor on the screen Disks: asked once for each disk, when the cursor rests on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from raidtui.model.disk import Disk
from raidtui.model.problem import ProblemError
from raidtui.tui.screens.base import ModeScreen

if TYPE_CHECKING:
    from raidtui.model.smart import Smart

REST_S: Final = 0.4
"""Time that the cursor rests on a disk before the disk is asked."""


class SmartData:
    """Answers of the disks that were asked, kept until `forget`."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int | None], Smart] = {}
        self._asked = ""
        """Id of the disk that was asked last."""

    def look(self, screen: ModeScreen, disk: Disk | None, shown: Callable[[], None]) -> Smart | None:
        """Return the answer of a disk. One that has none yet is asked, unless its details are hidden or a run goes on.

        `shown` is called when it has answered.
        """
        if disk is None:
            return None
        known, app = self._known.get((disk.id, disk.diskseq)), screen.raidtui
        hidden = not screen.is_current or (screen.has_class("-narrow") and not screen.has_class("-detail"))
        if known is None and disk.id != self._asked and not hidden and app.link_state.up and not app.run_words:
            self._asked = disk.id
            screen.run_worker(self._ask(screen, disk, shown), group="smart", exclusive=True)
        return known

    def forget(self) -> None:
        self._known.clear()
        self._asked = ""

    async def _ask(self, screen: ModeScreen, disk: Disk, shown: Callable[[], None]) -> None:
        from raidtui.model.smart import Smart, SmartRequest  # the first frame does without them

        await asyncio.sleep(REST_S)
        try:
            found: Smart = await screen.raidtui.link.call("smart", SmartRequest(disk.id), Smart)
        except ProblemError:
            return  # the disk or the engine is gone, which the screen says already
        self._known[disk.id, disk.diskseq] = found
        shown()
