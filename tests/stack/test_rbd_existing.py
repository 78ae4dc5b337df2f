"""Images in an existing pool: what the plan does there, whom it asks, and what keeps them from being made."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from test_rbd_plan import EC, planned

from raidtui.engine.compose.consent import refused
from raidtui.front.plan import check_pools, consented, lines_to_type, replay_line
from raidtui.model.plan import Options
from raidtui.model.problem import ProblemError
from raidtui.stack.catalog import bind
from raidtui.stack.rbd.existing import claims, no_room, pools_unfit, taken
from raidtui.stack.rbd.spec import RbdImages

MIB = 1 << 20
INTO: dict[str, Any] = {"size": "32MiB", "images": 2, "pool": "tank", "data_pool": "pieces"}
# As Ceph 18.2.7 prints them.
TANK: dict[str, Any] = {
    "pool": 3, "pool_name": "tank", "flags_names": "hashpspool,selfmanaged_snaps", "type": 1, "size": 2, "min_size": 1,
    "quota_max_bytes": 0, "quota_max_objects": 0, "erasure_code_profile": "", "application_metadata": {"rbd": {}},
    "pg_num": 8, "pg_autoscale_mode": "off", "crush_rule": 0,
}  # fmt: skip
PIECES: dict[str, Any] = {
    **TANK, "pool": 4, "pool_name": "pieces", "flags_names": "hashpspool,ec_overwrites", "type": 3, "size": 3,
    "erasure_code_profile": "rt21",
}  # fmt: skip
DUMP: dict[str, Any] = {"fsid": "f", "pools": [TANK, PIECES]}
DF: dict[str, Any] = {"pools": [
    {"name": "tank", "stats": {"stored": 29, "objects": 4, "max_avail": 9138982912}},
    {"name": "pieces", "stats": {"stored": 100 * MIB, "objects": 25, "max_avail": 12185310208}},
]}  # fmt: skip


def images(options: dict[str, Any] = INTO) -> RbdImages:
    step = next(step for step in planned(options).steps if step.action == "rbd.put")
    return msgspec.convert(step.args, RbdImages)


@pytest.mark.parametrize("through", ["krbd", "librbd"])
def test_a_plan_touches_nothing_but_its_own_images(through: str) -> None:
    plan = planned({**INTO, "through": through})
    steps = [step for step in plan.steps if step.phase in ("build", "teardown")]
    mapped = {"krbd": ["rbd.map"], "librbd": []}[through]
    unmapped = {"krbd": ["rbd.unmap"], "librbd": []}[through]
    assert [step.action for step in steps] == ["rbd.put", *mapped, "rbd.verify", *unmapped, "rbd.take"]
    assert not [argv for step in steps for argv in (*step.commands, *step.undo) if argv[0] == "ceph"]
    made, gone = steps[0].commands, steps[-1].commands
    names = [argv[-1] for argv in gone]
    assert names == [f"tank/{one.name}" for one in images().images]
    assert [argv for argv in made if argv[1] == "create"] == [
        ("rbd", "create", name, "--size", "32M", "--data-pool", "pieces") for name in names
    ]
    cache = [argv[1:] for argv in made if argv[1] == "config"]
    # For the image alone: the pool's own setting is others' too.
    assert cache == [("config", "image", "set", name, "rbd_cache", "false") for name in names if through == "librbd"]
    for step in steps:
        bind(step.action, step.args)


def test_consent_is_to_the_names_of_the_pools_and_no_others() -> None:
    plan = planned(INTO)
    assert plan.takes == ("pieces", "tank")
    assert [line.expected for line in lines_to_type(plan)] == ["pieces", "tank"]
    assert consented(lines_to_type(plan), ["pieces", "tank"]) == ()
    assert consented(lines_to_type(plan), ["pieces", "tan"]) is None
    assert check_pools(plan, ["tank", "pieces"]) == plan.takes
    assert "--pool pieces --pool tank" in replay_line(plan, "s.json", Options())
    for named in ((), ("tank",), ("tank", "pieces", "rbd")):
        with pytest.raises(ProblemError) as raised:
            check_pools(plan, named)
        assert {one.code for one in raised.value.problems} == {"pool-consent"}
        assert [one.code for one in refused(plan, (), (), named)] == [one.code for one in raised.value.problems]
    assert refused(plan, (), (), plan.takes) == []


def test_a_pool_of_the_runs_own_needs_no_consent() -> None:
    plan = planned(EC)
    assert (plan.takes, lines_to_type(plan), refused(plan, (), ())) == ((), (), [])


def test_one_run_of_a_server_at_a_time_has_a_pool() -> None:
    where = "of the Ceph cluster of /etc/ceph/ceph.conf"
    assert claims(images()) == (f"pool tank {where}", f"pool pieces {where}")


@pytest.mark.parametrize(
    ("pool", "changed", "found"),
    [
        (0, {}, []),
        (0, {"pool_name": "other"}, ["rbd-pool-missing"]),
        (0, {"application_metadata": {"cephfs": {}}}, ["rbd-pool-unfit"]),
        (0, {"erasure_code_profile": "rt21", "flags_names": "hashpspool,ec_overwrites"}, ["rbd-pool-unfit"]),
        (1, {"pool_name": "other"}, ["rbd-pool-missing"]),
        (1, {"flags_names": "hashpspool"}, ["rbd-pool-unfit"]),
    ],
)
def test_a_pool_that_is_missing_or_takes_no_images_is_refused(pool: int, changed: dict[str, Any], found: list[str]) -> None:
    dump = copy.deepcopy(DUMP)
    dump["pools"][pool] |= changed
    problems = list(pools_unfit(images(), dump))
    assert [one.code for one in problems] == found
    assert all(one.exit == 3 and one.place == ("tank", "pieces")[pool] for one in problems)


@pytest.mark.parametrize(
    ("quota", "free", "found"),
    [
        ({}, None, []),
        ({"quota_max_bytes": 164 * MIB}, None, []),
        ({"quota_max_bytes": 163 * MIB}, None, ["rbd-quota"]),
        ({"quota_max_objects": 41}, None, []),
        ({"quota_max_objects": 40}, None, ["rbd-quota"]),
        ({}, 79 * MIB, ["rbd-too-large"]),
    ],
)
def test_quotas_and_room_are_those_of_the_pool_with_the_data(
    quota: dict[str, int], free: int | None, found: list[str]
) -> None:
    """The images have 64 MiB, 16 objects; the pool has 100 MiB, 25 objects."""
    dump, df = copy.deepcopy(DUMP), copy.deepcopy(DF)
    dump["pools"][1] |= quota
    dump["pools"][0]["quota_max_bytes"] = 1  # the names' pool
    df["pools"][1]["stats"]["max_avail"] = free or df["pools"][1]["stats"]["max_avail"]
    assert [one.code for one in no_room(images(), dump, df)] == found


def test_images_of_others_are_no_matter_and_those_of_another_run_are() -> None:
    own = images().images[0].name
    assert list(taken(images(), ["vm-100-disk-0", "rtfoo", "rt-img-1"])) == []
    assert [one.code for one in taken(images(), ["rtzzzzzzzza-1"])] == ["rbd-other-run"]
    assert [one.code for one in taken(images(), [own])] == ["rbd-pool-exists"]
