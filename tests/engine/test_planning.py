"""Binding and planning: the right disks, the same plan for the same question, and consent to the letter."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
import pytest

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.consent import refused
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.reading import catalog, read_document
from raidtui.model.disk import Disk, Reason
from raidtui.model.plan import Options
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Role

GIB = 1 << 30


def disk(number: int, **changes: Any) -> Disk:
    facts = {
        "id": f"S{number}", "name": f"nvme{number}n1", "size_bytes": 8 * GIB, "serial": f"S{number}",
        "wwid": f"eui.{number:016x}", "model": "M", "transport": "nvme", "rotational": False, "discard": True,
        "diskseq": number,
    }  # fmt: skip
    return Disk(**(facts | changes))


SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "t",
    "roles": {"data": {"count": 3}, "journal": {"count": 1}},
    "layouts": {
        "raid5": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}},
        "with-journal": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB", "journal": "@journal"}},
        "each": {"disk": {"on": "@data", "mode": "each"}},
    },
    "workloads": {
        "w": {"fio": {"rw": "write", "bs": "1MiB", "iodepth": 8, "runtime": "60s"}},
        "r": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 1, "runtime": "60s"}},
    },
    "policy": {"rounds": 2, "initial_sync": "skip-if-zeroed", "cooldown": "10s"},
}


def plan(options: Options = Options(), token: str = "abcdefgh", **changes: Any):  # noqa: B008
    scenario = read_document(json.dumps({**SCENARIO, **changes})).scenario
    binding = bind(used_roles(scenario, options), {"data": ("S1", "S2", "S3")}, [disk(n) for n in range(1, 5)])
    return make_plan(scenario, binding, options, token=token, boot_id="b")


def test_the_same_question_has_the_same_plan() -> None:
    assert plan() == plan()


def test_the_digest_does_not_depend_on_names_the_plan_makes_up() -> None:
    one, other = plan(token="aaaaaaaa"), plan(token="bbbbbbbb")
    assert one.digest == other.digest
    assert one != other


def test_the_digest_depends_on_scenario_and_options() -> None:
    plans = (plan(), plan(Options(quick=True)), plan(title="x"), plan(Options(layouts=("each",))))
    digests = {made.digest for made in plans}
    assert len(digests) == 4


def test_a_plan_begins_at_the_gate_and_ends_with_blank_disks() -> None:
    steps = plan().steps
    assert steps[0].action == "admit"
    assert steps[-1].action == "release"
    assert [step.id for step in steps] == [f"{n:03d}" for n in range(1, len(steps) + 1)]
    for block in {step.block for step in steps if step.block}:
        own = [step for step in steps if step.block == block]
        assert own[0].action == "recheck"
        assert own[-1].action == "disks.blank"


def test_interleaved_rounds_build_anew_and_grouped_ones_do_not() -> None:
    assert sum(step.action == "md.create" for step in plan().steps) == 4
    grouped = plan(policy={**SCENARIO["policy"], "order": "grouped"})
    assert sum(step.action == "md.create" for step in grouped.steps) == 2
    assert len(grouped.cells) == len(plan().cells)


def test_every_disk_a_step_destroys_is_among_the_plans_disks() -> None:
    made = plan()
    assert set(made.erases) == {"S1", "S2", "S3", "S4"}
    assert all(set(step.erases) <= set(made.erases) for step in made.steps)
    builds = [step for step in made.steps if step.action == "md.create" and step.block == "raid5#1"]
    assert [step.erases for step in builds] == [("S1", "S2", "S3")]


def test_only_the_disks_of_chosen_layouts_are_needed() -> None:
    assert set(plan(Options(layouts=("raid5",))).erases) == {"S1", "S2", "S3"}


def test_what_is_read_was_written_before() -> None:
    steps = plan(Options(layouts=("raid5",), workloads=("r",))).steps
    actions = [step.action for step in steps if step.cell]
    assert actions == ["prefill", "cooldown", "measure"] * 2


def test_a_rehearsal_is_short_and_reads_little() -> None:
    made = plan(Options(quick=True))
    for step in made.steps:
        if step.action == "measure":
            assert step.args["spec"]["runtime"] == "3s"
        if step.action == "prefill":
            assert step.args["region_bytes"] <= 256 << 20
        if step.action == "cooldown":
            assert step.args["seconds"] <= 1


@pytest.mark.parametrize(
    "where",
    [
        {"offset": "300GiB"}, {"offset": "300GiB", "size": "24MiB"}, {"size": "300GiB"},
        {"numjobs": 4, "offset_increment": "60%"},
    ],
)  # fmt: skip
def test_a_rehearsal_refuses_what_does_not_fit_in_earnest(where: dict[str, Any]) -> None:
    loads = {"w": {"fio": {"rw": "randread", "bs": "16KiB", "runtime": "3s", **where}}}
    said = []
    for quick in (True, False):
        with pytest.raises(ProblemError) as caught:
            plan(Options(quick=quick), workloads=loads)
        said.append(caught.value.problems)
    assert said[0] == said[1]
    assert said[0][0].code == "fio-region-larger-than-target"


def test_no_command_forces_anything() -> None:
    for step in plan().steps:
        for command in step.commands:
            assert not {"-f", "--force", "-ff", "-F"} & set(command)


def test_consent_names_every_disk_and_no_other() -> None:
    made, disks = plan(), {d.id: d for d in (disk(n) for n in range(1, 6))}
    assert refused(made, ("S1", "S2", "S3", "S4"), disks.values()) == []
    assert refused(made, ("eui.0000000000000001", "0000000000000002", "S3", "S4"), disks.values()) == []
    for wrong, code in (
        (("S1", "S2", "S3"), "erase-too-few"),
        (("S1", "S2", "S3", "S4", "S5"), "erase-too-many"),
        (("S1", "S2", "S3", "S4", "nvme1n1"), "erase-unknown"),
        ((), "erase-too-few"),
    ):
        assert refused(made, wrong, disks.values())[0].code == code


ROLES = {"a": Role(2), "b": Role(1)}


def codes(roles, said, disks) -> list[str]:
    with pytest.raises(ProblemError) as caught:
        bind(roles, said, disks)
    return [problem.code for problem in caught.value.problems]


def test_a_role_binds_itself_only_where_there_is_no_choice() -> None:
    two = [disk(1), disk(2)]
    assert [d.id for d in bind({"a": Role(2)}, {}, two)["a"]] == ["S1", "S2"]
    assert codes({"a": Role(2)}, {}, [*two, disk(3)]) == ["ambiguous-binding"]
    assert codes({"a": Role(3)}, {}, two) == ["too-few-disks"]
    assert codes(ROLES, {}, [disk(n) for n in (1, 2, 3)]) == ["ambiguous-binding", "ambiguous-binding"]


def test_a_disk_is_named_by_serial_or_wwn_and_never_by_its_kernel_name() -> None:
    disks = [disk(1), disk(2)]
    assert bind({"a": Role(1)}, {"a": ("eui.0000000000000002",)}, disks)["a"][0].id == "S2"
    assert codes({"a": Role(1)}, {"a": ("/dev/nvme1n1",)}, disks) == ["no-such-disk"]
    assert codes({"a": Role(1)}, {"a": ("nvme1n1",)}, disks) == ["no-such-disk"]


def test_two_disks_with_one_serial_cannot_be_named_by_it() -> None:
    twins = [disk(1, serial="X", id="eui.1"), disk(2, serial="X", id="eui.2")]
    assert codes({"a": Role(1)}, {"a": ("X",)}, twins) == ["no-such-disk"]


def test_what_does_not_fit_is_refused() -> None:
    disks = [disk(1), disk(2), disk(3, reasons=(Reason("mounted", "mounted on /srv"),))]
    assert codes({"a": Role(2)}, {"a": ("S1",)}, disks) == ["wrong-count"]
    assert codes({"a": Role(2)}, {"a": ("S1", "S1")}, disks) == ["disk-twice"]
    assert codes({"a": Role(1)}, {"a": ("S3",)}, disks) == ["not-free.mounted"]
    assert codes({"a": Role(1)}, {"a": ("S1",), "c": ("S2",)}, disks) == ["unknown-role"]
    where = msgspec.convert({"count": 1, "where": {"rotational": True}}, Role)
    assert codes({"a": where}, {"a": ("S1",)}, disks) == ["misfit"]


def test_what_disks_have_no_room_for_is_said_of_every_layout_at_once() -> None:
    large = {"lvm": {"on": "@data", "size": "900GiB"}}
    layouts = {"a": large, "b": {"filesystem": {"type": "xfs", "on": large}}, "c": SCENARIO["layouts"]["raid5"]}
    with pytest.raises(ProblemError) as caught:
        plan(layouts=layouts)
    found = {problem.place: problem.message for problem in caught.value.problems}
    assert sorted(found) == ["$.layouts.a.lvm.size", "$.layouts.b.filesystem.on.lvm.size"]
    assert "not for 900 GiB" in found["$.layouts.a.lvm.size"]


def test_a_workload_that_does_not_fit_says_on_which_layouts() -> None:
    loads = {"w": {"fio": {"rw": "write", "bs": "1MiB", "runtime": "3s", "size": "12GiB"}}}
    with pytest.raises(ProblemError) as caught:
        plan(workloads=loads, layouts={**SCENARIO["layouts"], "one": {"md": {"level": "raid1", "on": "@data"}}})
    said = [problem.message.partition(":")[0] for problem in caught.value.problems]
    assert said == ["on layout each", "on layout one"]


def test_planning_reads_nothing_of_the_server() -> None:
    asked: list[str] = []
    catalog()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if planning and event in ("open", "os.listdir", "os.scandir", "subprocess.Popen", "socket.connect"):
            asked.append(f"{event} {args[0]}")

    planning = False
    sys.addaudithook(hook)  # stays for good, and is deaf afterwards
    planning = True
    try:
        made = plan()
    finally:
        planning = False
    assert made.steps
    assert asked == []
