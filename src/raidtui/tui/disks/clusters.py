"""Clusters on the screen Disks: a bar below the table, which appears where there are some, and their details."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from raidtui.base.text import clean, plural
from raidtui.model.problem import ProblemError
from raidtui.tui.disks.entries import hanging
from raidtui.tui.screens.base import ModeScreen
from raidtui.tui.widgets.glyphs import Glyphs, glyphs

if TYPE_CHECKING:
    from raidtui.model.cluster import ClusterView

_EVERY_S: Final = 60.0
"""Pause between two looks, while the screen is shown and no run goes on."""
_MOST_HOSTS: Final = 6
_MOST_COMPLAINTS: Final = 3


@dataclass
class ClustersSeen(Message):
    """The clusters have answered."""


class ClusterBar(Static):
    """A line for each cluster with what is wrong; pools and hosts too on a tall terminal. Hidden where there is none.

    It asks in the background. A cluster that was never reached from here is not shown.
    """

    DEFAULT_CSS = """
    ClusterBar { display: none; height: auto; max-height: 5; padding: 0 1; background: $surface; }
    ClusterBar.-known { display: block; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.views: tuple[ClusterView, ...] = ()
        """Clusters that were reached at least once."""
        self._asking = False

    def on_mount(self) -> None:
        self._screen.raidtui.link_changed.subscribe(self, lambda _: self.ask())
        self.set_interval(_EVERY_S, self.ask)
        self.ask()

    def on_resize(self) -> None:
        self._draw()

    @property
    def _screen(self) -> ModeScreen:
        return cast(ModeScreen, self.screen)

    def ask(self, *, again: bool = False) -> None:
        """Ask for the clusters, unless they are being asked. A run that goes on is not disturbed, unless `again`."""
        app = self._screen.raidtui
        if app.link_state.up and self._screen.is_current and not self._asking and (again or not app.run_words):
            self._asking = True
            self.run_worker(self._ask(), group="clusters")

    async def _ask(self) -> None:
        from raidtui.model.cluster import ClusterList  # the first frame does without it

        try:
            found: ClusterList = await self._screen.raidtui.link.call("clusters", None, ClusterList)
        except ProblemError:
            return  # the engine is gone, which the screen says already
        finally:
            self._asking = False
        known = {(view.kind, view.conf) for view in self.views}
        views = tuple(view for view in found.clusters if view.health is not None or (view.kind, view.conf) in known)
        if views != self.views:
            self.views = views
            self.set_class(bool(views), "-known")
            self._draw()
            self.post_message(ClustersSeen())

    def _draw(self) -> None:
        if self.views:
            tall = self.screen.has_class("-tall")
            self.update(Group(*(line for view in self.views for line in bar_lines(view, glyphs(), tall=tall))))


def bar_lines(view: ClusterView, signs: Glyphs, *, tall: bool) -> Iterator[RenderableType]:
    """Yield the lines of a cluster in the bar."""
    from raidtui.front.clusters import complaints, host_line, summary  # the first frame does without it

    sign = signs.good if view.health == "ok" else "!"
    yield Text(f"{sign} {summary(view)}", "" if view.health == "ok" else "bold", overflow="ellipsis", no_wrap=True)
    if view.health is None:
        return
    wrong = [complaint.words for complaint in complaints(view) if complaint.counts]
    for words in wrong[:_MOST_COMPLAINTS]:
        yield Text(f"  {words}", overflow="ellipsis", no_wrap=True)
    if not tall:
        return
    if view.pools:
        pools = ", ".join(f"{clean(pool.name, 40)} {pool.coding}" for pool in view.pools)
        yield Text(f"  pools: {pools}", "dim", overflow="ellipsis", no_wrap=True)
    hosts = list(view.hosts.items())
    for host, osds in hosts[:_MOST_HOSTS]:
        yield Text(f"  {host_line(host, osds)}", "dim", overflow="ellipsis", no_wrap=True)
    if len(hosts) > _MOST_HOSTS:
        yield Text(f"  and {plural(len(hosts) - _MOST_HOSTS, 'more host')}", "dim")


def cluster_details(views: Sequence[ClusterView], signs: Glyphs) -> RenderableType:
    """Return everything about these clusters, for the details pane."""
    return Group(*(part for view in views for part in (*_details(view, signs), Text())))


def _details(view: ClusterView, signs: Glyphs) -> Iterator[RenderableType]:
    from raidtui.front import clusters as words  # the first frame does without it

    yield Text(words.summary(view), "bold")
    for complaint in words.complaints(view):
        yield hanging("!" if complaint.counts else signs.dot, Text(complaint.words, "" if complaint.counts else "dim"))
    if line := words.groups_line(view):
        yield Text(line, "dim")
    if view.pools:
        yield Text()
        yield _grid(words.POOL_TITLES, words.pool_rows(view))
    for host, osds in view.hosts.items():
        yield Text()
        yield Text(words.host_line(host, osds), "bold")
        yield _grid(words.OSD_TITLES, map(words.osd_row, osds))


def _grid(titles: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Table:
    """Return a table of texts under their titles; only the first column gives way."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(overflow="fold")
    for _ in titles[1:]:
        grid.add_column(no_wrap=True)
    grid.add_row(*(Text(title.lower(), "dim") for title in titles))
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid
