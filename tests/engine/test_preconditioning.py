"""Disks written over before a layout is built on them: how much, by which commands, and what is said of it."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_planning import SCENARIO, disk

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.preconditioning import words
from raidtui.engine.compose.reading import read_document
from raidtui.engine.run import conditioning
from raidtui.engine.step_args import Precondition
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio.spec import CONDITIONING_BLOCK_BYTES as BLOCK_BYTES
from raidtui.load.fio.spec import conditioning_lengths
from raidtui.model.measure import Direction, Measured, Sample, Summary
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import ProblemError
from raidtui.stack.context import Context

GIB = 1 << 30
POLICY = {"rounds": 2, "precondition": "2x"}


def plan(policy: dict = POLICY, options: Options = Options(layouts=("with-journal",)), **journal) -> Plan:  # noqa: B008
    scenario = read_document(json.dumps({**SCENARIO, "policy": policy})).scenario
    disks = [disk(1), disk(2), disk(3), disk(4, **journal)]
    binding = bind(used_roles(scenario, options), {"data": ("S1", "S2", "S3")}, disks)
    return make_plan(scenario, binding, options, token="abcdefgh", boot_id="b")


def sizes(argv: tuple[str, ...]) -> tuple[int, int]:
    """Bytes of each device, and how many devices."""
    (size,) = (int(word.removeprefix("--size=")) for word in argv if word.startswith("--size="))
    return size, sum(word.startswith("--filename=") for word in argv)


def test_every_building_is_preceded_by_a_purge_and_the_writes() -> None:
    made = plan()
    for block in ("with-journal#1", "with-journal#2"):
        actions = [step.action for step in made.steps if step.block == block and step.phase == "build"]
        assert actions[:4] == ["recheck", "disks.blank", "precondition", "md.create"]
    for step in made.steps:
        if step.action == "precondition":
            assert step.erases == ("S1", "S2", "S3", "S4")
            assert step.writes_bytes == 4 * 2 * 8 * GIB
            assert [sizes(argv) for argv in step.commands] == [(8 * GIB, 4), (8 * GIB, 4)]


def test_the_writes_are_sequential_in_128_kib_by_the_guarded_fio() -> None:
    (first, _) = next(step.commands for step in plan().steps if step.action == "precondition")
    asked = {"--rw=write", f"--bs={128 << 10}", "--direct=1", "--refill_buffers=1", "--time_based=0"}
    assert asked | {"--allow_file_create=0", "--thread=1", "--allow_mounted_write=0"} <= set(first)


def test_a_disk_of_another_size_is_written_in_its_own_length() -> None:
    made = plan({"precondition": "0.5x"}, size_bytes=2 * GIB)
    step = next(step for step in made.steps if step.action == "precondition")
    assert [sizes(argv) for argv in step.commands] == [(4 * GIB, 3), (1 * GIB, 1)]
    numbers = [word for argv in step.commands for word in argv if word.startswith("--filename=")]
    assert len(set(numbers)) == 4


def test_a_rehearsal_writes_little_and_says_so() -> None:
    step = next(s for s in plan(options=Options(quick=True, layouts=("with-journal",))).steps if s.action == "precondition")
    assert [sizes(argv) for argv in step.commands] == [(256 << 20, 4)]
    assert "less than SNIA" in words("2x", 2.0, step.args["most_bytes"], purged=True)


@pytest.mark.parametrize(
    ("times", "capacity", "found"),
    [
        (2.0, 8 * GIB, [8 * GIB, 8 * GIB]),
        (1.5, 8 * GIB, [8 * GIB, 4 * GIB]),
        (0.5, 8 * GIB, [4 * GIB]),
        (1.0, 10**9 + 1, [10**9 // BLOCK_BYTES * BLOCK_BYTES]),
    ],
)
def test_what_is_written_is_the_amount_in_whole_blocks(times: float, capacity: int, found: list[int]) -> None:
    assert conditioning_lengths(capacity, times) == found


def test_only_twice_the_capacity_after_a_purge_is_what_snia_asks_for() -> None:
    assert words("2x", 2.0, None, purged=True) == "preconditioned 2x sequential (SNIA PTS 2.0.2)"
    assert words("0.5x", 0.5, None, purged=True) == "preconditioned 0.5x sequential: less than SNIA PTS asks"
    assert "without a purge" in words("2x", 2.0, None, purged=False)


@pytest.mark.parametrize("wrong", ["2", "0x", "0.0x", "-1x", "11x", "2X", "all", "", "1.234x", "2x\n"])
def test_what_is_no_amount_is_refused_by_its_place(wrong: str) -> None:
    with pytest.raises(ProblemError) as caught:
        plan({"precondition": wrong})
    assert caught.value.problems[0].place == "$.policy.precondition"


def test_disks_full_of_data_are_never_said_to_be_zero() -> None:
    with pytest.raises(ProblemError) as caught:
        plan({**POLICY, "initial_sync": "skip-if-zeroed"})
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("precondition-not-zero", "$.policy.precondition")


def test_without_it_nothing_is_written_before() -> None:
    assert not any(step.action == "precondition" for step in plan({"precondition": "none"}).steps)


class Stage:
    """A scene whose disks are written by `fill`: which of several goes wrong, and when all are told to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fill, zero_proof: dict | None = None) -> None:
        self.stop, self.reports, self.filled = threading.Event(), [], []
        self.lost: tuple[str, ...] = ()
        cancelled = threading.Event()
        self.context = Context("r", Path("/nowhere"), {}, lambda words, share: self.reports.append(share), cancelled)
        self.context.zero_proof = zero_proof or {}
        self.scene = SimpleNamespace(context=self.context, stop=self.stop, lost=lambda: self.lost)

        @contextmanager
        def opened(step, context):
            sizes = {"a": 8 << 20, "b": 8 << 20, "c": 4 << 20}
            yield Target(tuple(TargetDevice(100 + at, *one) for at, one in enumerate(sizes.items())))

        def filled(spec, target, *, folder, live, stop):
            self.filled.append((tuple(device.name for device in target.devices), spec.size.bytes))
            problems = fill(tuple(device.name for device in target.devices), stop) or ()
            moved = spec.size.bytes * len(target.devices)
            live(Sample(1.0, 1.0, write=Direction(1, moved)))
            return Measured(Summary(), ("fio", *(device.name for device in target.devices)), problems=problems)

        monkeypatch.setattr(conditioning, "open_target", opened)
        monkeypatch.setattr(conditioning.FIO, "fill", filled, raising=False)

    def run(self, times: float = 2.0):
        args = Precondition(("disk:A", "disk:B", "disk:C"), "block", f"{times:g}x", times, 8 << 20, None)
        return conditioning.precondition(args, self.scene)


def test_disks_of_one_size_are_written_by_one_fio_and_all_at_once(monkeypatch) -> None:
    both = threading.Barrier(2, timeout=20)
    stage = Stage(monkeypatch, lambda names, stop: both.wait() and None, {disk: {"method": "discard"} for disk in "ABC"})
    done = stage.run()
    assert sorted(stage.filled) == [(("a", "b"), 8 << 20)] * 2 + [(("c",), 4 << 20)] * 2
    assert done.facts["preconditioned"] == "preconditioned 2x sequential (SNIA PTS 2.0.2)"
    assert sorted(done.commands) == [("fio", "a", "b")] * 2 + [("fio", "c")] * 2
    assert stage.reports[-1] == 1.0


def test_where_zeroes_were_written_there_was_no_purge(monkeypatch) -> None:
    proof = {"A": {"method": "discard"}, "B": {"method": "written zeroes"}, "C": {"method": "discard"}}
    assert "without a purge" in Stage(monkeypatch, lambda *_: None, proof).run().facts["preconditioned"]


def test_a_disk_that_fails_stops_the_others_and_is_what_is_told(monkeypatch) -> None:
    def fill(names, stop):
        if names == ("c",):
            return ("fio met error 5",)
        assert stop.wait(20) or stop.is_set()
        return ("it was stopped before its end",)

    with pytest.raises(ProblemError) as caught:
        Stage(monkeypatch, waiting(fill)).run()
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == ("precondition", "c: fio met error 5")


def waiting(fill):
    """As `fill`, where an event that is set by another one is asked, not waited for, as fio's follower does."""

    class Asked:
        def __init__(self, stop) -> None:
            self._stop = stop

        def is_set(self) -> bool:
            return self._stop.is_set()

        def wait(self, patience_s: float) -> bool:
            until = time.monotonic() + patience_s
            while not self.is_set() and time.monotonic() < until:
                time.sleep(0.01)
            return self.is_set()

    return lambda names, stop: fill(names, Asked(stop))


def test_cancelling_stops_them_and_is_no_fault_of_theirs(monkeypatch) -> None:
    stage = Stage(monkeypatch, lambda names, stop: stage.cancel() or ("it was stopped before its end",))
    stage.cancel = lambda: [event.set() for event in (stage.stop, stage.context.cancelled)] and None
    with pytest.raises(ProblemError) as caught:
        stage.run()
    assert caught.value.problems[0].code == "cancelled"
    assert len(stage.filled) <= 2


def test_a_disk_that_goes_meanwhile_fails_the_build(monkeypatch) -> None:
    stage = Stage(monkeypatch, lambda names, stop: stage.stop.set() or ("fio met error 19",))
    stage.lost = ("B",)
    with pytest.raises(ProblemError) as caught:
        stage.run()
    assert [(p.code, p.place) for p in caught.value.problems] == [("disk-lost", "B")]
