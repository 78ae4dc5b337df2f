"""Start of the screens from the command line: check the terminal, and ask for passwords before it changes."""

from __future__ import annotations

import gc
import json
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from raidtui.client.places import Place, place
from raidtui.model.problem import Exit, fail
from raidtui.model.refusals import NO_TERMINAL

if TYPE_CHECKING:
    from raidtui.client.engine_client import EngineClient, Waiting
    from raidtui.tui.app import RaidtuiApp


def start(args: Namespace) -> int:
    """Show the screens until they are left. Raises ProblemError: `no-terminal`, and what the first connection refuses."""
    # Textual reads from stdin and draws on stderr; without a terminal it would spin for ever.
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise fail(NO_TERMINAL, "the screens need a terminal on stdin, stdout and stderr",
                   remedy="`raidtui --help` lists the commands that need none.", exit=Exit.USAGE)  # fmt: skip
    where = place(args.on)
    ask = partial(_asked, where) if _may_ask(where) else None
    first = ask() if ask is not None else None
    later = _silent(where)
    gc.set_threshold(200_000)  # the default spends a tenth of the time to the first frame on objects that all stay

    from raidtui.tui.app import RaidtuiApp

    def connect() -> EngineClient:
        return _client(later, app.link.waited)

    app = RaidtuiApp(connect, place=where.name, on=args.on, first=first, ask=ask, begin=_opened(args))
    code = app.run()
    return int(code or app.return_code or 0)


def _client(where: Place, waiting: Waiting) -> EngineClient:
    # Only here, in a thread of the link as a rule: the first frame does without it.
    from raidtui.client.engine_client import EngineClient

    return EngineClient(where, waiting)


def _asked(where: Place) -> EngineClient:
    """A connection that may ask for a password, and that talks while it is opened: on a plain terminal."""
    from raidtui.front.follow import WaitingTalk

    client = _client(where, WaitingTalk(where.name))
    client.waiting = None  # from here on the terminal belongs to the screens
    return client


def _opened(args: Namespace) -> Callable[[RaidtuiApp], None]:
    """Return the initial object: a result file or a run of the server (`raidtui open`), or a scenario (`design`)."""
    path, run = getattr(args, "open_file", None), getattr(args, "open_run", "")
    scenario = getattr(args, "scenario_text", "")

    from raidtui.tui.draft import Draft

    def begin(app: RaidtuiApp) -> None:
        if path is not None:
            app.result_files.append(path)
            app.open_result(path)
        elif run:
            app.open_run(run)
        elif scenario:
            app.change_draft(Draft(json.loads(scenario)), "open the design")
            app.switch_mode("compose")

    return begin


def _may_ask(where: Place) -> bool:
    """Return True if starting the engine may ask for a password, which has to happen while the terminal is plain."""
    return where.argv[0] == "sudo" or (where.argv[0] == "ssh" and not where.name.startswith("lab"))


def _silent(where: Place) -> Place:
    """The same place, but never asking: a password prompt would be drawn into the screens."""
    if where.argv[0] == "sudo":
        return where._replace(argv=("sudo", "-n", *where.argv[1:]))
    if _may_ask(where):
        return where._replace(argv=(where.argv[0], "-o", "BatchMode=yes", *where.argv[1:]))
    return where
