"""What a journal says of disks and layers that a run may have left something on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from raidtui.base.files import private_folder
from raidtui.engine.run import claims, runs
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.recover import recover
from raidtui.engine.run.tally import Tally
from raidtui.gate import locks
from raidtui.model.disk import Fingerprint
from raidtui.model.event import (
    AnyEvent,
    Record,
    RecoverFinished,
    RecoverStarted,
    RunFinished,
    RunStarted,
    StepDone,
    StepStarted,
)
from raidtui.model.plan import KEEP, KEPT, Created, Options, Plan, Step
from raidtui.model.problem import ProblemError
from raidtui.model.result import Machine

ARRAY = Created("md", "rtabc0a", "the-uuid")
PLAN = Plan(
    digest="", token="abc", scenario={}, options=Options(), binding={}, cells=(), erases=("A", "B"), seconds=1.0,
    writes_bytes=None,
    steps=(
        Step("s1", "md.create", "", "build", "one", creates=ARRAY, erases=("A", "B")),
        Step("s2", "disks.blank", "", "teardown", "one", args={"disks": ["disk:A", "disk:B"]}, erases=("A", "B")),
    ),
)  # fmt: skip
BEGAN = RunStarted("run", PLAN, Machine("host", "6.12"), 1, "0")
CREATES = StepStarted("s1", "", "md.create", creates=ARRAY)
BLANKS = StepStarted("s2", "", "disks.blank")


def story(*events: AnyEvent) -> runs.Story:
    return runs.fold(Record(number, float(number), "", event) for number, event in enumerate(events, 1))


def test_disks_are_owed_from_the_first_step_that_may_write_until_they_are_blank() -> None:
    assert story(BEGAN).owed == ()
    assert story(BEGAN, CREATES).owed == ("A", "B")
    assert story(BEGAN, CREATES, BLANKS, StepDone("s2", "done", 1.0, (), {"blank": {"A": {}}})).owed == ("B",)


def test_a_disk_that_was_never_written_to_is_not_owed() -> None:
    ended = StepDone("s2", "nothing to do", 1.0, (), {"blank": {}, "unwritten": ["A", "B"]})
    assert story(BEGAN, BLANKS, ended, RunFinished(4, "build failed")).owed == ()


def test_nothing_of_a_layout_that_was_kept_is_undone_and_its_run_has_ended() -> None:
    keeps, kept = StepStarted("s3", "", KEEP), StepDone("s3", KEPT, 1.0)
    assert story(BEGAN, CREATES, keeps).left == (ARRAY.uuid,)
    found = story(BEGAN, CREATES, keeps, kept, StepStarted("s4", "", "fs.keep"))
    assert (found.made, found.left, found.owed, found.kept) == ((), (), (), True)
    assert runs.state_of(Path(), found, owned=False) == "finished"
    other = story(BEGAN, CREATES, StepStarted("s3", "", "md.sync"), kept)
    assert other.owed == ("A", "B"), "only the step that keeps does so"


def test_what_a_recovery_gave_back_is_not_owed_though_something_else_is() -> None:
    assert story(BEGAN, CREATES, RecoverStarted(""), RecoverFinished(6, (), ("A",))).owed == ("B",)


def test_a_disk_that_was_given_up_is_not_owed_and_what_was_put_back_is_not_left() -> None:
    found = story(BEGAN, CREATES, RecoverFinished(6, (), ("A",), ("B",), (ARRAY.uuid,)))
    assert (found.owed, found.left) == ((), ())


def test_a_recovery_goes_on_in_a_journal_with_a_damaged_sample(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(BEGAN)
    journal.close()
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b'{"seq":2,"at_s":1.0,"wall":"","event":{"kind":"frame","frame":{"a":"\xff"}}}\n')
    assert runs.story_of(tmp_path).unreadable == ""
    journal = Journal(tmp_path)
    assert journal.append(RecoverStarted("")).seq == 3
    journal.close()


def test_a_recovery_that_came_before_the_runner_says_nothing_of_what_the_run_leaves(tmp_path: Path) -> None:
    found = story(RecoverStarted(""), RecoverFinished(0), BEGAN, CREATES)
    assert found.recovered is None
    assert found.left
    assert runs.state_of(tmp_path, found) == "interrupted"


@pytest.mark.parametrize("line", [b'{"seq":4,"at_s":1,"wall":"","event":{"kind":"of-tomorrow"}}', b'{"seq":"\xff"}', b"{"])
def test_a_damaged_journal_stands_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(runs, "runs_folder", lambda: private_folder(tmp_path / "runs"))
    prints = tuple(Fingerprint(name, name, "", "", 1 << 30, 512, None, "") for name in "AB")
    _, damaged = runs.create(msgspec.structs.replace(PLAN, token="aaaaaaaa", binding={"data": prints}))
    _, sound = runs.create(msgspec.structs.replace(PLAN, token="bbbbbbbb", binding={"data": prints[:1]}))
    for folder in (damaged, sound):
        journal = Journal(folder)
        for event in (BEGAN, RunFinished(0, "done")):
            journal.append(event)
        journal.close()
    with (damaged / "journal.jsonl").open("ab") as file:
        file.write(line + b"\n")
    assert runs.state_of(sound, runs.story_of(sound)) == "finished"
    assert runs.state_of(damaged, runs.story_of(damaged)) == "interrupted"
    assert runs.held_disks() == {"A": damaged.name, "B": damaged.name}
    (found,) = recover(damaged.name)
    assert (found.exit, [problem.code for problem in found.problems]) == (6, ["journal-unreadable"])
    (damaged / "closed").touch()
    assert [found.exit for found in recover(damaged.name)] == [0]
    (damaged / "plan.json").write_bytes(b'{"binding":{}}')
    assert runs.info(damaged).state == "finished"
    assert runs.state_of(damaged, runs.story_of(damaged)) == "finished"
    assert runs.held_disks() == {}
    assert list(recover("")) == []


def test_what_a_damaged_run_may_have_changed_stays_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "runs_folder", lambda: private_folder(tmp_path / "runs"))
    monkeypatch.setattr(locks, "take", lambda _, keys, __: [SimpleNamespace(key=key, release=list) for key in keys])
    limit = {"arc_max": 1 << 30, "uuid": "arc-uuid"}
    limits = Step("s1", "zpool.arc", "", "build", "one", args=limit, creates=Created("arc", "arc", "arc-uuid"))
    _, folder = runs.create(msgspec.structs.replace(PLAN, token="aaaaaaaa", steps=(limits,)))
    (folder / "journal.jsonl").write_bytes(b"{\n")
    assert claims.claims_of([limits])
    with pytest.raises(ProblemError, match="was interrupted"):
        claims.take("another", claims.claims_of([limits]))


@pytest.mark.parametrize(
    ("events", "now", "restarted"),
    [((BEGAN, CREATES), "before", False), ((BEGAN, CREATES), "after", True),
     ((BEGAN, CREATES, RunFinished(6, "left behind")), "after", False), ((BEGAN, RunFinished(0, "done")), "after", False)],
)  # fmt: skip
def test_a_run_that_a_restart_of_the_server_ended_is_told_from_one_whose_runner_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: tuple[AnyEvent, ...], now: str, restarted: bool
) -> None:
    monkeypatch.setattr(runs, "runs_folder", lambda: private_folder(tmp_path / "runs"))
    monkeypatch.setattr(runs, "boot_id", lambda: now)
    prints = (Fingerprint("A", "A", "", "", 1 << 30, 512, None, "before"),)
    _, folder = runs.create(msgspec.structs.replace(PLAN, token="aaaaaaaa", binding={"data": prints}))
    journal = Journal(folder)
    for event in events:
        journal.append(event)
    journal.close()
    assert runs.info(folder).restarted == restarted


@pytest.mark.parametrize("plan", [None, b"", b"{", b'{"binding":1}'])
def test_a_missing_or_damaged_plan_is_read_from_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: bytes | None
) -> None:
    monkeypatch.setattr(runs, "runs_folder", lambda: private_folder(tmp_path / "runs"))
    prints = tuple(Fingerprint(name, name, "", "", 1 << 30, 512, None, "") for name in "AB")
    bound = msgspec.structs.replace(PLAN, token="aaaaaaaa", binding={"data": prints})
    _, folder = runs.create(bound)
    journal = Journal(folder)
    for event in (msgspec.structs.replace(BEGAN, plan=bound), msgspec.structs.replace(CREATES, args={"uuid": 7})):
        journal.append(event)
    journal.close()
    (folder / "plan.json").unlink() if plan is None else (folder / "plan.json").write_bytes(plan)
    assert [print_.id for print_ in runs.disks_of(folder)] == ["A", "B"]
    assert runs.plan_of(folder) == bound
    assert runs.held_disks() == {"A": folder.name, "B": folder.name}
    assert runs.info(folder).state == "interrupted"


def test_steps_that_cannot_be_decoded_are_not_undone_and_keep_their_disks_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "runs_folder", lambda: private_folder(tmp_path / "runs"))
    prints = tuple(Fingerprint(name, name, "", "", 1 << 30, 512, None, "") for name in "AB")
    bound = msgspec.structs.replace(PLAN, token="aaaaaaaa", binding={"data": prints})
    _, folder = runs.create(bound)
    journal = Journal(folder)
    of_tomorrow = StepStarted("s1", "", "md.of-tomorrow", creates=ARRAY, args={"uuid": "the-uuid"})
    for event in (msgspec.structs.replace(BEGAN, plan=bound), of_tomorrow):
        journal.append(event)
    journal.close()
    before = (folder / "journal.jsonl").read_bytes()
    (found,) = recover(folder.name)
    assert (found.exit, [problem.code for problem in found.problems]) == (6, ["step-arguments"])
    assert (folder / "journal.jsonl").read_bytes() == before
    assert runs.held_disks() == {"A": folder.name, "B": folder.name}


def test_a_run_that_failed_before_it_began_has_no_result_and_keeps_its_cause(tmp_path: Path) -> None:
    tally = Tally()
    assert tally.save(tmp_path) is None
    tally.add(Record(1, 0.0, "", RunFinished(1, "bug")))
    assert tally.save(tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_a_layer_without_a_uuid_is_gone_once_its_teardown_undid_the_same_arguments() -> None:
    one, other = {"name": "a", "nqn": "x"}, {"name": "b", "nqn": "y"}
    begun = [
        StepStarted(step, "", "nvmeof.offer", creates=Created("nvmeof", args["name"], f"uuid-{step}"), args=args)
        for step, args in (("s1", one), ("s2", other))
    ]
    gone = StepStarted("s3", "", "nvmeof.withdraw", args=one)
    assert story(BEGAN, *begun, gone, StepDone("s3", "undone", 1.0)).left == ("uuid-s2",)
