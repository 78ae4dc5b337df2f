"""`plan`, `replay` and `attach`: consent, the story of a run, what is kept, exit codes."""

import json
from pathlib import Path

import made
import msgspec
import pytest

from raidtui.model.plan import Step
from raidtui.model.problem import Problem
from raidtui.model.protocol import RunInfo, RunList

ONE, TWO = "S64GNE0R100001", "S64GNE0R100002"
LINE = f"raidtui --on stor1 replay tiny.json --bind data={ONE},{TWO} --erase {ONE},{TWO}"


@pytest.fixture(autouse=True)
def scenario(tmp_path):
    (tmp_path / "tiny.json").write_text(json.dumps(made.SCENARIO))


def run_of(exit=0, outcome="done", **follow):
    """The answers of an engine on which the run of `made.plan()` is replayed."""
    return {
        "plan": {"result": made.plan()},
        "start": {"result": {"run": made.RUN}},
        "follow": {"events": made.records(exit=exit, outcome=outcome), **follow},
        "result": {"result": made.result(*[r.event.cell for r in made.records(exit=exit) if hasattr(r.event, "cell")
                                           and not isinstance(r.event.cell, str)])},
    }  # fmt: skip


def methods(said):
    return [request["method"] for request in said.requests]


def test_plan_ends_with_the_line_that_runs_it(engine):
    engine.answers(plan={"result": made.plan()})
    said = engine.run("plan", "tiny.json")
    assert said.code == 0
    assert said.out.splitlines()[-1].strip() == LINE
    assert "       $ mdadm --create /dev/md/rtabcd1234a --level=raid1 --raid-devices=2 disk:1 disk:2" in said.out


def test_plan_asks_with_the_text_of_the_file_and_the_bindings(engine):
    engine.answers(plan={"result": made.plan()})
    said = engine.run("plan", "tiny.json", "--bind", f"data={ONE},{TWO}", "--quick", "--layout", "raid1")
    assert json.loads(said.requests[0]["params"]["document"]) == made.SCENARIO
    assert said.requests[0]["params"]["bind"] == {"data": [ONE, TWO]}
    assert said.requests[0]["params"]["options"] == {"quick": True, "layouts": ["raid1"]}


def test_plan_as_json_is_the_document(engine):
    engine.answers(plan={"result": made.plan()})
    assert json.loads(engine.run("plan", "tiny.json", "--json").out) == made.plain(made.plan())


def test_without_erase_nothing_starts_and_the_line_to_add_is_shown(engine):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json")
    assert said.code == 3
    assert methods(said) == ["plan"]
    assert said.out.splitlines()[-1].strip() == LINE
    assert said.err == "refused: this plan erases 2 disks; nothing was touched [consent]\n"


def test_without_erase_as_json_gives_plan_and_command(engine):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "--json")
    document = json.loads(said.out)
    assert said.code == 3
    assert document["problems"][0]["code"] == "consent"
    assert document["plan"] == made.plain(made.plan())
    assert document["command"] == LINE.replace(" --erase", " --json --erase")


@pytest.mark.parametrize(
    ("erase", "code", "named"),
    [
        ([ONE], "erase-too-few", TWO),
        ([f"{ONE},{TWO},S64GNE0R100003"], "erase-too-many", "S64GNE0R100003"),
        ([ONE, "nvme2n1"], "erase-too-many", "nvme2n1"),
        ([","], "erase-too-few", ONE),
    ],
)
def test_a_disk_too_few_or_too_many_is_refused_by_name(engine, erase, code, named):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", *[word for ids in erase for word in ("--erase", ids)])
    assert said.code == 3
    assert methods(said) == ["plan"]
    assert any(f"[{code}]" in line and named in line for line in said.err.splitlines())


def test_serials_and_wwns_may_be_mixed_and_repeated(engine):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{ONE}", "--erase", "363447305210002")
    assert said.code == 0
    start = next(request["params"] for request in said.requests if request["method"] == "start")
    assert start["erase"] == [ONE, TWO]
    assert (start["digest"], start["token"]) == (made.plan().digest, "abcd1234")


def test_replay_tells_the_run_in_plain_lines_and_keeps_the_result(engine, tmp_path):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{TWO}")
    kept = tmp_path / "state" / "raidtui" / "results" / f"tiny-{made.RUN}.result.json"
    assert said.code == 0
    assert said.err.splitlines() == [
        f"[  0:00] run {made.RUN}: One disk against a mirror",
        "[  0:00] check both disks again, under lock",
        "[  0:01] create raid1 over 2 disks",
        "[  0:04] no initial sync: all members were proven zero",
        "[  0:04] raid1/sync-4k#1: measure",
        "[  0:14]   … cell 1 of 2: 6,100 IOPS, 25.0 MB/s, mean 160 µs, p99 480 µs",
        "[  0:14] ✓ raid1/sync-4k#1: 6,050 IOPS, mean 165 µs, p99 496 µs",
        "[  0:14] raid1/seq-1m#1: measure",
        "[  0:25] ✓ raid1/seq-1m#1: 2,726 MB/s, mean 385 µs, p99 1.15 ms",
        "[  0:25] stop raid1 and blank its disks",
        f"[  0:28] run {made.RUN} done: every cell is valid (2 cells)",
    ]
    assert said.out.splitlines()[-1] == f"Result: {kept}"
    assert json.loads(kept.read_bytes())["run"] == made.RUN


def test_the_exit_code_is_the_runs_own(engine):
    engine.answers(**run_of(5, "invalid"))
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{TWO}")
    assert said.code == 5
    assert "✗ raid1/seq-1m#1: INVALID: the array resynced while it was measured" in said.err
    assert "✗ invalid [1]" in said.out


def test_replay_as_json_prints_every_record(engine):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "--json", "--erase", f"{ONE},{TWO}")
    assert [json.loads(line) for line in said.out.splitlines()] == made.plain(made.records())


def test_a_whole_replay_has_one_connection_so_that_a_password_is_typed_once(engine):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{TWO}")
    assert said.code == 0
    assert methods(said)[-1] == "result"
    assert engine.connections() == 1


def test_a_lost_connection_is_taken_up_where_it_was(engine):
    engine.answers(**run_of(die_after=7))
    said = engine.run("replay", "tiny.json", "--json", "--erase", f"{ONE},{TWO}")
    assert said.code == 0
    assert [json.loads(line)["seq"] for line in said.out.splitlines()] == list(range(1, 23))
    assert [r["params"]["after"] for r in said.requests if r["method"] == "follow"] == [0, 7]
    assert "the connection to the engine was lost" in said.err
    assert "connected again" in said.err
    assert methods(said)[-2:] == ["follow", "result"]


def test_a_run_whose_end_is_unknown_is_to_be_recovered(engine):
    answers = run_of()
    answers["follow"]["events"] = made.records()[:9]
    engine.answers(**answers)
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{TWO}")
    assert said.code == 6
    assert f"`raidtui recover {made.RUN}`" in said.err


def test_an_existing_output_is_refused_before_anything_starts(engine, tmp_path):
    engine.answers(**run_of())
    (tmp_path / "mine.json").write_text("precious")
    said = engine.run("replay", "tiny.json", "-o", "mine.json", "--erase", f"{ONE},{TWO}")
    assert said.code == 2
    assert said.requests == []
    assert (tmp_path / "mine.json").read_text() == "precious"


def test_output_goes_where_it_was_asked_for(engine, tmp_path):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "-o", "mine.json", "--erase", f"{ONE},{TWO}")
    assert said.out.splitlines()[-1] == "Result: mine.json"
    assert json.loads((tmp_path / "mine.json").read_bytes())["schema"] == "raidtui.result/1"


def test_detach_says_the_run_and_how_to_come_back(engine):
    engine.answers(**run_of())
    said = engine.run("replay", "tiny.json", "--detach", "--erase", f"{ONE},{TWO}")
    assert (said.code, said.out) == (0, f"{made.RUN}\n")
    assert f"raidtui --on stor1 attach {made.RUN}" in said.err
    assert methods(said) == ["plan", "start"]


def test_a_plan_that_erases_nothing_needs_no_consent(engine):
    engine.answers(**{**run_of(), "plan": {"result": made.plan(erases=())}})
    assert engine.run("replay", "tiny.json").code == 0


def test_attach_shows_the_running_run_from_its_beginning(engine):
    answers = run_of()
    runs = (RunInfo(made.RUN, "tiny", "running", "", ()), RunInfo("20260131-130000-zzzz1234", "tiny", "finished", "", ()))
    engine.answers(**answers, runs={"result": RunList("raidtui.runs/1", runs)})
    said = engine.run("attach")
    assert said.code == 0
    assert said.requests[1] == {"method": "follow", "params": {"run": made.RUN, "after": 0}}
    assert "check both disks again" in said.err


def test_a_refused_start_exits_3_and_names_the_run_that_holds_the_disk(engine):
    held = Problem("held", f"disk {ONE} is used by run {made.RUN}", ONE, "Wait for it, or cancel it.", exit=3)
    engine.answers(**{**run_of(), "start": {"failure": [held]}})
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{TWO}")
    assert said.code == 3
    assert made.RUN in said.err


def test_unknown_scenarios_and_bad_bindings_are_usage_errors(engine):
    assert engine.run("plan", "nosuch").code == 2
    assert "Shipped scenarios: backup-target, bare-disk, ceph-rbd, database-oltp, " in engine.run("plan", "nosuch").err
    assert engine.run("plan", "tiny.json", "--bind", "data").code == 2
    assert engine.run("plan", "tiny.json", "--bind", "data=A", "--bind", "data=B").code == 2
    assert engine.run("plan", str(Path("no") / "file.json")).code == 2


def test_a_result_that_is_no_result_is_named(engine, tmp_path):
    (tmp_path / "odd.json").write_text('{"schema": "raidtui.scenario/1"}')
    said = engine.run("show", "odd.json")
    assert said.code == 2
    assert "[not-a-result]" in said.err


def test_show_prints_the_page_of_a_run_of_the_engine(engine):
    engine.answers(result={"result": made.result()})
    said = engine.run("show", made.RUN)
    assert said.code == 0
    assert said.out.startswith("tiny: One disk against a mirror\n")
    assert engine.run("show", made.RUN, "--baseline", "nosuch").code == 2
    assert json.loads(engine.run("show", made.RUN, "--json", "--baseline", "raid1").out)["baseline"] == "raid1"


def test_a_run_that_began_while_the_connection_broke_is_found_by_its_token(engine):
    runs = RunList("raidtui.runs/1", (RunInfo(made.RUN, "tiny", "running", "", ()),))
    engine.answers(**{**run_of(), "start": {"events": [{}], "die_after": 0}, "runs": {"result": runs}})
    said = engine.run("replay", "tiny.json", "--erase", f"{ONE},{TWO}")
    assert said.code == 0
    assert methods(said).count("start") == 1
    assert f"run {made.RUN} done" in said.err


def test_a_pool_that_is_there_is_used_only_if_it_is_named(engine):
    step = Step("001", "rbd.put", "Make 2 images in pool tank", "build", takes=("tank",))
    plan = msgspec.structs.replace(made.plan(), erases=(), binding={}, steps=(step,))
    engine.answers(**{**run_of(), "plan": {"result": plan}})
    said = engine.run("replay", "tiny.json")
    assert (said.code, methods(said)) == (3, ["plan"])
    assert "this plan makes images in tank, there before; nothing was touched" in said.err
    assert said.out.splitlines()[-1].strip() == "raidtui --on stor1 replay tiny.json --pool tank"
    wrong = engine.run("replay", "tiny.json", "--pool", "tan")
    assert (wrong.code, "pool-consent" in wrong.err) == (3, True)
    said = engine.run("replay", "tiny.json", "--pool", "tank")
    start = next(request["params"] for request in said.requests if request["method"] == "start")
    assert (start["pools"], start["erase"]) == (["tank"], [])
