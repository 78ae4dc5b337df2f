"""When a command is given up: pure, second by second."""

from __future__ import annotations

from raidtui.base.silence import AGAIN_S, LIMIT_S, Counters, Hangs, Silence


def disk(completed: int = 0, in_flight: int = 0) -> Counters:
    return Counters(completed, in_flight, 0, 0)


class Clock:
    """Looks once a second."""

    def __init__(self, hangs: Hangs | None = None, at_s: int = 0, limit_s: float = LIMIT_S) -> None:
        self.at_s = at_s
        self.silence = Silence(limit_s, hangs or Hangs())

    def look(self, work: object, seconds: int = 1, **disks: Counters) -> bool:
        for _ in range(seconds):
            self.at_s += 1
            self.silence.look(self.at_s, work, disks)
        return self.silence.over


def test_the_limit_is_longer_than_the_kernels_error_handling() -> None:
    scsi_s, measured_s, nvme_s = 6 * 30, 73, 30 + 30 + 127
    assert max(scsi_s + measured_s, nvme_s) < LIMIT_S


def test_work_of_the_command_alone_is_no_silence() -> None:
    clock = Clock()
    for second in range(3 * int(LIMIT_S)):
        assert not clock.look(second, sda=disk())


def test_a_disk_that_completes_is_no_silence_while_the_command_waits() -> None:
    clock = Clock()
    for second in range(3 * int(LIMIT_S)):
        assert not clock.look("waits", sda=disk(second // 200, in_flight=1))


def test_nothing_at_all_is_given_up_and_says_so() -> None:
    clock = Clock()
    assert not clock.look("waits", int(LIMIT_S), sda=disk())
    assert clock.look("waits", 2, sda=disk())
    assert str(clock.silence.silent()) == "has done nothing for 301 s, and no disk of the run has anything to do"
    assert clock.silence.silent().disk == ""


def test_a_disk_with_requests_in_flight_is_named() -> None:
    clock = Clock()
    clock.look("waits", int(LIMIT_S) + 1, sda=disk(7), nvme2n1=disk(9, in_flight=4))
    assert clock.silence.over
    said = clock.silence.silent()
    assert said.text == (
        "has done nothing for 300 s; nvme2n1 has 4 requests in flight and completes none: the device does not answer"
    )
    assert said.disk == "nvme2n1"


def test_a_hung_copy_decides_although_the_other_one_is_still_written() -> None:
    clock = Clock()
    for second in range(int(LIMIT_S)):
        assert not clock.look("waits", sda=disk(second), sdb=disk(9, in_flight=1))
    assert clock.look("waits", 2, sda=disk(1), sdb=disk(9, in_flight=1))
    assert clock.silence.silent().disk == "sdb"


def test_a_command_that_works_is_not_given_up_for_a_disk_that_hangs() -> None:
    clock = Clock()
    for second in range(3 * int(LIMIT_S)):
        assert not clock.look(second, sda=disk(9, in_flight=1))


def test_requests_in_flight_that_change_are_no_answer() -> None:
    clock = Clock()
    for second in range(int(LIMIT_S)):
        clock.look("waits", sda=disk(9, in_flight=1 + second % 32))
    assert clock.look("waits", 2, sda=disk(9, in_flight=32))


def test_a_disk_that_was_waited_for_in_vain_is_not_waited_for_again() -> None:
    hangs = Hangs()
    first = Clock(hangs)
    assert first.look("waits", int(LIMIT_S) + 1, sda=disk(9, in_flight=1))
    second = Clock(hangs, first.at_s)
    assert not second.look("another", int(AGAIN_S), sda=disk(9, in_flight=1))
    assert second.look("another", 1, sda=disk(9, in_flight=1))
    answered = Clock(hangs, second.at_s)
    assert not answered.look("a third", 2 * int(AGAIN_S), sda=disk(10, in_flight=1))


def test_a_machine_that_stood_still_was_not_silent() -> None:
    clock = Clock()
    clock.look("waits", 10, sda=disk(9, in_flight=1))
    clock.at_s += 3600
    assert not clock.look("waits", 10, sda=disk(9, in_flight=1))
