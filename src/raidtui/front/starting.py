"""Start a run, and know whether it began even when the connection broke over it."""

from __future__ import annotations

import time
from collections.abc import Callable

from raidtui.client.engine_client import EngineClient
from raidtui.model.plan import Plan
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import PlanRequest, RunList, Started, StartRequest

_LOOK_FOR_S = 20.0


def start(
    connect: Callable[[], EngineClient], engine: EngineClient, request: PlanRequest, plan: Plan, erase: tuple[str, ...]
) -> str:
    """Start the plan and return the run's name. Raises ProblemError with what was refused, or when nothing began.

    A terminal's Ctrl-C reaches the connection's process as well and may end it before its answer; the run that it
    began is then found by the plan's token.
    """
    try:
        started: Started = engine.call("start", StartRequest(request, plan.digest, plan.token, erase), Started)
    except ProblemError as error:
        if error.problems[0].code not in ("engine-lost", "engine-answer"):
            raise
        if (run := _begun(connect, plan.token)) is None:
            raise
        return run
    return started.run


def _begun(connect: Callable[[], EngineClient], token: str) -> str | None:
    deadline = time.monotonic() + _LOOK_FOR_S
    with connect() as engine:
        # An engine whose client is gone may still be about to begin the run.
        while time.monotonic() < deadline:
            found: RunList = engine.call("runs", None, RunList)
            for info in found.runs:
                if info.run.endswith(f"-{token}"):
                    return info.run
            time.sleep(1.0)
    return None
