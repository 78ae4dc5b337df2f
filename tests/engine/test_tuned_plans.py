"""Tuning in a scenario: what is refused when it is read, what a plan does with it, and what a result says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_planning import plan
from test_preview import one

from raidtui.engine.compose.reading import read_document
from raidtui.engine.run import claims, runs
from raidtui.engine.run.tally import Tally
from raidtui.gate import locks
from raidtui.model.event import Record, RunStarted, StepDone, StepStarted
from raidtui.model.plan import Plan, Step
from raidtui.model.problem import ProblemError
from raidtui.model.result import Machine, Tuned
from raidtui.stack.zfs import tuning as zfs

RAID5 = {"level": "raid5", "on": "@data", "chunk": "64KiB"}
POOL = {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}
Layouts = dict[str, dict[str, Any]]


def planned(layouts: Layouts) -> Plan:
    return plan(layouts=layouts, policy={"rounds": 1, "initial_sync": "wait"})


def tuned(made: Plan, action: str = "tune.set") -> list[Step]:
    return [step for step in made.steps if step.action == action]


def refusals(layout: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ProblemError) as error:
        planned({"it": layout})
    return [(problem.code, problem.place.removeprefix("$.layouts.it.")) for problem in error.value.problems]


def md(**tuning: Any) -> dict[str, Any]:
    return {"md": {**RAID5, "tuning": tuning}}


def test_disks_and_server_are_tuned_before_a_layer_is_built_and_its_device_as_soon_as_it_is_there() -> None:
    made = planned({"it": md(
        disks={"scheduler": "none"}, device={"read_ahead": "4MiB"}, stripe_cache_size=4096, sync_speed_max="10MiB",
        governor="performance",
    )})  # fmt: skip
    of_block = [step for step in made.steps if step.block and step.phase in ("build", "teardown")]
    assert [step.action for step in of_block] == [
        "recheck", "tune.set", "tune.set", "md.create", "tune.set", "md.sync", "md.verify", "tune.set",
        "md.stop", "tune.back", "tune.back", "tune.back", "tune.back", "disks.blank",
    ]  # fmt: skip
    set_, back = tuned(made), tuned(made, "tune.back")
    assert [step.args["uuid"] for step in back] == [step.args["uuid"] for step in reversed(set_)]
    assert [step.title for step in set_[:3]] == [
        "Tune the server: CPU governor performance",
        "Tune 3 disks of @data: scheduler none",
        f"Tune {_array(made)}: stripe_cache_size 4096, sync_speed_max 10MiB",
    ]


def test_the_plan_shows_what_a_shell_would_do() -> None:
    made = planned({"it": md(disks={"write_cache": "write through"}, stripe_cache_size=4096)})
    disks, array = tuned(made)
    assert disks.commands[0] == ("sh", "-c", "echo 'write through' > /sys/block/nvme1n1/queue/write_cache")
    assert len(disks.commands) == 3
    folder = f'/sys/block/"$(basename "$(realpath {_array(made)})")"'
    assert array.commands == (("sh", "-c", f"echo 4096 > {folder}/md/stripe_cache_size"),)


def test_a_role_may_differ_from_the_other_disks_of_its_layer() -> None:
    made = planned({"it": {"md": {**RAID5, "journal": "@journal", "tuning": {
        "disks": {"scheduler": "mq-deadline", "read_ahead": "1MiB"}, "roles": [{"role": "@journal", "scheduler": "none"}],
    }}}})  # fmt: skip
    data, journal = ([(s["ref"], s["file"], s["value"]) for s in step.args["settings"]] for step in tuned(made))
    assert data[:2] == [
        ("disk:S1", "queue/scheduler", "mq-deadline"), ("disk:S1", "queue/read_ahead_kb", "1024"),
    ]  # fmt: skip
    assert journal == [("disk:S4", "queue/scheduler", "none"), ("disk:S4", "queue/read_ahead_kb", "1024")]


def test_a_layout_without_tuning_has_the_plan_that_it_had() -> None:
    bare, empty = planned({"it": {"md": RAID5}}), planned({"it": md(disks={}, roles=[])})
    assert [step.args for step in bare.steps] == [step.args for step in empty.steps]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ({"md": {**RAID5, "level": "raid1", "chunk": None, "tuning": {"stripe_cache_size": 512}}},
         [("tuning-md", "md.tuning.stripe_cache_size")]),
        ({"md": {**RAID5, "level": "raid0", "tuning": {"sync_speed_max": "1MiB"}}},
         [("tuning-md", "md.tuning.sync_speed_max")]),
        (md(sync_speed_min="2MiB", sync_speed_max="1MiB"), [("tuning-value", "md.tuning.sync_speed_min")]),
        (md(disks={"read_ahead": "100B"}), [("tuning-value", "md.tuning.disks.read_ahead")]),
        (md(disks={"scheduler": "cfq"}), [("schema", "md.tuning.disks.scheduler")]),
        (md(queue={"scheduler": "none"}), [("schema", "md.tuning.queue")]),
        (md(roles=[{"role": "@journal", "scheduler": "none"}]), [("tuning-no-device", "md.tuning.roles[0].role")]),
        (md(roles=[{"role": "@data", "nr_requests": 8}] * 2), [("tuning-twice", "md.tuning.roles[1].role")]),
        ({"disk": {"on": "@data", "tuning": {"device": {"read_ahead": "1MiB"}}}},
         [("tuning-no-device", "disk.tuning.device")]),
        ({"filesystem": {"type": "xfs", "on": {"md": RAID5}, "tuning": {"disks": {"scheduler": "none"}}}},
         [("tuning-no-device", "filesystem.tuning.disks")]),
        ({"filesystem": {"type": "xfs", "on": md(governor="performance"), "tuning": {"governor": "powersave"}}},
         [("tuning-twice", "filesystem.tuning")]),
        ({"zpool": {**POOL, "tuning": {"parameters": {"zfs_nocacheflush": 1, "zfs_arc_max": "1G"}}}},
         [("tuning-zfs-refused", f"zpool.tuning.parameters.{name}") for name in ("zfs_nocacheflush", "zfs_arc_max")]),
        ({"zpool": {**POOL, "tuning": {"parameters": {"zfs_txg_timeout": "1; reboot"}}}},
         [("schema", "zpool.tuning.parameters[...]")]),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_refused_when_it_is_read(layout: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert refusals(json.loads(json.dumps(layout), object_pairs_hook=_given)) == expected


def test_a_parameter_that_this_servers_zfs_does_not_have_is_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "zfs_txg_timeout").write_text("5\n")
    monkeypatch.setattr(zfs, "PARAMETERS", tmp_path)
    assert planned({"it": {"zpool": {**POOL, "tuning": {"parameters": {"zfs_txg_timeout": 10}}}}})
    layout = {"zpool": {**POOL, "tuning": {"parameters": {"zfs_no_such_thing": 1}}}}
    assert refusals(layout) == [("tuning-not-offered", "zpool.tuning.parameters.zfs_no_such_thing")]


def test_a_parameter_of_the_arc_that_zfs_chooses_itself_has_no_way_back() -> None:
    file = f"{zfs.PARAMETERS}/zfs_arc_min"
    with pytest.raises(ProblemError) as error:
        zfs.refuse_no_way_back({file: ("1000000", "0")})
    assert error.value.problems[0].code == "tuning-no-way-back"
    zfs.refuse_no_way_back({file: ("1000000", "500000"), f"{zfs.PARAMETERS}/zfs_txg_timeout": ("5", "0")})


def test_a_volume_that_is_made_anew_before_each_cell_cannot_be_tuned() -> None:
    pool = {"zpool": {**POOL, "tuning": {"device": {"read_ahead": "0B"}, "disks": {"scheduler": "none"}}}}
    with pytest.raises(ProblemError) as error:
        plan(layouts={"it": pool}, policy={"caches": "cold"})
    assert error.value.problems[0].code == "tuning-no-device"
    del pool["zpool"]["tuning"]["device"]
    assert plan(layouts={"it": pool}, policy={"caches": "cold"})


def test_a_drawing_says_that_a_layer_is_tuned() -> None:
    assert one(md(stripe_cache_size=512)).stack.words.endswith(", tuned")
    assert not one(md()).stack.words.endswith(", tuned")


def test_what_belongs_to_the_server_is_claimed_and_what_belongs_to_disks_is_not() -> None:
    assert claims.claims_of(planned({"it": md(disks={"scheduler": "none"}, stripe_cache_size=512)}).steps) == ()
    both = {"zpool": {**POOL, "tuning": {"parameters": {"zfs_txg_timeout": 10}, "governor": "performance"}}}
    assert claims.claims_of(planned({"it": both}).steps) == ("the parameters of ZFS", "the CPU governor")
    assert claims.claims_of(planned({"it": {"zpool": {**POOL, "arc_max": "1GiB"}}}).steps) == ("the parameters of ZFS",)


def test_a_second_run_is_refused_while_another_one_has_what_it_claims(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "run_folder", lambda: tmp_path)
    monkeypatch.setattr(runs, "interrupted", lambda: iter(()))
    taken = claims.take("first", ["the CPU governor"])
    with pytest.raises(ProblemError) as error:
        claims.take("second", ["the parameters of ZFS", "the CPU governor"])
    assert [(p.code, p.place, p.exit) for p in error.value.problems] == [("held", "the CPU governor", 3)]
    claims.release(taken)
    claims.release(claims.take("second", ["the parameters of ZFS", "the CPU governor"]))


ZFS = "the parameters of ZFS"


def test_a_run_with_a_pool_relies_on_the_parameters_that_it_does_not_set() -> None:
    pool = planned({"it": {"zpool": POOL}}).steps
    assert (claims.claims_of(pool), claims.relied_on(pool)) == ((), (ZFS,))
    assert claims.relied_on(planned({"it": md()}).steps) == ()


def test_runs_that_rely_on_the_same_go_on_together(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "run_folder", lambda: tmp_path)
    monkeypatch.setattr(runs, "interrupted", lambda: iter(()))
    first, second = claims.take("first", [], [ZFS]), claims.take("second", [], [ZFS])
    claims.release(first)
    with pytest.raises(ProblemError) as error:
        claims.take("third", [ZFS], [ZFS])
    assert [(p.code, p.place, p.exit) for p in error.value.problems] == [("held", ZFS, 3)], "the second one still goes on"
    claims.release(second)
    claims.release(claims.take("third", [ZFS], [ZFS]))


def test_no_run_with_a_pool_begins_while_another_one_has_changed_parameters(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "run_folder", lambda: tmp_path)
    monkeypatch.setattr(runs, "interrupted", lambda: iter(()))
    taken = claims.take("first", [ZFS], [ZFS])
    with pytest.raises(ProblemError) as error:
        claims.take("second", [], [ZFS])
    (problem,) = error.value.problems
    assert (problem.code, problem.place, problem.message) == ("held", ZFS, "held by run first")
    claims.release(taken)
    claims.release(claims.take("second", [], [ZFS]))
    assert list((tmp_path / "locks").iterdir()) == []


def test_no_run_with_a_pool_begins_after_one_that_died_with_changed_parameters(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "run_folder", lambda: tmp_path)
    (step,) = [one for one in planned({"it": {"zpool": {**POOL, "arc_max": "1GiB"}}}).steps if one.action == "zpool.arc"]
    died = runs.fold(iter([_record(1, StepStarted(step.id, "", step.action, creates=step.creates, args=step.args))]))
    monkeypatch.setattr(runs, "interrupted", lambda: iter([("dead", died)]))
    with pytest.raises(ProblemError) as error:
        claims.take("second", [], [ZFS])
    assert [problem.code for problem in error.value.problems] == ["claim-left"]
    claims.release(claims.take("dead", [], [ZFS]))


def test_a_run_is_refused_after_one_that_died_with_what_it_claims(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "run_folder", lambda: tmp_path)
    (step,) = tuned(planned({"it": md(governor="performance")}))
    died = runs.fold(iter([_record(1, StepStarted(step.id, "", step.action, creates=step.creates, args=step.args))]))
    monkeypatch.setattr(runs, "interrupted", lambda: iter([("dead", died)]))
    with pytest.raises(ProblemError) as error:
        claims.take("second", ["the CPU governor"])
    (problem,) = error.value.problems
    assert (problem.code, problem.exit, problem.remedy) == ("claim-left", 3, "raidtui recover dead")
    assert locks.holders() == {}
    claims.release(claims.take("second", ["the parameters of ZFS"]))
    claims.release(claims.take("dead", ["the CPU governor"]))


def test_a_result_has_what_was_asked_found_set_and_restored() -> None:
    made = planned({"it": md(disks={"read_ahead": "130KiB"})})
    (set_,), (back,) = tuned(made), tuned(made, "tune.back")
    what, values = "S1 queue/read_ahead_kb", {"asked": "130", "found": "128", "set": "128"}
    events = [
        RunStarted("run", made, Machine("host", "6.12"), 1, "0"),
        StepStarted(set_.id, set_.title, set_.action, set_.block),
        StepDone(set_.id, "done", 0.1, set_.commands, {"tuning": {what: values}}),
        StepDone(back.id, "undone", 0.1, (), {"tuning": {what: {**values, "restored": "128"}}}),
    ]
    tally = Tally()
    for number, event in enumerate(events, 1):
        tally.add(_record(number, event))
    (built,) = tally.result().layouts
    assert built.tuning == {what: Tuned("130", "128", "128", "128")}
    assert built.commands == set_.commands
    assert built.read_back == {}


def test_every_layer_may_be_tuned() -> None:
    document = {
        "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 2}},
        "layouts": {
            "disk": {"disk": {"on": "@data", "tuning": {"disks": {"nr_requests": 32}}}},
            "lvm": {"lvm": {"on": "@data", "tuning": {"disks": {"nr_requests": 32}, "device": {"read_ahead": "0B"}}}},
            "btrfs": {"filesystem": {"type": "btrfs", "on": "@data", "tuning": {"disks": {"scheduler": "kyber"}}}},
        },
        "workloads": {"w": {"fio": {"rw": "read", "bs": "4KiB", "runtime": "1s"}}},
    }  # fmt: skip
    assert len(read_document(json.dumps(document)).scenario.layouts) == 3


def test_an_array_has_no_scheduler_of_its_own() -> None:
    with pytest.raises(ProblemError) as caught:
        planned({"it": md(device={"scheduler": "none"})})
    assert caught.value.problems[0].place.endswith("tuning.device.scheduler")


def _array(made: Plan) -> str:
    created = next(step.creates for step in made.steps if step.action == "md.create")
    return f"/dev/md/{created.name}" if created else ""


def _record(number: int, event: Any) -> Record:
    return Record(number, 0.0, "2026-01-01T00:00:00.000Z", event)


def _given(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if value is not None}
