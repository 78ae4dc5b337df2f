"""The pane of the hosts: a block for the storage server, and one for each host that loads what it exports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from raidtui.base.text import clean, plural
from raidtui.front.phrases import host_rates
from raidtui.model.host import STORAGE
from raidtui.model.hosts import HostLoad
from raidtui.model.plan import Host
from raidtui.results.rates import iops_text, mb_s_text
from raidtui.tui.run.lines import Lines
from raidtui.tui.run.shown_run import Moment, Story
from raidtui.tui.widgets.glyphs import bar, glyphs, spark

_HISTORY = 40
_BAR_WIDTH = 10
_ROOM_FOR_NAMES = 50
"""Cells from which on interfaces are named, and bars drawn."""
_FULL_PERCENT = 90.0


class HostsPane(Lines):
    """Blocks of hosts, one of which is marked."""

    HELP = """\
## Hosts

The storage server first, then each host that loads what it exports: what it reads and writes on the exported device, its
processors, and its network. `h` marks the next host, `H` the one before.
"""

    def __init__(self, *, id: str, classes: str) -> None:
        super().__init__(id=id, classes=classes)
        self.marked = 0
        """Number of the marked block."""
        self._story, self._moment = Story(), Story().now()

    @property
    def hosts(self) -> list[Host]:
        """The hosts beside the storage server."""
        return hosts_of(self._story)

    def take(self, story: Story, moment: Moment) -> None:
        """Show the hosts at a moment of the run."""
        self._story, self._moment = story, moment
        self._again()

    def mark(self, by: int) -> None:
        """Mark another host and bring it into view."""
        self.marked = (self.marked + by) % (len(self.hosts) + 1)
        self._again()
        first = self.marked * BLOCK_LINES
        if not self.scroll_offset.y <= first <= self.scroll_offset.y + self.size.height - BLOCK_LINES:
            self.scroll_to(y=first, animate=False)

    def _again(self) -> None:
        story, moment, marked = self._story, self._moment, self.marked
        self.show(lambda width: list(host_lines(story, moment, marked, width)))


def hosts_of(story: Story) -> list[Host]:
    """Return the hosts of a run beside the storage server."""
    plan = story.view.plan
    return [host for group in plan.hosts.values() for host in group] if plan else []


def total_words(story: Story, moment: Moment) -> str:
    """Return the rates of all hosts together; empty if none loads anything."""
    loads = [load for host in hosts_of(story) if (load := story.hosts.at(host.ref, moment.at_s)) is not None]
    if not loads:
        return ""
    names = ("read_iops", "write_iops", "read_bytes_per_s", "written_bytes_per_s")
    whole = HostLoad(1.0, **{name: sum(getattr(load, name) for load in loads) for name in names})
    return f"{plural(len(loads), 'host')}: {host_rates(whole) or 'no I/O'}"


BLOCK_LINES = 4
"""Lines of a block: name, rates, processors and network, and a blank one."""


def host_lines(story: Story, moment: Moment, marked: int, width: int) -> Iterator[Text]:
    """Yield the blocks of all hosts, `BLOCK_LINES` each."""
    yield from _storage(moment, width, marked=marked == 0)
    for number, host in enumerate(hosts_of(story), 1):
        yield from _client(host, story.hosts.until(host.ref, moment.at_s, _HISTORY), width, marked=marked == number)


def _head(name: str, about: str, width: int, *, marked: bool) -> Text:
    line = Text(no_wrap=True).append(f"{glyphs().now} " if marked else "  ", "accent")
    line.append(clean(name, 40), "strong").append(f"  {clean(about, 100)}", "dim")
    line.truncate(max(0, width), overflow="ellipsis")
    return line


def _storage(moment: Moment, width: int, *, marked: bool) -> Iterator[Text]:
    frames = moment.frames
    cell = moment.cell.devices if moment.cell else {}
    disks = [name for name, role in cell.items() if role != "target"] or list(cell)
    about = f"storage server, {plural(len(disks), 'disk')}" if disks else "storage server"
    yield _head(STORAGE, about, width, marked=marked)
    rates = [found for name in disks if (found := frames.rates(name)) is not None]
    flows = [(word, sum(f.ios_per_s for f in part), sum(f.bytes_per_s for f in part)) for word, part in (
        ("read", [one.read for one in rates]), ("write", [one.write for one in rates]))]  # fmt: skip
    words = " · ".join(f"{word} {iops_text(ios)} IOPS, {mb_s_text(moved)} MB/s" for word, ios, moved in flows if ios)
    yield Text(f"  {words}" if words else "  idle", style="" if words else "dim", no_wrap=True)
    moved = {name: seen for name in frames.networks if name != "lo" and (seen := frames.network_rates(name)) is not None}
    network = {name: (one.received_bytes_per_s, one.sent_bytes_per_s) for name, one in moved.items() if one.noticeable}
    yield _machine(frames.cores_used(), len(frames.cpus), network.items(), width)
    yield Text()


def _client(host: Host, lately: Sequence[HostLoad], width: int, *, marked: bool) -> Iterator[Text]:
    load = lately[-1] if lately else None
    yield _head(host.ref, " ".join((host.address, *(load.devices if load else ()))), width, marked=marked)
    if load is None:
        yield Text("  loads nothing now", style="dim")
        yield Text()
        yield Text()
        return
    line = Text(f"  {host_rates(load) or 'no I/O'}", no_wrap=True)
    if load.util_percent is not None:
        full = load.util_percent >= _FULL_PERCENT
        util = f"  util {load.util_percent:.0f} %{' !' if full else ''}"
        if line.cell_len + len(util) <= width:
            line.append(util, "warn" if full else "dim")
    room = min(_HISTORY, width - line.cell_len - 2)
    if room >= 5:
        line.append("  ").append_text(
            spark([one.read_bytes_per_s + one.written_bytes_per_s for one in lately][-room:], room, style="accent")
        )
    yield line
    yield _machine(load.cores_used, load.cores, load.networks.items(), width)
    yield Text()


def _machine(used: float | None, cores: int, networks: Iterable[tuple[str, tuple[float, float]]], width: int) -> Text:
    """Return the use of the processors, and the traffic of the busiest interfaces."""
    line, small = Text("  ", no_wrap=True), width < _ROOM_FOR_NAMES
    if used is not None and cores:
        share = 100 * used / cores
        full = share >= _FULL_PERCENT
        line.append("CPU ", "dim")
        if not small:
            line.append_text(bar(share, _BAR_WIDTH, "warn" if full else "accent")).append(" ")
        line.append(f"{used:.1f} of {cores}{' !' if full else ''}", "warn" if full else "")
    for name, (received, sent) in networks:
        part = Text("" if small else f"  {clean(name, 15)}").append(" in ", "dim").append(mb_s_text(received))
        part.append(" out ", "dim").append(mb_s_text(sent)).append(" MB/s", "dim")
        if line.cell_len + part.cell_len > width:
            break
        line.append_text(part)
    return line
