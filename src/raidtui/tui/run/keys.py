"""Help and keys of the screen Run."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding, BindingType

HELP: Final = """\
## Run

Leaving this screen, or raidtui, leaves the run running; coming back attaches again.

Tab shows the next pane, `z` the one in focus alone. Space holds the view while the run goes on; left and right move the
playhead, home is the run's beginning, end or escape the newest, `[` and `]` the cell before and after. `+` and `-` show
less or more time.

`d` shows and hides the distribution of latency, `h` marks the next host of a run that has several.

`!` and colour mark what may limit or mislead: a device or core that is 90 % busy or more, a disk at its own warning
temperature (70 °C where it names none), a member whose latency is three times that of its siblings, and operations that
took ten times the median.

`x` cancels: it asks once, and everything that was built is taken down. `w` saves the result, which happens by itself when a
run ends; enter opens it then. `r` recovers a run that was interrupted. `l` lists the server's runs.
"""

BINDINGS: Final[list[BindingType]] = [
    Binding("space", "hold", "Hold", id="run.pause", tooltip="Hold the view, or go on; the run goes on either way"),
    Binding("tab", "pane(1)", "Pane", id="run.pane", tooltip="The next pane"),
    Binding("shift+tab", "pane(-1)", "Pane back", id="run.pane_back", tooltip="The pane before", show=False),
    Binding("z", "alone", "Alone", id="run.maximise", tooltip="The pane in focus alone, or all again"),
    Binding("h", "host(1)", "Hosts", id="run.host", tooltip="The next host: storage server, then clients"),
    Binding("d", "spread", "Latency", id="run.spread", tooltip="Show or hide the distribution of latency"),
    Binding("o", "columns", "Columns", id="run.columns", tooltip="Choose columns of the device table"),
    Binding("s", "sort", "Sort", id="run.sort", tooltip="Sort devices by the next column"),
    Binding("S", "turn_round", "Turn round", id="run.sort_order", tooltip="Smallest or largest first", show=False),
    Binding("slash", "filter", "Filter", id="run.filter", tooltip="Show only devices with these words"),
    Binding("a", "every_device", "All", id="run.all", tooltip="Devices outside the cell, too", show=False),
    Binding("x", "cancel", "Cancel", id="run.cancel", tooltip="End the run and take down what it built"),
    Binding("r", "recover", "Recover", id="run.recover", tooltip="Undo what an interrupted run left behind"),
    Binding("w", "save", "Save", id="run.save", tooltip="Save the result"),
    Binding("enter", "result", "Result", id="run.result", tooltip="Open the saved result on the screen Results"),
    Binding("l", "runs", "Runs", id="run.list", tooltip="Runs of the server: attach to one, or open one"),
    Binding("H", "host(-1)", "Host before", id="run.host_back", tooltip="The host before", show=False),
    Binding("left", "step(-1)", "Back", id="run.back", tooltip="Playhead back", show=False),
    Binding("right", "step(1)", "Forward", id="run.forward", tooltip="Playhead forward", show=False),
    Binding("home", "to_begin", "Begin", id="run.begin", tooltip="Playhead to the run's beginning", show=False),
    Binding("end,escape", "newest", "Newest", id="run.newest", tooltip="Follow the newest", show=False),
    Binding("left_square_bracket", "cell(-1)", "Cell before", id="run.cell_back", tooltip="Playhead to the cell before",
            show=False),
    Binding("right_square_bracket", "cell(1)", "Next cell", id="run.cell_next", tooltip="Playhead to the next cell",
            show=False),
    Binding("plus,equals_sign", "zoom(-1)", "Zoom in", id="run.zoom_in", tooltip="Show less time", show=False),
    Binding("minus", "zoom(1)", "Zoom out", id="run.zoom_out", tooltip="Show more time", show=False),
]  # fmt: skip
