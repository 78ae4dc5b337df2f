"""The screen Plan: steps, costs and erased disks of the plan, and consent to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from raidtui.base.text import clean, plural
from raidtui.client.engine_client import EngineClient
from raidtui.front import follow
from raidtui.front.plan import replay_line
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.protocol import DiskList, PlanRequest
from raidtui.model.units import duration_text
from raidtui.tui.compose.files import save
from raidtui.tui.draft import Draft, host_groups, names_in
from raidtui.tui.host_names import ask_hosts
from raidtui.tui.plan.dialogs import ChoiceDialog, ConsentDialog
from raidtui.tui.plan.keeping import ask_keep
from raidtui.tui.plan.panes import (
    StepTree,
    commands_text,
    disk_facts,
    lacks_list,
    missing,
    outdated_disks,
    overview,
    refused,
    request_of,
)
from raidtui.tui.screens.base import ModeScreen
from raidtui.tui.shared import Seen


class Overview(VerticalScroll):
    """Pane with costs, disks and warnings of the plan."""

    HELP = """\
## The plan

The plan of the draft: its steps, time, writes and erased disks. **tab** goes to the steps, **s** asks for your consent and
starts, **e** makes it a rehearsal, **o** chooses layouts and workloads. **b** plans one layout that is built for good: it
stays, mounted where you say; nothing is measured, and **b** again plans the measurement. **w** saves the scenario, **y**
copies the command line that does the same with the saved file.
"""


class PlanScreen(ModeScreen):
    """The draft's plan, requested from the engine when draft, options or disks changed."""

    MODE = "plan"
    DEFAULT_CSS = """
    PlanScreen #plan-panes { height: 1fr; }
    PlanScreen #plan-overview { width: 1fr; scrollbar-size-vertical: 1; }
    PlanScreen #plan-steps { width: 1fr; padding: 0; display: none; }
    PlanScreen.-planned #plan-steps { display: block; }
    PlanScreen.-planned.-narrow #plan-steps { display: none; }
    PlanScreen.-planned.-narrow.-steps #plan-steps { display: block; }
    PlanScreen.-planned.-narrow.-steps #plan-overview { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "consent", "Start", id="plan.start", tooltip="Consent to what is erased, and start"),
        Binding("e", "rehearse", "Rehearsal", id="plan.quick", tooltip="At most 3 s a workload, or in full"),
        Binding("o", "choose", "Only", id="plan.only", tooltip="Choose layouts and workloads"),
        Binding("b", "build", "Build for good", id="plan.build", show=False,
                tooltip="Build one layout for good, or measure again"),
        Binding("h", "hosts", "Hosts", id="plan.hosts", tooltip="Name the hosts that load what the server exports",
                show=False),
        Binding("tab", "other_pane", "Steps", id="plan.pane", tooltip="From the overview to the steps and back"),
        Binding("c", "copy_commands", "Copy all", id="plan.copy", tooltip="Copy every command of the plan"),
        Binding("y", "copy_line", "Copy line", id="plan.line", tooltip="Copy the command line that does the same"),
        Binding("w,ctrl+s", "save", "Save", id="plan.save", tooltip="Save the scenario as a JSON file"),
        Binding("p", "again", "Again", id="plan.again", tooltip="Plan again"),
        Binding("escape", "to_overview", "Back", id="plan.back", tooltip="Back to the overview", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._options = Options()
        self._plan: Plan | None = None
        self._request: PlanRequest | None = None
        """Request that the current plan or refusal answers."""
        self._disks = disk_facts(None)
        """Disk properties at the time of the request."""
        self._problems: tuple[Problem, ...] = ()
        self._not_started: tuple[Problem, ...] = ()
        """Problems that prevented the last start."""
        self._busy = ""
        """Work of the engine that is being waited for; empty if none."""

    def body(self) -> ComposeResult:
        with Horizontal(id="plan-panes"):
            with Overview(id="plan-overview", classes="pane"):
                yield Static(id="plan-words")
            with Vertical(id="plan-steps", classes="pane"):
                yield StepTree(id="plan-tree")

    def on_mount(self) -> None:
        self.raidtui.disks_changed.subscribe(self, self._something_changed)
        self.raidtui.draft_changed.subscribe(self, self._something_changed)
        self.query_one("#plan-steps").border_title = "Steps"
        self.query_one(Overview).focus()
        self._show()

    def on_screen_resume(self) -> None:
        self._ask_if_changed()

    @property
    def seen(self) -> Seen | None:
        return self.raidtui.disks_seen

    def staleness_changed(self) -> None:
        """Update the pane: consent needs a recent list of disks."""
        self._show()

    def _something_changed(self, _: DiskList | Draft) -> None:
        if self.is_current:
            self._ask_if_changed()

    def _ask_if_changed(self) -> None:
        """Request a plan if the draft, the options or the disks changed since the last request."""
        request = request_of(self.raidtui.draft, self._options, self.raidtui.hosts)
        if request == self._request and self._disks == disk_facts(self.raidtui.disks):
            self._show()
        elif self._busy != _STARTING:
            self._ask(request)

    def _ask(self, request: PlanRequest) -> None:
        self._request, self._disks = request, disk_facts(self.raidtui.disks)
        self._problems = ()
        if missing(self.raidtui.draft):
            self._take(None)
            return
        self._busy = _PLANNING
        self._show()
        self.run_worker(self._planned(request), group="plan", exclusive=True)

    async def _planned(self, request: PlanRequest) -> None:
        try:
            plan: Plan = await self.raidtui.link.call("plan", request, Plan)
        except ProblemError as error:
            self._problems = error.problems
            self._take(None)
            if error.problems[0].code == "engine-lost":
                self._request = None
        else:
            self._take(plan)

    def _take(self, plan: Plan | None) -> None:
        self._busy = ""
        self._plan = plan
        self.query_one(StepTree).present(plan)
        self._show()

    def _show(self) -> None:
        self.set_class(self._plan is not None, "-planned")
        self.query_one("#plan-words", Static).update(self._words())
        pane = self.query_one(Overview)
        pane.border_title, pane.border_subtitle = self._titles()
        self.refresh_bindings()

    def _words(self) -> RenderableType:
        above = [refused(self._not_started, "Nothing was started")] if self._not_started else []
        if self.stale and self._plan is not None:
            above.append(outdated_disks())
        if self._problems:
            return Group(*above, refused(self._problems))
        if self._plan is None or self._busy == _STARTING:
            lacks = missing(self.raidtui.draft)
            return lacks_list(lacks) if lacks and not self._busy else Text(self._busy or _PLANNING, style="dim")
        found = self.raidtui.disks
        return Group(*above, overview(self._plan, found.disks if found else (), self._line(self._plan)))

    def _titles(self) -> tuple[str, str]:
        if self._plan is None or self._busy:
            return f"Plan · {self._busy}" if self._busy else "Plan", ""
        erased = f"erases {plural(len(self._plan.erases), 'disk')}" if self._plan.erases else "erases nothing"
        words = f"Plan · {plural(len(self._plan.steps), 'step')} · about {duration_text(self._plan.seconds)} · {erased}"
        return words, f"digest {clean(self._plan.digest, 12).rstrip('…')}"

    def _line(self, plan: Plan) -> str:
        name = clean(plan.scenario.get("name", "") or "scenario", 63)
        return replay_line(plan, f"{name}.json", plan.options, on=self.raidtui.on_words)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey actions that need a plan while there is none."""
        if action == "consent" and self.stale:
            return None
        if action in ("consent", "copy_commands", "copy_line", "other_pane"):
            return True if self._plan is not None and not self._busy else None
        if action == "hosts":
            return bool(host_groups(self.raidtui.draft))
        if action in ("rehearse", "choose") and self._options.keep is not None:
            return None
        if action in ("rehearse", "choose", "again", "build"):
            return True if not missing(self.raidtui.draft) and self._busy != _STARTING else None
        return True

    def action_again(self) -> None:
        self._not_started = ()
        self._ask(request_of(self.raidtui.draft, self._options, self.raidtui.hosts))

    def action_rehearse(self) -> None:
        self._choose(Options(not self._options.quick, self._options.layouts, self._options.workloads))

    def action_choose(self) -> None:
        draft = self.raidtui.draft
        options = request_of(draft, self._options).options
        self.app.push_screen(ChoiceDialog(options, names_in(draft, "layouts"), names_in(draft, "workloads")), self._choose)

    def _choose(self, options: Options | None) -> None:
        if options is not None:
            self._options = options
            self._ask_if_changed()

    def action_build(self) -> None:
        """Ask for the layout to build for good, or go back to the plan that measures."""
        if self._options.keep is not None:
            self._choose(Options())
        else:
            ask_keep(self.raidtui, names_in(self.raidtui.draft, "layouts"), self._options, self._choose)

    def action_hosts(self) -> None:
        ask_hosts(self.raidtui, self._ask_if_changed)

    def action_copy_commands(self) -> None:
        if self._plan is not None:
            self.app.copy_to_clipboard(commands_text(self._plan))
            count = sum(len(step.commands) for step in self._plan.steps)
            self.notify(f"{plural(count, 'command')} copied", timeout=3, markup=False)

    def action_copy_line(self) -> None:
        if self._plan is not None:
            self.app.copy_to_clipboard(self._line(self._plan))
            self.notify("the command line was copied", timeout=3, markup=False)

    def action_save(self) -> None:
        save(self.raidtui)

    def action_other_pane(self) -> None:
        if self.query_one(StepTree).has_focus:
            self.action_to_overview()
        else:
            self.add_class("-steps")
            self.query_one(StepTree).focus()

    def action_to_overview(self) -> None:
        self.remove_class("-steps")
        self.query_one(Overview).focus()

    def action_consent(self) -> None:
        plan, request = self._plan, self._request
        if plan is None or request is None:
            return

        def go_on(yes: bool | None) -> None:
            if yes:
                self.app.push_screen(ConsentDialog(plan), lambda erase: self._start(request, plan, erase))
            else:
                self.app.switch_mode("run")

        desk = self.raidtui.desk
        if not desk.running:
            go_on(True)
            return
        from raidtui.tui.run.dialogs import Confirm

        asked = f"Run {clean(desk.run)} is going on. Two runs on one server disturb each other's numbers."
        self.app.push_screen(Confirm("A run is going on", asked, yes="Start another one", no="Show the run"), go_on)

    def _start(self, request: PlanRequest, plan: Plan, erase: tuple[str, ...] | None) -> None:
        if erase is None:
            return
        self._not_started, self._busy = (), _STARTING
        self._show()
        self.run_worker(self._started(request, plan, erase), group="plan", exclusive=True)

    async def _started(self, request: PlanRequest, plan: Plan, erase: tuple[str, ...]) -> None:
        """Start the plan with its digest and token: the engine starts exactly this plan or none."""
        try:
            run = await asyncio.to_thread(_begin, self.raidtui.link.connect, request, plan, erase)
        except ProblemError as error:
            self._not_started = error.problems
            self._busy = ""
            self._ask(request_of(self.raidtui.draft, self._options, self.raidtui.hosts))
            return
        self._busy, self._plan, self._request = "", None, None
        self.raidtui.follow_run(run)


_PLANNING = "planning …"
_STARTING = "starting …"


def _begin(connect: Callable[[], EngineClient], request: PlanRequest, plan: Plan, erase: tuple[str, ...]) -> str:
    """Start the plan over a separate connection, independent of the main one. Raises ProblemError. Blocks.

    The consent was to all of it: the names of existing pools were typed beside those of the disks.
    """
    with connect() as engine:
        return follow.start(connect, engine, request, plan, erase, plan.takes)
