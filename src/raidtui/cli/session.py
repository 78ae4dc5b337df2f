"""Connect to the engine of the server given by --on."""

from __future__ import annotations

from argparse import Namespace

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.front.follow import WaitingTalk


def connect(args: Namespace, *, root: bool = True, quiet: bool = False) -> EngineClient:
    """Start the engine at `--on`. With `root` false, sudo is not used: the request needs no root.

    `quiet` suppresses the messages about a long wait, for callers that draw on the terminal.
    """
    where = place(args.on)
    if not root and where.argv[0] == "sudo":
        words = where.argv
        where = where._replace(argv=words[words.index("--") + 1 :])
    return EngineClient(where, None if quiet else WaitingTalk(where.name))
