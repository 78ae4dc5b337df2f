"""The screen Disks: every disk of the server, why it is not free, and its role in the draft; disks of the draft's hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from raidtui.base.text import clean, plural
from raidtui.model.disk import on_host
from raidtui.tui.disks.clusters import ClusterBar, cluster_details
from raidtui.tui.disks.entries import DiskEntries, Entry, by_id, fitting, on_this_host, ordered, same_model
from raidtui.tui.disks.notices import empty_words, not_freeable, not_selectable, title_parts
from raidtui.tui.disks.roles import ask_role
from raidtui.tui.disks.smart import SmartData
from raidtui.tui.disks.table import Detail, DiskTable, detail
from raidtui.tui.draft import Draft, host_groups, with_role, without_disks
from raidtui.tui.screens.base import ModeScreen
from raidtui.tui.shared import Seen
from raidtui.tui.widgets.glyphs import glyphs

if TYPE_CHECKING:
    from raidtui.model.host_view import HostView
    from raidtui.tui.disks.hosts import HostBar, HostSeen


class DisksScreen(ModeScreen):
    """Live table of disks and the details of one. Free disks can be selected and given to roles of the draft."""

    MODE = "disks"
    AUTO_FOCUS = "#disk-table"
    DEFAULT_CSS = """
    DisksScreen #disk-panes { height: 1fr; }
    DisksScreen #disk-list { width: 1fr; padding: 0; }
    DisksScreen #disk-detail { width: 40; scrollbar-size-vertical: 1; }
    DisksScreen.-very-wide #disk-detail { width: 58; }
    DisksScreen.-narrow #disk-detail { display: none; width: 1fr; }
    DisksScreen.-narrow.-detail #disk-detail { display: block; }
    DisksScreen.-narrow.-detail #disk-list { display: none; }
    DisksScreen #disk-filter { display: none; height: 1; background: $panel; padding: 0 1; }
    DisksScreen #disk-filter.-open { display: block; }
    DisksScreen #disk-filter > Static { width: 9; color: $text-muted; }
    DisksScreen #disk-filter > Input { width: 1fr; background: $panel; }
    DisksScreen.-tall ClusterBar { max-height: 14; }
    DisksScreen DiskTable { background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "all_alike", "All alike", id="disks.alike", tooltip="Select all free disks of this model and size"),
        Binding("r", "give_role", "Role", id="disks.role", tooltip="Give the selected disks to a role of the draft"),
        Binding("x,delete", "take_out", "No role", id="disks.no_role", tooltip="Take the disks out of their role"),
        Binding("f", "free", "Free it", id="disks.free",
                tooltip="Free this disk: show what is left on it and used by nobody (stale superblock, label, filesystem, "
                "partitions), and erase (wipe) it"),
        Binding("c", "clusters", "Cluster", id="disks.clusters",
                tooltip="Details of the storage cluster (Ceph): health, pools, OSDs by host"),
        Binding("slash", "filter", "Filter", id="disks.filter", tooltip="Filter by serial, model, kind, size, use"),
        Binding("ctrl+r", "refresh", "Look", id="disks.refresh", tooltip="Look at every disk again, now"),
        Binding("h", "host(1)", "Hosts", id="disks.host", tooltip="The next host: storage server, then those of the draft"),
        Binding("H", "host(-1)", "Host before", id="disks.host_before", tooltip="The host before", show=False),
        Binding("tab", "other_pane", "Pane", id="disks.pane", tooltip="From the table to the details and back",
                show=False),
        Binding("escape", "back", "Back", id="disks.back", show=False,
                tooltip="Close the details, clear the filter, select nothing"),
        Binding("ctrl+z", "undo", "Undo", id="disks.undo", tooltip="Undo the last change of the draft", show=False),
        Binding("ctrl+y", "redo", "Redo", id="disks.redo", tooltip="Do again what was undone", show=False),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._known_disks = DiskEntries()
        self._bar: HostBar | None = None
        """Hosts of the draft; None as long as none are named."""
        self._entries: dict[str, Entry] = {}
        """All entries by id, including filtered-out ones."""
        self._shown: list[Entry] = []
        self._sort: str | None = None
        self._descending = False
        self._smart = SmartData()
        self._of_clusters = False  # the details are those of a disk
        self._picked_on: dict[str, frozenset[str]] = {}
        """Ids of selected disks by host, including filtered-out ones; the storage server's under the empty name."""

    def body(self) -> ComposeResult:
        with Horizontal(id="disk-panes"):
            with Vertical(id="disk-list", classes="pane"):
                with Horizontal(id="disk-filter"):
                    yield Static("filter /")
                    yield Input(id="disk-filter-text", compact=True)
                yield DiskTable(self._selectable, id="disk-table", empty="")
                yield ClusterBar(id="disk-clusters")
            with Detail(id="disk-detail", classes="pane"):
                yield Static(id="disk-words")

    def on_mount(self) -> None:
        app = self.raidtui
        app.disks_changed.subscribe(self, lambda _: self._show())
        app.freeing_changed.subscribe(self, lambda _: self._show())
        app.draft_changed.subscribe(self, lambda _: self._changed())
        app.link_changed.subscribe(self, lambda _: self._changed())
        self._show()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._look_at_hosts()

    @property
    def seen(self) -> Seen | None:
        return self.raidtui.disks_seen

    @property
    def _table(self) -> DiskTable:
        return self.query_one(DiskTable)

    @property
    def _filter(self) -> Input:
        return self.query_one("#disk-filter-text", Input)

    @property
    def _here(self) -> Entry | None:
        key = self._table.cursor_key
        return None if key is None else self._entries.get(key)

    def _changed(self) -> None:
        self._look_at_hosts()
        self._show()

    def _show(self) -> None:
        """Update everything; the table redraws only changed lines."""
        entries = self._listed()
        self._entries = {entry.id: entry for entry in entries}
        self._picked = frozenset(key for key in self._picked if self._selectable(key))
        self._shown = ordered(fitting(entries, self._filter.value), self._sort, self._descending)
        table = self._table
        empty = empty_words(self.raidtui, self._other_host, bool(entries), self._filter.value)
        if empty != table.empty:
            table.empty = empty
            table.redraw()
        table.present(self._shown)
        self._mark()
        self._show_detail()

    def _listed(self) -> list[Entry]:
        """Return the disks of the marked host with their roles. Ids of another host's have its name before them."""
        found, ref = self.raidtui.disks, self._marked_ref
        of_host = on_this_host(self.raidtui.draft, ref)
        if (host := self._other_host) is None:
            here = self._known_disks.entries(found.disks if found else (), of_host)
            return [one._replace(freeing=self.raidtui.freeing.get(one.id)) for one in here]
        entries = DiskEntries().entries(host.disks, of_host) if host.disks else []
        return [one._replace(facts=one.facts._replace(id=on_host(ref, one.id))) for one in entries]

    def _mark(self) -> None:
        table = self._table
        visible = self._picked.intersection(entry.id for entry in self._shown)
        if table.selected != visible:
            table.selected = visible
        self._show_title()
        self.refresh_bindings()

    def _show_title(self) -> None:
        shown = len(self._shown) if self._filter.value else None
        dot, pane = f" {glyphs().dot} ", self.query_one("#disk-list")
        pane.border_title = dot.join(title_parts(self._other_host, self._entries.values(), len(self._picked), shown))
        roles = [f"{clean(role, 31)} {len(disks)}" for role, disks in self.raidtui.draft.bind.items()][:6]
        pane.border_subtitle = dot.join(Text(words).markup for words in roles)

    def _show_detail(self) -> None:
        if len(self.query("DiskTable, #disk-words")) < 2:  # a disk may answer while the screen is removed
            return
        words, views = self.query_one("#disk-words", Static), self.query_one(ClusterBar).views
        self.query_one(Detail).border_title = "Clusters" if self._of_clusters and views else "Details"
        if self._of_clusters and views:
            words.update(cluster_details(views, glyphs()))
            return
        beside = tuple(self._entries.values()) if self.has_class("-very-wide") else ()
        here = self._here
        disk = here.facts.disk if here is not None and self._other_host is None and not here.facts.gone else None
        smart = self._smart.look(self, disk, self._show_detail)
        words.update(detail(here, glyphs(), beside, smart))

    def _selectable(self, key: str) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.facts.free

    @on(DiskTable.SelectionChanged)
    def _selected(self) -> None:
        table = self._table
        visible = frozenset(entry.id for entry in self._shown)
        self._picked = self._picked - visible | table.selected & visible
        self._show_title()
        self.refresh_bindings()

    @on(DiskTable.Unselectable)
    def _refused(self, event: DiskTable.Unselectable) -> None:
        if (entry := self._entries.get(event.key)) is not None:
            self._show_reason(entry)

    def _show_reason(self, entry: Entry) -> None:
        self.notify(not_selectable(entry), severity="warning", markup=False, timeout=8)

    def action_all_alike(self) -> None:
        """Select every shown free disk of the same model and size as the one under the cursor."""
        if (here := self._here) is None:
            return
        found = same_model(self._shown, here)
        if not found:
            self.notify(f"no disk like {here.facts.serial} is free", severity="warning", markup=False)
        self._picked |= found
        self._mark()

    def _chosen_entries(self) -> list[Entry]:
        """Return the selected disks in table order, else the one under the cursor."""
        if self._picked:
            order = {entry.id: index for index, entry in enumerate(self._shown)}
            return sorted((self._entries[key] for key in self._picked), key=lambda e: order.get(e.id, len(order)))
        return [self._here] if self._here is not None else []

    def action_clusters(self) -> None:
        """Show the details of the clusters, or those of the disk again."""
        if self._of_clusters:
            self.action_other_pane()
        else:
            self._of_clusters = True
            self._opened()

    def on_clusters_seen(self) -> None:
        self._show_detail()
        self.refresh_bindings()

    def action_give_role(self) -> None:
        meant = self._chosen_entries()
        if not meant:
            return
        if not meant[0].facts.free:
            self._show_reason(meant[0])
            return
        self.app.push_screen(ask_role(self.raidtui.draft, meant), lambda role: self._give(role, meant))

    def _give(self, role: str | None, entries: list[Entry]) -> None:
        """Give disks to a role, except those that disappeared meanwhile."""
        still = [entry for entry in entries if self._selectable(entry.id)]
        if role and still:
            self._picked = frozenset()
            self._mark()
            draft = with_role(self._draft, role, [entry.id for entry in still], self._marked_ref)
            self.raidtui.change_draft(draft, f"{plural(len(still), 'disk')} for {role}")

    def action_take_out(self) -> None:
        entries = [entry for entry in self._chosen_entries() if entry.role]
        if entries:
            words = f"{plural(len(entries), 'disk')} without a role"
            self.raidtui.change_draft(without_disks(self._draft, {entry.id for entry in entries}), words)

    def action_free(self) -> None:
        """Show what is on the disk under the cursor, and ask whether to erase it."""
        if (here := self._here) is None:
            return
        if why := not_freeable(here, self._other_host):
            self.notify(why, severity="warning", timeout=5, markup=False)
            return
        from raidtui.tui.disks.freeing import ask_to_free  # the first frame does without it

        self.notify(f"looking at {here.facts.serial} …", timeout=2, markup=False)
        self.run_worker(ask_to_free(self, here.id), group="free", exclusive=True)

    @property
    def _draft(self) -> Draft:
        return by_id(self.raidtui.draft, self.raidtui.disks.disks if self.raidtui.disks else ())

    def action_undo(self) -> None:
        self.raidtui.undo()

    def action_redo(self) -> None:
        self.raidtui.redo()

    def action_refresh(self) -> None:
        """Look at all disks now; like on other screens, also reconnect and hide the restart notice."""
        link = self.raidtui.link_state
        if link.restarted or not link.up:
            self.raidtui.action_reconnect()
        if link.up:
            self._smart.forget()
            self.raidtui.look_at_disks()
            self.show_age()
            self._look_at_hosts(again=True)
            self.query_one(ClusterBar).ask(again=True)

    @property
    def _other_host(self) -> HostView | None:
        """The marked host if it is not the storage server."""
        return None if self._bar is None else self._bar.marked

    @property
    def _marked_ref(self) -> str:
        """The name of the marked host; empty for the storage server."""
        return self._other_host.ref if self._other_host is not None else ""

    @property
    def _picked(self) -> frozenset[str]:
        """The selected disks of the marked host."""
        return self._picked_on.get(self._marked_ref, frozenset())

    @_picked.setter
    def _picked(self, disks: frozenset[str]) -> None:
        self._picked_on[self._marked_ref] = disks

    def _look_at_hosts(self, *, again: bool = False) -> None:
        """Ask the draft's hosts what they have: once, unless `again`. A run that goes on is not disturbed by itself."""
        app = self.raidtui
        if not app.link_state.up or not self.is_current or not (app.hosts or self._bar):
            return
        from raidtui.tui.disks.hosts import HostBar, named_hosts

        named = named_hosts(app)
        if named == (self._bar.asked if self._bar else {}) and not again:
            return
        if app.run_words and not again:
            return
        if self._bar is None:
            self._bar = HostBar(named)
            self.query_one("#disk-list").mount(self._bar, before=self._table)
        else:
            self._bar.look(named)
        self._show()

    def action_host(self, by: int) -> None:
        """Show the disks of another host; without names of hosts, ask for them."""
        from raidtui.tui.disks.hosts import named_hosts

        if not named_hosts(self.raidtui):
            from raidtui.tui.host_names import ask_hosts

            ask_hosts(self.raidtui, self._look_at_hosts)
        elif self._bar is None:
            self._look_at_hosts(again=True)
        else:
            self._bar.mark(by)
            self._show()

    def on_host_seen(self, message: HostSeen) -> None:
        if self._bar is not None and self._bar.take(message):
            self.raidtui.see_disks_there(self._bar.disks)
            self._show()

    def action_filter(self) -> None:
        self.remove_class("-detail")
        self.query_one("#disk-filter").add_class("-open")
        self._filter.focus()

    @on(Input.Changed, "#disk-filter-text")
    def _filtered(self) -> None:
        self._show()

    @on(Input.Submitted, "#disk-filter-text")
    def _keep_filter(self) -> None:
        if not self._filter.value:
            self.query_one("#disk-filter").remove_class("-open")
        self._table.focus()

    @on(DiskTable.HeaderPressed)
    def _sorted(self, event: DiskTable.HeaderPressed) -> None:
        self._descending = not self._descending if event.key == self._sort else False
        self._sort = event.key
        self._table.sort_by(self._sort, self._descending)
        self._show()

    @on(DiskTable.Highlighted)
    def _moved(self) -> None:
        self._of_clusters = False
        self._show_detail()
        self.query_one(Detail).scroll_home(animate=False)
        self.refresh_bindings()

    @on(DiskTable.Chosen)
    def _chosen(self) -> None:
        self._of_clusters = False
        self._opened()

    def _opened(self) -> None:
        self.add_class("-detail")
        self._show_detail()
        self.query_one(Detail).focus()

    def action_other_pane(self) -> None:
        if self._table.has_focus:
            self._opened()
        else:
            self.remove_class("-detail")
            self._of_clusters = False
            self._show_detail()
            self._table.focus()

    def action_back(self) -> None:
        """Leave the details, else clear the filter, else clear the selection."""
        if self.focused is self.query_one(Detail):
            self.action_other_pane()
        elif self.query_one("#disk-filter").has_class("-open"):
            self.query_one("#disk-filter").remove_class("-open")
            self._filter.value = ""
            self._table.focus()
        elif self._picked:
            self._picked = frozenset()
            self._mark()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey actions that have no disk to work on."""
        if action == "host":
            return bool(host_groups(self.raidtui.draft))
        if action == "clusters":
            return bool(self.query(ClusterBar) and self.query_one(ClusterBar).views)
        if action in ("all_alike", "give_role", "free"):
            return True if self._entries else None
        if action == "take_out":
            return True if any(entry.role for entry in self._chosen_entries()) else None
        return True
