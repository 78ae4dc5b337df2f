"""Partitions: their places and GUIDs are planned, and what does not fit on a disk is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.layout import disk_part, plan_layout
from raidtui.engine.compose.reading import catalog
from raidtui.engine.compose.write_amplification import data_roles, expected
from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy, Scenario
from raidtui.model.scenario_reader import read_sketch
from raidtui.stack.gpt import MIB
from raidtui.stack.layer import Draft, Part, Planned
from raidtui.stack.partition.spec import Partitions

GIB = 1 << 30
FIO = {"w": {"fio": {"rw": "randwrite", "bs": "4KiB", "runtime": "5s"}}}


def part(role: str, use: str | None = None) -> dict[str, Any]:
    return {"partition": {"on": role} if use is None else {"on": role, "use": use}}


def read(layout: dict[str, Any], **counts: int) -> Scenario:
    roles = {name: {"count": count} for name, count in counts.items()}
    given = {"schema": "raidtui.scenario/1", "name": "x", "roles": roles, "layouts": {"it": layout}, "workloads": FIO}
    return read_sketch(json.loads(json.dumps(given)), catalog()).whole()


def disks(role: str, count: int, *, size: int = 8 * GIB, sector: int = 512, discard: bool = True) -> tuple[Part, ...]:
    found = (Disk(f"{role}{n}", f"{role}{n}", size, f"{role}{n}", f"{role}{n}", "m") for n in range(count))
    return tuple(disk_part(disk)._replace(logical_sector_bytes=sector, discard=discard) for disk in found)


def planned(layout: dict[str, Any], roles: dict[str, tuple[Part, ...]]) -> Planned:
    scenario = read(layout, **{name: len(parts) for name, parts in roles.items()})
    return plan_layout(scenario.layouts["it"], roles, Names("token"), Policy())


def made_by(plan: Planned) -> Partitions:
    args = plan.build[0].args
    assert isinstance(args, Partitions)
    return args


def codes(layout: dict[str, Any], **counts: int) -> list[str]:
    with pytest.raises(ProblemError) as caught:
        read(layout, **counts)
    return [problem.code for problem in caught.value.problems]


def test_each_disk_gets_one_partition_at_a_planned_place() -> None:
    plan = planned({"md": {"level": "raid5", "on": part("@a", "60%")}}, {"a": disks("a", 3)})
    assert [draft.action for draft in plan.build[:3]] == ["partition.create", "partition.verify", "md.create"]
    assert plan.teardown[-1].action == "partition.remove"
    made = made_by(plan)
    assert made.disks == ("a0", "a1", "a2")
    length = (8 * GIB - 2 * MIB) * 60 // 100 // MIB * MIB
    assert [[(one.start, one.length) for one in table.parts] for table in made.tables] == [[(MIB, length)]] * 3
    guids = [table.guid for table in made.tables] + [one.guid for table in made.tables for one in table.parts]
    assert len(set(guids)) == 6
    assert f"/dev/disk/by-partuuid/{made.tables[1].parts[0].guid}" in plan.build[2].commands[0]


def test_the_same_token_gives_the_same_guids() -> None:
    one, other = (made_by(planned(part("@a", "10%"), {"a": disks("a", 1)})) for _ in range(2))
    assert one == other


def test_partitions_of_one_role_share_its_disks_in_order() -> None:
    pool = {"zpool": {"vdevs": [{"stripe": "@a"}], "special": part("@fast", "300MiB"), "log": part("@fast", "10%"),
                      "volume": {"size": "10%"}}}  # fmt: skip
    plan = planned(pool, {"a": disks("a", 2), "fast": disks("fast", 1)})
    (table,) = made_by(plan).tables
    first, second = table.parts
    assert (first.start, first.length) == (MIB, 300 * MIB)
    assert second.start == first.start + first.length
    assert [draft.action for draft in plan.build].count("partition.create") == 1, "one table, written once"
    assert [draft.action for draft in plan.teardown].count("partition.remove") == 1
    create = next(draft for draft in plan.build if draft.action == "zpool.create")
    words = create.commands[-1]
    assert words[words.index("special") + 1].endswith(first.guid)
    assert words[words.index("log") + 1].endswith(second.guid)


def test_all_of_a_disk_is_used_by_shares_of_100_percent() -> None:
    parts = [part("@a", "33.3%"), part("@a", "33.3%"), part("@a", "33.4%")]
    (table,) = made_by(planned({"md": {"level": "raid0", "on": parts}}, {"a": disks("a", 1)})).tables
    assert table.end <= 8 * GIB - MIB
    whole = made_by(planned(part("@a"), {"a": disks("a", 1)}))
    assert whole.tables[0].parts[0].length == 8 * GIB - 2 * MIB
    assert not whole.tables[0].discard


@pytest.mark.parametrize("sector", [512, 4096])
def test_places_are_whole_sectors_and_the_sector_is_passed_up(sector: int) -> None:
    plan = planned(part("@a", "12.34%"), {"a": disks("a", 1, size=10 * GIB + 4096, sector=sector)})
    (one,) = made_by(plan).tables[0].parts
    assert one.start % MIB == one.length % MIB == 0
    assert [offer.logical_sector_bytes for offer in plan.offers] == [sector]
    assert plan.targets[0].size_bytes == one.length


def discards(draft: Draft) -> list[tuple[str, ...]]:
    return [argv for argv in draft.commands if argv[0] == "blkdiscard"]


def test_what_no_partition_uses_is_discarded_where_the_disk_can() -> None:
    plan = planned(part("@a", "60%"), {"a": disks("a", 2)})
    end = made_by(plan).tables[0].end
    words = ("blkdiscard", "--offset", str(end), "--length", str(8 * GIB - MIB - end))
    assert [argv[:-1] for argv in discards(plan.build[0])] == [words] * 2
    assert plan.build[0].title.endswith("discard the rest")
    plan = planned(part("@a", "60%"), {"a": disks("a", 2, discard=False)})
    assert discards(plan.build[0]) == []
    assert plan.build[0].title.endswith("stays as it is on disks that cannot discard")


def test_the_equivalent_command_has_every_guid() -> None:
    plan = planned(part("@a", "100MiB"), {"a": disks("a", 1)})
    (table,) = made_by(plan).tables
    assert plan.build[0].commands[-1] == (
        "sgdisk", f"--disk-guid={table.guid}", "--new=1:1024K:+102400K", f"--partition-guid=1:{table.parts[0].guid}",
        "/dev/a0",
    )  # fmt: skip


def test_whole_and_part_of_the_same_disks_are_refused() -> None:
    layout = {"bcache": {"on": "@a", "cache": part("@a", "10%")}}
    assert codes(layout, a=1) == ["role-whole"]
    assert codes({"md": {"level": "raid0", "on": ["@a", "@a"]}}, a=1) == ["role-twice"]
    assert codes(part(["@a", "@a"], "10%"), a=1) == ["role-twice"]  # type: ignore[arg-type]


def test_more_than_all_is_refused() -> None:
    layout = {"md": {"level": "raid0", "on": [part("@a", "60%"), part("@a", "50%")]}}
    assert codes(layout, a=1) == ["partition-shares"]
    assert codes({"md": {"level": "raid0", "on": [part("@a"), part("@a", "1GiB")]}}, a=1) == ["partition-shares"]


def test_disks_are_tuned_through_their_partitions_in_one_place() -> None:
    tuned = {"partition": {"on": "@a", "use": "10%", "tuning": {"disks": {"scheduler": "none"}}}}
    plan = planned({"md": {"level": "raid0", "on": [tuned, part("@a", "10%")]}}, {"a": disks("a", 2)})
    actions = [draft.action for draft in (*plan.build, *plan.teardown)]
    assert actions.index("partition.create") < actions.index("tune.set") < actions.index("md.create")
    assert actions.index("md.stop") < actions.index("tune.back") < actions.index("partition.remove")
    assert codes({"md": {"level": "raid0", "on": [tuned, tuned]}}, a=1) == ["tuning-twice"]
    device = {"partition": {"on": "@a", "tuning": {"device": {"read_ahead": "4KiB"}}}}
    assert codes(device, a=1) == ["tuning-no-device"]


def test_partitions_are_no_plain_disks() -> None:
    assert codes({"disk": {"on": part("@a", "10%")}}, a=1) == ["disk-partitions"]


def test_only_disks_are_partitioned() -> None:
    assert codes({"partition": {"on": {"md": {"level": "raid0", "on": "@a"}}}}, a=2) == ["partition-disks"]


@pytest.mark.parametrize(
    ("uses", "code"),
    [
        (("6GiB", "3GiB"), "partition-shares"),
        (("50%", "5GiB"), "partition-shares"),
        (("0.01%", "50%"), "partition-too-small"),
    ],
)
def test_what_does_not_fit_the_bound_disks_is_refused(uses: tuple[str, ...], code: str) -> None:
    layout = {"md": {"level": "raid0", "on": [part("@a", use) for use in uses]}}
    with pytest.raises(ProblemError) as caught:
        planned(layout, {"a": disks("a", 1)})
    (problem,) = caught.value.problems
    assert problem.code == code
    assert problem.place.startswith("$.layouts.it.md.on[")
    assert problem.place.endswith(".partition.use")


def test_a_partition_changes_nothing_about_what_is_written() -> None:
    scenario = read({"md": {"level": "raid1", "on": part("@a", "60%")}}, a=2)
    node = scenario.layouts["it"]
    assert data_roles(node, scenario.roles) == ("a",)
    pattern = Pattern((4096,), writes=True, random=True, in_flight_bytes=4096, whole_sectors=True)
    found = expected(node, scenario.roles, pattern)
    assert found is not None
    assert (found.low, found.high) == (2.0, 2.0)
