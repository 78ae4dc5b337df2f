"""The hosts of the draft on the screen Disks: asked over the storage server, one of them marked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from raidtui.base.text import clean, clean_lines
from raidtui.front.hosts import network_lines, system_words
from raidtui.model.host import STORAGE
from raidtui.model.host_view import HostList, HostsRequest, HostView
from raidtui.model.problem import Problem, ProblemError
from raidtui.tui.disks.entries import hanging
from raidtui.tui.draft import host_groups
from raidtui.tui.widgets.glyphs import glyphs

if TYPE_CHECKING:
    from raidtui.model.disk import Disk
    from raidtui.tui.shared import SharedApp

Named = dict[str, tuple[str, ...]]


@dataclass
class HostSeen(Message):
    """Something became known of a host, or the engine could not ask at all."""

    number: int
    """Number of the look."""
    view: HostView | None = None
    problems: tuple[Problem, ...] = ()


class HostBar(Static):
    """A line of hosts, one of which is marked, and what that one is. Hidden while no hosts are named."""

    DEFAULT_CSS = """
    HostBar { display: none; height: auto; max-height: 9; padding: 0 1; background: $surface; }
    HostBar.-named { display: block; }
    """

    def __init__(self, named: Named) -> None:
        super().__init__()
        self._views: dict[str, HostView] = {}
        self._problems: tuple[Problem, ...] = ()
        self._marked = 0
        self._number = 0
        self._began_s = 0.0
        self.asked = named
        """Hosts of the latest look."""

    def on_mount(self) -> None:
        self._ticking = self.set_interval(1.0, self._draw, pause=True)
        self.look(self.asked)

    @property
    def marked(self) -> HostView | None:
        """The marked host; None for the storage server."""
        return self._views[self._refs[self._marked]] if self._marked else None

    @property
    def _refs(self) -> list[str]:
        return [STORAGE, *(ref for ref in self._views if ref != STORAGE)]

    def mark(self, by: int) -> None:
        """Mark the next host, or another one."""
        self._marked = (self._marked + by) % len(self._refs)
        self._draw()

    def look(self, named: Named) -> None:
        """Ask these hosts anew. What is known of a host stays until it has answered."""
        self.asked, self._problems, self._number = named, (), self._number + 1
        self._began_s = time.monotonic()
        known, self._views = self._views, {}
        if STORAGE in known:
            self._views[STORAGE] = known[STORAGE]
        for ref, address in ((f"{group}-{n}", one) for group, found in named.items() for n, one in enumerate(found, 1)):
            before = known.get(ref)
            kept = before if before and before.address == address else HostView(ref=ref, address=address)
            self._views[ref] = msgspec.structs.replace(kept, waits_for="ssh", problems=())
        self._marked = min(self._marked, len(self._refs) - 1)
        self.set_class(bool(named), "-named")
        if named:
            self._ticking.resume()
            app = cast("SharedApp", self.app)
            app.run_worker(_ask(self, app, HostsRequest(named), self._number), group="hosts", exclusive=True)
        self._draw()

    def take(self, seen: HostSeen) -> bool:
        """Take what became known; False if it is of an earlier look."""
        if seen.number != self._number:
            return False
        if (view := seen.view) is None:
            self._problems = seen.problems
            self._views = {ref: msgspec.structs.replace(one, waits_for="") for ref, one in self._views.items()}
            self._ticking.pause()
        elif view.waits_for and (known := self._views.get(view.ref)) is not None and known.disks:
            self._views[view.ref] = msgspec.structs.replace(known, waits_for=view.waits_for)
        else:
            self._views[view.ref] = view
        self._draw()
        return True

    @property
    def disks(self) -> dict[str, tuple[Disk, ...]]:
        """Return the disks that were seen of each host but the storage server."""
        return {ref: view.disks for ref, view in self._views.items() if ref != STORAGE and view.disks}

    def _switch(self) -> Text:
        """Return the line of hosts; those before the marked one are left out as far as there is no room."""
        signs, parts = glyphs(), list[Text]()
        for number, ref in enumerate(self._refs):
            view, here = self._views.get(ref), number == self._marked
            state = "" if view is None else " …" if view.waits_for else " !" if view.problems else ""
            part = Text().append(f"{signs.now} " if here else "  ", "bold")
            parts.append(part.append(clean(ref, 40) + state, "bold reverse" if here else "").append(" "))
        first, room = 0, self.size.width - 4
        while first < self._marked and sum(part.cell_len for part in parts[first : self._marked + 1]) > room:
            first += 1
        return Text("… " if first else "", no_wrap=True, overflow="ellipsis").append_text(Text().join(parts[first:]))

    def _draw(self) -> None:
        self.update(Group(*self._lines()))

    def _lines(self) -> Iterator[RenderableType]:
        signs = glyphs()
        yield self._switch()
        for problem in self._problems:
            yield hanging(f"  {signs.bad}", Text(clean_lines(problem.message)))
        if (view := self._views.get(self._refs[self._marked])) is None:
            return
        if view.waits_for:
            waited_s = time.monotonic() - self._began_s
            yield Text(f"  {clean(view.address, 60)}: {clean(view.waits_for, 60)} … {waited_s:.0f} s", "dim")
        yield from host_lines(view)


def host_lines(view: HostView) -> Iterator[RenderableType]:
    """Yield what a host is: system, network, and what is wrong with it."""
    signs = glyphs()
    if view.kernel:
        address = f"{clean(view.address, 60)}: " if view.address else ""
        yield Text(f"  {address}{system_words(view)}", overflow="ellipsis", no_wrap=True)
    for words in network_lines(view):
        yield Text(f"  {words}", "dim", overflow="ellipsis", no_wrap=True)
    for problem in view.problems:
        yield hanging(f"  {signs.bad}", Text(f"{clean_lines(problem.message)} [{clean(problem.code)}]"))
        if problem.remedy:
            yield hanging(f"    {signs.remedy}", Text(clean_lines(problem.remedy), style="dim"))


def named_hosts(app: SharedApp) -> Named:
    """Return the ssh destinations of the groups that the draft has."""
    return {group: app.hosts[group] for group in host_groups(app.draft) if group in app.hosts}


async def _ask(bar: HostBar, app: SharedApp, request: HostsRequest, number: int) -> None:
    """Ask, and post what comes from the thread that reads it."""

    def seen(view: HostView) -> None:
        bar.post_message(HostSeen(number, view))

    problems: tuple[Problem, ...] = ()
    try:
        await app.link.call_with_progress("hosts", request, HostList, HostView, seen)
    except ProblemError as error:
        problems = error.problems
    bar.post_message(HostSeen(number, None, problems))
