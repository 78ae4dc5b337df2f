"""One side of `tui_first_frame.py`: raidtui or an empty application, telling when its first frame went to the terminal.

    python first_frame_child.py empty|raidtui

It imports nothing that an empty application would not: what is measured must not be diluted.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from textual.drivers.linux_driver import LinuxDriver

FRAMES = {
    "empty": (" " * 200,),
    "raidtui": ("Disks", "connecting to", "Details", "Filter", "Results", "Quit"),
}
"""Texts on the terminal once the first frame is complete, in any order."""


def note_first_frame(wanted: tuple[str, ...], report: Path) -> None:
    """Have the CPU seconds and the monotonic clock written to `report` when the driver was given all of `wanted`."""
    write, missing = LinuxDriver.write, set(wanted)

    def noting(driver: LinuxDriver, data: str) -> None:
        write(driver, data)
        if missing:
            missing.difference_update([words for words in missing if words in data])
            if not missing:
                found = f"{time.process_time()} {time.monotonic()}"
                unfinished = report.with_suffix(".new")
                unfinished.write_text(found)
                unfinished.rename(report)

    LinuxDriver.write = noting  # type: ignore[method-assign]


def empty() -> None:
    from textual.app import App

    App[None]().run()


def raidtui() -> None:
    """The command without a word, as typed; only the engine is one that answers from a file."""
    from raidtui.__main__ import main
    from raidtui.client.places import Place
    from raidtui.tui import start

    fake = Path(__file__).resolve().parent.parent / "tests" / "cli" / "fake_engine.py"
    start.place = lambda on: Place("bench", (sys.executable, str(fake)), dict(os.environ))
    sys.argv = ["raidtui"]
    main()


if __name__ == "__main__":
    kind = sys.argv[1]
    note_first_frame(FRAMES[kind], Path(os.environ["FIRST_FRAME_REPORT"]))
    {"empty": empty, "raidtui": raidtui}[kind]()
