"""Free a disk from the screen Disks: what is on it, why it cannot be freed, consent, progress, and what was saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from rich.text import Text

from raidtui.base.text import clean, plural
from raidtui.client.engine_client import ENGINE_LOST
from raidtui.front.free import done_lines, erasing, found_on, heading, line_to_type
from raidtui.front.plan import Line
from raidtui.model.disk import Disk
from raidtui.model.free import Freed, FreeLook, FreePlan, FreeProgress, FreeRequest
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import DiskList
from raidtui.tui.link import complain
from raidtui.tui.screens.base import ModeScreen
from raidtui.tui.shared import DiskFreeing, Freeing, SharedApp
from raidtui.tui.widgets.dialog import Told
from raidtui.tui.widgets.typed_consent import TypedConsent, name_to_type

_NO_ROOT = "\n→ Freeing it needs root on the storage server: run raidtui with sudo, or name a server: --on root@HOST."


class FreeDialog(TypedConsent):
    """Shows what is on a disk that nobody uses, and asks for consent to erase it."""

    HELP = """\
## Free a disk

Everything that was found on the disk, and nobody uses, is listed. To erase it, type the underlined end of the disk's name,
or all of it. Its first and last 4 MiB are saved on the server before. **escape** leaves, and nothing was touched.
"""
    NOTHING = "nothing was erased"

    def __init__(self, plan: FreePlan, disks: Sequence[Disk]) -> None:
        super().__init__("Free a disk", (line_to_type(plan, disks),), yes="Erase this disk")
        self._plan = plan

    def question(self) -> Text:
        text = Text(heading(self._plan))
        for found in found_on(self._plan):
            text.append(f"\n  · {found}")
        text.append(f"\n\n{erasing(self._plan)}", "bold")
        return text.append(" Its first and last 4 MiB are saved before. Type the underlined text.")

    def line_words(self, line: Line) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis").append_text(name_to_type(line))
        return text.append(f"  {clean(self._plan.disk.model, 40)}", "dim")

    def on_mount(self) -> None:
        cast(SharedApp, self.app).disks_changed.subscribe(self, self._disks_changed)

    def _disks_changed(self, found: DiskList) -> None:
        """Close the dialog if the disk went, or came again: the engine would refuse."""
        disk = self._plan.disk
        if self.is_current and (disk.id, disk.diskseq) not in {(one.id, one.diskseq) for one in found.disks}:
            self.give_up(f"disk {clean(disk.id)} is gone")


async def ask_to_free(screen: ModeScreen, disk: str) -> None:
    """Ask the engine what is on a disk and show it: with the question for consent, or with why it cannot be freed."""
    app = screen.raidtui
    try:
        plan: FreePlan = await app.link.call("free-look", FreeLook(disk), FreePlan)
    except ProblemError as error:
        if error.problems[0].code == "free-already":
            app.notify(f"{clean(disk)} is free: there is nothing on it to erase", timeout=5, markup=False)
        elif screen.is_current and error.problems[0].code == "not-freeable":
            why = (f"{one.message}\n→ {one.remedy}" for one in error.problems)
            app.push_screen(Told("The disk cannot be freed", "\n\n".join(why)))
        else:
            complain(app, error)
        return
    if not screen.is_current:
        return  # something else is being looked at by now
    if (hello := app.link_state.hello) is not None and not hello.root:
        words = [heading(plan), *(f"  · {found}" for found in found_on(plan)), _NO_ROOT]
        app.push_screen(Told("Free a disk", "\n".join(words)))
        return

    def answered(erase: tuple[str, ...] | None) -> None:
        if erase:
            app.say(DiskFreeing(plan.disk.id, Freeing("0 %")))
            app.run_worker(_free(app, plan, erase[0]), group="free")

    app.push_screen(FreeDialog(plan, app.disks.disks if app.disks else ()), answered)


async def _free(app: SharedApp, plan: FreePlan, erase: str) -> None:
    """Erase the disk of a plan that was consented to; all screens see how far it is."""
    disk = plan.disk.id

    def show(one: FreeProgress) -> None:
        app.say(DiskFreeing(disk, Freeing(f"{one.fraction * 100:.0f} %: {clean(one.text, 60)}")))

    request = FreeRequest(disk, plan.digest, erase)
    try:
        freed: Freed = await app.link.call_with_progress("free", request, Freed, FreeProgress, show)
    except ProblemError as error:
        app.say(DiskFreeing(disk, None))
        if error.problems[0].code == ENGINE_LOST.code:
            words = f"the connection was lost while {clean(disk)} was being freed: look at the list for what became of it"
            app.notify(words, severity="warning", timeout=15, markup=False)
        else:
            complain(app, error)
    else:
        app.say(DiskFreeing(disk, Freeing(saved=freed.saved)))
        app.notify("\n".join(done_lines(freed)), timeout=30, markup=False)
    if app.link_state.up:
        app.look_at_disks()


def leaving_words(app: SharedApp) -> str:
    """Return what leaving raidtui would interrupt; empty if no disk is being freed."""
    going = [clean(disk, 60) for disk, state in app.freeing.items() if state.going]
    if not going:
        return ""
    what = f"{plural(len(going), 'disk')} {'is' if len(going) == 1 else 'are'} being freed: {', '.join(going[:6])}."
    return f"{what} Leaving may end that half-way; such a disk is not free, and can be freed again."
