"""Following a run over connections that break: what is said of the server, and how much is kept for who does not ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from raidtui.client.engine_client import ENGINE_LOST, EngineClient
from raidtui.front.follow import Back, Ended, Follower, Lost, WaitingTalk
from raidtui.model.event import Noted, Record
from raidtui.model.problem import fail
from raidtui.model.protocol import Hello


class Engine:
    """One connection: some records, and how it ends."""

    def __init__(self, boot_id: str, records: int = 0, size: int = 1, *, breaks: bool = False) -> None:
        self.hello = Hello(1, "", "stor1", root=True, boot_id=boot_id)
        self.handed = 0
        self._records, self._size, self._breaks = records, size, breaks

    def follow(self, run: str, after: int) -> Iterator[tuple[Record, int]]:
        for number in range(after + 1, after + self._records + 1):
            self.handed += 1
            yield Record(number, 0.0, "", Noted("x")), self._size
        if self._breaks:
            raise fail(ENGINE_LOST, "lost")

    def close(self) -> None:
        pass


def follow(*engines: Engine) -> Follower:
    left = list(engines)
    return Follower(lambda: cast(EngineClient, left.pop(0)), "r")


def items(follower: Follower) -> list[Any]:
    found: list[Any] = []
    while not found or not isinstance(found[-1], Ended):
        item = follower.next(20)
        assert item is not None
        found.append(item)
    return found


@pytest.mark.parametrize(("second", "restarted"), [("a", False), ("b", True)])
def test_another_boot_id_is_a_server_that_restarted(second: str, restarted: bool) -> None:
    found = items(follow(Engine("a", 1, breaks=True), Engine(second, 1)))
    assert [type(item) for item in found] == [Record, Lost, Back, Record, Ended]
    assert found[2].restarted == restarted


def test_records_that_nobody_asks_for_are_not_read() -> None:
    engine = Engine("a", 100, 1 << 20)
    follower = follow(engine)
    assert follower.next(20) is not None
    assert follower.next(0.2) is not None
    assert engine.handed <= 8
    assert len(items(follower)) == 99


def test_a_follower_that_is_closed_ends_its_thread() -> None:
    engine = Engine("a", 100, 1 << 20)
    follower = follow(engine)
    follower.close()
    assert engine.handed <= 8


def test_a_long_wait_is_said_with_the_new_words_of_ssh(capsys: pytest.CaptureFixture[str]) -> None:
    talk = WaitingTalk("stor1")
    for second in range(77):
        talk(float(second), "first" if second < 40 else "first\nsecond")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "first"
    assert said[1] == "waiting for the engine on stor1: 5 s (Ctrl-C gives up)"
    assert said.count("first") == said.count("second") == 1
    assert said[-1] == "waiting for the engine on stor1: 75 s (Ctrl-C gives up)"
