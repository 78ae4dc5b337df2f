"""Entry of an engine with a simulated server."""

from __future__ import annotations

from pathlib import Path

from raidtui.engine import server
from raidtui.engine.serve import serve as serve_requests
from raidtui.engine.simulated.disks import RECORDED_DISKS, simulated_server


def serve(recording: str) -> int:
    """Answer requests over stdin and stdout for the disks of a recording; for raidtui's own one if the name is empty."""
    server.use(simulated_server(Path(recording) if recording else RECORDED_DISKS))
    return serve_requests()
