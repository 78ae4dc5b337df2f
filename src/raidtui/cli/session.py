"""A conversation with the engine of the place that was asked for."""

from __future__ import annotations

from argparse import Namespace

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.front.follow import WaitingTalk


def connect(args: Namespace, *, root: bool = True, quiet: bool = False) -> EngineClient:
    """Start the engine at `--on`. Without `root` nobody is asked for a password: what is asked for needs none.

    `quiet`: nothing is said of a long wait, where something else is drawn on the terminal.
    """
    where = place(args.on)
    if not root and where.argv[0] == "sudo":
        words = where.argv
        where = where._replace(argv=words[words.index("--") + 1 :])
    return EngineClient(where, None if quiet else WaitingTalk(where.name))
