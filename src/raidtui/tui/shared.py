"""State that all screens share: the connection, the disks, the draft, and the run on the screen Run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from textual import events
from textual.message import Message
from textual.signal import Signal

from raidtui.base.text import clean
from raidtui.tui.draft import Draft, History
from raidtui.tui.draft_keeper import DraftKeeper
from raidtui.tui.key_queue import KeyQueue
from raidtui.tui.link import Link, LinkState, complain
from raidtui.tui.terminal import ShownLines, SparingDriver

if TYPE_CHECKING:
    from textual.driver import Driver

    from raidtui.client.engine_client import EngineClient
    from raidtui.model.disk import Disk
    from raidtui.model.protocol import DiskList
    from raidtui.tui.run.desk import RunDesk
    from raidtui.tui.run.feed import RunSaid


SCREENS = {
    "disks": "Every disk of the server",
    "compose": "Roles, layouts, workloads",
    "plan": "What will happen, and consent to it",
    "run": "The run that is going on",
    "results": "Runs and results, compared",
}
"""Screens in the order of their keys, with their tooltips."""


_LATE_S: Final = 30.0
"""Delay of an expected scan after which the previous list is stale."""
_USUAL_S: Final = 60.0
"""Interval of scans if the engine does not announce the next one."""


class Seen(NamedTuple):
    """Time of a reading."""

    what: str
    """Noun of the listed objects: `disks`, `runs`."""
    at_s: float
    """Time by the application's clock."""
    limit_s: float | None = None
    """Age at which it is stale; None if only a change makes it old."""

    def stale(self, now_s: float) -> bool:
        return self.limit_s is not None and now_s - self.at_s >= self.limit_s

    def words(self, now_s: float) -> str:
        """`disks seen 3 s ago`; with a sign once it is stale."""
        seconds = max(0, int(now_s - self.at_s))
        minutes, hours = seconds // 60, seconds // 3600
        age = f"{hours} h ago" if hours else f"{minutes} min ago" if minutes else f"{seconds} s ago"
        return f"! {self.what} last seen {age}: stale" if self.stale(now_s) else f"{self.what} seen {age}"


def of_disks(found: DiskList, now_s: float, before: Seen | None) -> Seen:
    """Return the time of a list of disks that has just arrived. A requested list keeps the interval announced `before`."""
    if found.again_s or before is None:
        return Seen("disks", now_s - found.age_s, (found.again_s or _USUAL_S) + _LATE_S)
    return before._replace(at_s=now_s - found.age_s)


class Freeing(NamedTuple):
    """A disk that is being freed, or was freed, from this application."""

    progress: str = ""
    """`42 %: writing zeroes`; empty once it is done."""
    saved: str = ""
    """Folder on the server with its first and last bytes as they were."""

    @property
    def going(self) -> bool:
        return bool(self.progress)


@dataclass
class DiskFreeing(Message):
    """The freeing of a disk went on, ended (with `saved`), or failed (None)."""

    disk: str
    state: Freeing | None


@dataclass
class LinkChanged(Message):
    """The connection to the engine came or went."""

    state: LinkState


@dataclass
class DisksSeen(Message):
    """The engine sent the list of all disks, because one came, went or changed."""

    disks: DiskList


class SharedApp(KeyQueue):
    """The part of the application that screens use. `app.py` adds the screens, so imports go one way."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide"), (160, "-very-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (36, "-tall")]  # noqa: RUF012

    def __init__(
        self, connect: Callable[[], EngineClient], *, place: str, on: str = "", first: EngineClient | None = None,
        ask: Callable[[], EngineClient] | None = None, ansi_color: bool | None = None
    ) -> None:  # fmt: skip
        """`connect` opens a connection to the engine at `place`, which `--on {on}` names on the command line.

        `first` is a connection that is open already. `ask` opens one that may ask for a password on a plain terminal.
        """
        self.shown_lines = ShownLines()
        super().__init__(ansi_color=ansi_color)
        self.place = place
        self.on_words = ["--on", on] if on else []
        self.link = Link(
            connect,
            on_change=lambda state: self.say(LinkChanged(state)),
            on_disks=lambda found: self.say(DisksSeen(found)),
            first=first,
        )
        self.link_state = LinkState()
        self.link_changed: Signal[LinkState] = Signal(self, "link")
        self.disks: DiskList | None = None
        """None until the engine has answered for the first time."""
        self.disks_seen: Seen | None = None
        """Time at which the engine scanned them."""
        self.disks_changed: Signal[DiskList] = Signal(self, "disks")
        self.looking = False
        """True while a requested scan of the disks has not been answered."""
        self.freeing: dict[str, Freeing] = {}
        """Disks that were freed or are being freed from here, by id."""
        self.freeing_changed: Signal[str] = Signal(self, "freeing")
        self.now: Callable[[], float] = time.monotonic
        self.history = History()
        self.draft_changed: Signal[Draft] = Signal(self, "draft")
        self.drafts = DraftKeeper(self)
        self.hosts: dict[str, tuple[str, ...]] = {}
        """ssh destinations of the hosts beside the storage server, by group."""
        self.disks_there: dict[str, tuple[Disk, ...]] = {}
        """Disks of those hosts as they were last seen on the screen Disks, by host: `nodes-1`."""
        self.notices: list[str] = []
        """Sentences about settings of the operator that were ignored."""
        self.run_words = ""
        """Progress of the run that goes on, for the head of every screen; empty if there is none."""
        self.run_changed: Signal[str] = Signal(self, "run-words")
        self.wanted_result: Path | None = None
        """Result that the screen Results opens next."""
        self.result_files: list[Path] = []
        """Result files named on the command line, beside those in the results folder."""
        self._ask = ask

    def say(self, message: Message) -> None:
        """Post a message from any thread; ignored once the application ends."""
        if self.is_running:
            self.post_message(message)

    # The terminal.

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our own variables of a theme; a theme file may set others."""
        panel = self.current_theme.panel or self.current_theme.to_color_system().generate()["panel"]
        return {"pane-border": panel}

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        return SparingDriver if usual is SparingDriver.__base__ else usual

    def on_resize(self, event: events.Resize) -> None:
        self.shown_lines.forget()

    def action_redraw(self) -> None:
        """Send every line again, where another program wrote to the terminal."""
        self.shown_lines.forget()
        self.screen.refresh()

    # The connection and the disks.

    def on_link_changed(self, message: LinkChanged) -> None:
        self.link_state = message.state
        self.link_changed.publish(message.state)
        self.desk.link_changed(message.state)

    def on_disks_seen(self, message: DisksSeen) -> None:
        if self.disks is not None:
            from raidtui.tui.disks.hotplug import changes  # the first list does without it

            for words, alarming in changes(self.disks, message.disks, self.draft.bind):
                self.notify(words, severity="warning" if alarming else "information", timeout=10, markup=False)
        self.disks = message.disks
        self.disks_seen = of_disks(message.disks, self.now(), self.disks_seen)
        self.disks_changed.publish(message.disks)

    def on_disk_freeing(self, message: DiskFreeing) -> None:
        if message.state is not None:
            self.freeing[message.disk] = message.state
        else:
            self.freeing.pop(message.disk, None)
        self.freeing_changed.publish(message.disk)

    @property
    def every_disk(self) -> tuple[Disk, ...]:
        """Return the storage server's disks and those seen of other hosts, which have their host before their id."""
        import msgspec  # the first frame does without them

        from raidtui.model.disk import on_host

        here = self.disks.disks if self.disks is not None else ()
        there = ((host, disk) for host, disks in self.disks_there.items() for disk in disks)
        return (*here, *(msgspec.structs.replace(disk, id=on_host(host, disk.id)) for host, disk in there))

    def see_disks_there(self, disks: dict[str, tuple[Disk, ...]]) -> None:
        """Keep what was seen of other hosts' disks, and tell the screens if it is new."""
        if disks != self.disks_there:
            self.disks_there = disks
            if self.disks is not None:
                self.disks_changed.publish(self.disks)

    def look_at_disks(self) -> None:
        """Have the engine scan every disk now; the answer comes as `disks_changed`."""
        if not self.looking:
            self.looking = True
            self.run_worker(self._look_at_disks(), group="look")

    async def _look_at_disks(self) -> None:
        from raidtui.model.problem import ProblemError
        from raidtui.model.protocol import DiskList

        try:
            found: DiskList = await self.link.call("disks", None, DiskList)
        except ProblemError as error:
            complain(self, error)
        else:
            self.say(DisksSeen(found))
        finally:
            self.looking = False

    def action_reconnect(self) -> None:
        if self._ask is None or self.link_state.up:
            self.link.retry()
            return
        from raidtui.model.problem import ProblemError

        try:
            with self.suspend():
                opened = self._ask()
        except ProblemError as error:
            complain(self, error)
        else:
            self.link.retry(opened)

    # The run.

    @cached_property
    def desk(self) -> RunDesk:
        """The run that the screen Run shows. Imported late: the first frame does without it."""
        from raidtui.tui.run.desk import RunDesk

        return RunDesk(self, self.link, self.say)

    def on_run_said(self, message: RunSaid) -> None:
        self.desk.take(message)
        if (words := self.desk.badge) != self.run_words:
            self.run_words = words
            self.run_changed.publish(words)

    def follow_run(self, run: str) -> None:
        """Show a run while it goes on, on the screen Run."""
        self.desk.follow(run)
        self.call_later(self.switch_mode, "run")

    def open_run(self, run: str) -> None:
        """Show an earlier run of the server, all its records, on the screen Run."""
        self.desk.open(run)
        self.call_later(self.switch_mode, "run")

    def show_result(self, path: Path) -> None:
        """Open a saved result on the screen Results."""
        self.wanted_result = path
        self.call_later(self.switch_mode, "results")

    def open_result(self, source: Path | bytes) -> None:
        """Show a result file on the screen Run, or a notice if it cannot be read."""
        self.desk.open_result(source)
        self.call_later(self.switch_mode, "run")

    # The draft.

    @property
    def draft(self) -> Draft:
        return self.history.draft

    def change_draft(self, draft: Draft, what: str, *, anew: bool = False) -> None:
        """Replace the current draft; `what` names the change for undo. `anew`: by one that is no edit of it."""
        if self.history.change(draft, what, anew=anew):
            self.tell_draft()

    def tell_draft(self) -> None:
        """The draft was changed or saved: keep it, and tell the screens."""
        self.drafts.changed()
        self.draft_changed.publish(self.draft)

    def undo(self) -> None:
        self._stepped("undone", self.history.undo())

    def redo(self) -> None:
        self._stepped("done again", self.history.redo())

    def _stepped(self, verb: str, what: str | None) -> None:
        if what is not None:
            self.notify(f"{verb}: {clean(what)}", timeout=2, markup=False)
            self.tell_draft()
