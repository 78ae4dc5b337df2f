"""Waiting in proportion, and never for good."""

from __future__ import annotations

import threading

import pytest

from raidtui.inventory.waiting import allowed_s, bounded


def test_many_disks_and_a_busy_server_are_given_more_time() -> None:
    assert allowed_s(10, 0, load=0.1, cpus=4) == 10
    assert allowed_s(10, 100, load=0.1, cpus=4) == 35
    assert allowed_s(10, 100, load=8, cpus=4) == 70
    assert allowed_s(10, 0, load=10_000, cpus=1) == 60


def test_an_answer_is_handed_on_and_so_is_an_error() -> None:
    assert bounded(lambda: 7, 30, "seven") == 7
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 // 0, 30, "nothing")


def test_a_source_that_never_answers_is_left_behind() -> None:
    forever = threading.Event()
    with pytest.raises(TimeoutError, match="no answer within"):
        bounded(forever.wait, 0.1, "never")
    asked: list[int] = []
    with pytest.raises(TimeoutError, match="asked before"):
        bounded(lambda: asked.append(1), 30, "never")
    assert asked == [], "one stuck thread is enough"
    assert bounded(lambda: 7, 30, "another") == 7
    forever.set()
