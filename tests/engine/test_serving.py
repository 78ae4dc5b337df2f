"""What becomes of requests when nobody listens any more."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from raidtui.engine import methods, serve
from raidtui.engine.methods import Method, Nothing
from raidtui.model.convert import encode
from raidtui.model.protocol import Request


@pytest.mark.parametrize("to_the_end", [True, False])
def test_a_recovery_is_finished_however_long_it_takes(monkeypatch: pytest.MonkeyPatch, to_the_end: bool) -> None:
    done: list[str] = []

    def slow(_: Any, __: Any) -> None:
        time.sleep(0.5)
        done.append("done")

    monkeypatch.setattr(serve, "_FINISH_S", 0.01)
    monkeypatch.setitem(methods.METHODS, "recover", Method(Nothing, slow, to_the_end))
    requests, given = os.pipe()
    os.write(given, encode(Request(1, "recover", {})) + b"\n")
    os.close(given)
    nobody = os.open(os.devnull, os.O_WRONLY)
    serve.Server(requests, nobody).serve()
    assert done == (["done"] if to_the_end else [])


def test_the_recovery_of_the_engine_is_such_a_request() -> None:
    assert methods.METHODS["recover"].to_the_end
