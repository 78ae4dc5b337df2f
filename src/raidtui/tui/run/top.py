"""The three lines above the panes: how far the run is, what it does, and its live numbers. Pure functions."""

from __future__ import annotations

from rich.text import Text

from raidtui.base.text import clean
from raidtui.front.phrases import cell_count, ending_line, sample_line
from raidtui.front.progress import fraction, left_s
from raidtui.tui.run.clock import clock
from raidtui.tui.run.desk import RunDesk
from raidtui.tui.run.signs import signs
from raidtui.tui.run.story import Moment
from raidtui.tui.widgets.cells import bar
from raidtui.tui.widgets.glyphs import glyphs

_BAR_MOST = 40


def top_lines(desk: RunDesk, moment: Moment, width: int) -> list[Text]:
    """Exactly three lines."""
    return [_progress(desk, moment, width), _doing(desk, moment), _numbers(desk, moment)]


def _progress(desk: RunDesk, moment: Moment, width: int) -> Text:
    view = moment.view
    at_s = moment.at_s if moment.past else desk.elapsed_s
    share = fraction(view, at_s)
    tail = f" {share * 100:3.0f} %  {clock(at_s)}"
    if view.finished is None and not moment.past and desk.running and (left := left_s(view, at_s)) is not None:
        tail += f"  {clock(left)} left"
    title = clean(view.title, 200)
    bar_width = max(8, min(_BAR_MOST, width // 4))
    room = max(8, width - bar_width - len(tail) - 2)
    title = title if len(title) <= room else title[: room - 1] + glyphs().ellipsis
    line = Text(no_wrap=True)
    line.append(title.ljust(room + 1), "strong")
    line.append_text(bar(share * 100, bar_width, "accent"))
    return line.append(tail)


def _doing(desk: RunDesk, moment: Moment) -> Text:
    view = moment.view
    if view.recovered is not None and not moment.past:
        return Text("recovered" if not view.recovered.exit else "something is still left: r recovers")
    if view.finished is not None:
        good = view.finished.exit == 0
        sign = signs().good if good else signs().bad
        return Text.assemble((f"{sign} {ending_line(view, view.finished)}", "good" if good else "alert"))
    if desk.feed_state.word == "ended" and desk.feed_state.problem is not None and not moment.past:
        words = clean(desk.feed_state.problem.message)
        return Text(f"! {words}" + (" · r recovers" if desk.interrupted else ""), style="alert")
    if view.plan is None:
        return Text("reading the run's journal …" if desk.feed_state.word == "reading" else "")
    said = Text(f"{cell_count(view)}{clean(view.step.title) if view.step else 'starting'}")
    if view.step_text and not view.step_done:
        said.append(f" · {clean(view.step_text)}", "accent")
    if view.cancel_asked:
        said = Text("cancelling · ", style="warn") + said
    return said


def _numbers(desk: RunDesk, moment: Moment) -> Text:
    line = Text()
    if moment.past:
        line.append(f"at {clock(moment.at_s)} of {clock(desk.story.end_s)} (esc: newest)  ", "warn")
    elif desk.feed_state.word == "lost":
        line.append("connection lost, it is being tried again  ", "warn")
    if moment.view.sample is not None:
        line.append("filling: " if moment.view.prefill else "", "accent").append(sample_line(moment.view.sample))
    elif desk.saved and moment.view.finished is not None:
        line.append(f"result: {clean(desk.saved, 4096)}", "dim")
    elif desk.source in ("opened", "file") and not moment.past:
        line.append("left and right move through the run, [ and ] from cell to cell", "dim")
    elif moment.view.finished is None and moment.view.plan is not None:
        line.append("nothing is measured at this moment", "dim")
    return line
