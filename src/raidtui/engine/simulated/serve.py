"""Entry of an engine with a simulated server."""

from __future__ import annotations

from raidtui.engine import server
from raidtui.engine.serve import serve as serve_requests
from raidtui.engine.simulated.disks import simulated_server


def serve(word: str) -> int:
    """Answer requests over stdin and stdout for a recording, a named server, or raidtui's own recording without a word."""
    server.use(simulated_server(word))
    return serve_requests()
