"""Bare disks that a plan adds: which, with what, under names that nothing else has, and what it says where it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_planning import disk

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.reading import read_document
from raidtui.model.plan import Host, Options, Plan
from raidtui.model.problem import ProblemError

RAID5 = {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}
WRITE = {"fio": {"rw": "write", "bs": "1MiB", "iodepth": 8, "runtime": "10s"}}
READ = {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 1, "runtime": "10s", "size": "1GiB"}}
SIZE_MIB = disk(1).size_bytes >> 20
FSYNC: dict[str, Any] = {"pg_test_fsync": {}}


def plan(
    layouts: dict[str, Any], workloads: dict[str, Any], options: Options = Options(), sectors: int = 512, **policy: Any,  # noqa: B008
) -> Plan:  # fmt: skip
    document = {
        "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 3}, "journal": {"count": 1}},
        "layouts": layouts, "workloads": workloads, "policy": {"ceilings": True, **policy},
    }  # fmt: skip
    scenario = read_document(json.dumps(document)).scenario
    wanted = {"data": ("S1", "S2", "S3"), "journal": ("S4",)}
    binding = bind(used_roles(scenario, options), {role: wanted[role] for role in used_roles(scenario, options)},
                   [disk(n, logical_sector_bytes=sectors) for n in range(1, 5)])  # fmt: skip
    return make_plan(scenario, binding, options, token="abcdefgh", boot_id="b")


def layouts_of(made: Plan) -> list[str]:
    return list(dict.fromkeys(cell.layout for cell in made.cells))


def test_disks_of_the_data_are_measured_before_the_layouts_and_those_of_a_journal_are_not() -> None:
    journaled = {"md": {"level": "raid5", "on": "@data", "journal": "@journal"}}
    made = plan({"raid5": RAID5, "journaled": journaled}, {"w": WRITE, "r": READ})
    assert layouts_of(made) == ["@data:each", "@data:all", "raid5", "journaled"]
    assert made.ceilings == {
        "@data:each": {"disk": {"on": "@data", "mode": "each"}},
        "@data:all": {"disk": {"on": "@data", "mode": "together"}},
    }
    each = [cell for cell in made.cells if cell.layout == "@data:each"]
    assert {(cell.part, cell.workload) for cell in each} == {(d, w) for d in ("S1", "S2", "S3") for w in ("w", "r")}
    assert {cell.data_disks for cell in made.cells if cell.layout == "journaled"} == {("S1", "S2", "S3")}


def test_added_layouts_are_erased_and_blanked_like_any_other() -> None:
    made = plan({"raid5": RAID5}, {"w": WRITE}, rounds=2)
    for name in ("@data:each#1", "@data:all#1", "@data:each#2", "@data:all#2"):
        own = [step for step in made.steps if step.block == name]
        assert own[0].action == "recheck"
        assert own[-1].action == "disks.blank"
        assert {disk for step in own for disk in step.erases} == {"S1", "S2", "S3"}
    assert len({step.block for step in made.steps if step.block}) == 6


def test_what_the_scenario_measures_itself_is_not_measured_again() -> None:
    own = {"mine": {"disk": {"on": "@data", "mode": "together"}}, "raid5": RAID5}
    assert layouts_of(plan(own, {"w": WRITE})) == ["@data:each", "mine", "raid5"]
    # Only where it meets the same workloads.
    made = plan(own, {"w": WRITE, "r": READ}, only={"mine": ["r"], "raid5": ["w", "r"]})
    assert {(cell.layout, cell.workload) for cell in made.cells if cell.layout == "@data:all"} == {("@data:all", "w")}


def test_one_disk_has_no_all_at_once_and_bare_disks_alone_need_nothing() -> None:
    assert layouts_of(plan({"xfs": {"filesystem": {"type": "xfs", "on": "@journal"}}}, {"w": WRITE})) == [
        "@journal:each", "xfs",
    ]  # fmt: skip
    assert plan({"bare": {"disk": {"on": "@data"}}}, {"w": WRITE}).ceilings == {}
    assert plan({"raid5": RAID5}, {"w": WRITE}, ceilings=False).ceilings == {}


def test_only_what_was_chosen_gets_ceilings() -> None:
    both = {"raid5": RAID5, "other": {"md": {"level": "raid1", "on": ["@data", "@journal"]}}}
    added = ["@data:each", "@data:all", "@data+@journal:each", "@data+@journal:all"]
    assert layouts_of(plan(both, {"w": WRITE}))[:4] == added
    assert layouts_of(plan(both, {"w": WRITE}, Options(layouts=("raid5",)))) == ["@data:each", "@data:all", "raid5"]


def test_workloads_of_files_have_no_ceiling_and_the_plan_says_so() -> None:
    files = {"fio": {"rw": "write", "bs": "1MiB", "filesize": "64MiB", "runtime": "10s"}}
    xfs = {"filesystem": {"type": "xfs", "on": RAID5}}
    made = plan({"xfs": xfs}, {"w": WRITE, "fsync": FSYNC, "files": files})
    assert {cell.workload for cell in made.cells if cell.layout in made.ceilings} == {"w"}
    said = [text for text in made.warnings if text.startswith("No ceiling is measured for ")]
    assert [text.split(":")[0] for text in said] == ["No ceiling is measured for fsync", "No ceiling is measured for files"]
    assert all("directory" in text for text in said)


def test_blocks_under_the_disks_sectors_have_no_ceiling() -> None:
    small = {"fio": {"rw": "randread", "bs": "512B", "runtime": "10s", "size": "1GiB"}}
    pool = {"zpool": {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}}
    made = plan({"pool": pool}, {"w": WRITE, "small": small}, sectors=4096)
    assert {cell.workload for cell in made.cells if cell.layout in made.ceilings} == {"w"}
    assert any(text.startswith("No ceiling is measured for small: it has blocks of 512 bytes") for text in made.warnings)


def test_no_layout_of_a_scenario_can_have_such_a_name() -> None:
    with pytest.raises(ProblemError):
        plan({"@data:all": RAID5}, {"w": WRITE})


def test_each_export_is_measured_once_over_devices_that_keep_nothing():
    def over(on: object, **options: object) -> dict[str, Any]:
        return {"nvmeof": {"on": on, **options}}

    loop = over(RAID5, transport="loop")
    made = plan({"raid5": over(RAID5), "disks": over("@data"), "loop": loop, "alike": over(RAID5)}, {"w": WRITE, "r": READ})
    exports = {name: layout for name, layout in made.ceilings.items() if not name.startswith("@data")}
    assert list(exports) == ["@nvmeof-tcp", "@nvmeof-tcp-2", "@nvmeof-loop"]
    null = {"null": {"size": f"{3 * SIZE_MIB}MiB"}}
    assert exports["@nvmeof-tcp"] == over(null)
    assert exports["@nvmeof-tcp-2"] == over([null, null, null])
    assert exports["@nvmeof-loop"] == over(null, transport="loop")
    own = [step for step in made.steps if step.block == "@nvmeof-tcp#1"]
    assert [step.action for step in own] == [
        "null.create", "nvmeof.export", "nvmeof.verify", "measure", "measure", "nvmeof.remove", "null.remove",
    ], "nothing is filled, and no disk is touched"  # fmt: skip
    assert not any(step.erases or step.args.get("disks") for step in own)


def test_an_export_to_hosts_is_measured_by_these_hosts():
    document = {
        "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 2}},
        "hosts": {"storage": {}, "clients": {"count": 2}}, "policy": {"ceilings": True}, "workloads": {"r": READ},
        "layouts": {"rdma": {"nvmeof": {"on": "@data", "to": "clients", "transport": "rdma", "queue_size": 128}}},
    }  # fmt: skip
    scenario = read_document(json.dumps(document)).scenario
    binding = bind(scenario.roles, {"data": ("S1", "S2")}, [disk(1), disk(2)])
    hosts = {"clients": tuple(
        Host(f"clients-{n}", f"root@c{n}", f"c{n}", str(n), "b", "6.12", f"10.10.{n}.2", f"10.10.{n}.1") for n in (1, 2)
    )}  # fmt: skip
    made = make_plan(scenario, binding, Options(), token="abcdefgh", boot_id="b", hosts=hosts)
    (links,) = [step for step in made.steps if step.action == "links"]
    assert links.args == {"seconds": 3, "rdma": True}
    (cell,) = [step for step in made.steps if step.cell == "@nvmeof-rdma/r/1" and step.action == "measure"]
    assert [one["host"] for one in cell.args["on"]] == ["clients-1", "clients-2"]
    assert [len(one["refs"]) for one in cell.args["on"]] == [2, 2], "as many devices as the export of the disks has"


def test_an_export_of_nothing_needs_no_ceiling_of_its_own():
    made = plan({"raid5": RAID5, "nothing": {"nvmeof": {"on": {"null": {"size": "1GiB"}}}}}, {"r": READ})
    assert list(made.ceilings) == ["@data:each", "@data:all"]
