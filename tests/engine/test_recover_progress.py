"""Progress of a recovery over the protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from raidtui.engine import meanwhile, methods, server
from raidtui.model.protocol import Recovered, RecoveredRun, RecoverProgress, RecoverRequest


def test_a_recovery_reports_its_current_action_before_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def recover(run: str, without: object, report: Callable[[RecoverProgress], None]) -> Iterator[RecoveredRun]:
        report(RecoverProgress(run, "undoing: create array"))
        report(RecoverProgress(run, "bringing to zeroes", 0.5))
        told.wait(10)
        yield RecoveredRun(run, 0)

    told = threading.Event()
    monkeypatch.setattr(methods, "_need_root", lambda: None)
    here = server.server()
    monkeypatch.setattr(methods, "server", lambda: here._replace(recover=recover))
    monkeypatch.setattr(meanwhile, "_EVERY_S", 0.01)
    answer = methods.recover_runs(RecoverRequest("r", progress=True), lambda: False)
    assert not isinstance(answer, Recovered)
    assert next(answer) == RecoverProgress("r", "bringing to zeroes", 0.5)
    told.set()
    with pytest.raises(StopIteration) as end:
        next(answer)
    assert end.value.value == Recovered((RecoveredRun("r", 0),))
