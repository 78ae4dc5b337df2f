"""Every shipped scenario can be planned on disks like those it asks for, small and large, and says what it is for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from raidtui.engine.compose.hosts import unnamed
from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.reading import read_document
from raidtui.model.disk import Disk
from raidtui.model.plan import Options, Plan
from raidtui.model.scenario import Role, Scenario

GIB = 1 << 30
FILES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.json"))
LAB = {"nvme": 8 * GIB, "ssd": 4 * GIB, "hdd": GIB // 2}
SERVER = {"nvme": 1788 * GIB, "ssd": 894 * GIB, "hdd": 3726 * GIB}
CAMPAIGNS = {
    "habr-nvme-local": {"md-": 4, "lvm-raid": 4, "lvm-vdo": 2, "zfs-": 11, "zfs64-": 6},
    "lvm-cache-vs-zfs": {"ssd": 1, "stripe": 4, "zpool": 2},
    "zpool-layouts": {"one-disk": 1, "stripe": 1, "mirror": 1, "two-mirrors": 4, "raidz": 3},
    "bare-disk": {"each": 1, "all": 1},
    "iser-nvmeof": {"mdadm": 5, "lvm": 5, "zfs": 10},
}


def like(role: Role, name: str, number: int, sizes: dict[str, int]) -> Disk:
    """A disk such as the role asks for."""
    where = role.where
    kind = where.kind or ("hdd" if where.rotational else "nvme")
    serial = f"{name}{number}"
    return Disk(
        serial, f"{name}{number}n1", sizes[kind], serial, f"eui.{serial}", "M",
        transport="nvme" if kind == "nvme" else "sas", rotational=kind == "hdd", discard=kind != "hdd",
    )  # fmt: skip


def planned(path: Path, sizes: dict[str, int], *, quick: bool) -> tuple[Scenario, Plan]:
    scenario = read_document(path.read_text()).scenario
    binding = {name: tuple(like(role, name, n, sizes) for n in range(role.count)) for name, role in scenario.roles.items()}
    hosts = unnamed(scenario.hosts)
    return scenario, make_plan(scenario, binding, Options(quick=quick), token="abcdefgh", boot_id="b", hosts=hosts)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize(("sizes", "quick"), [(LAB, True), (SERVER, False)], ids=["lab", "server"])
def test_every_shipped_scenario_can_be_planned(path: Path, sizes: dict[str, int], quick: bool) -> None:
    scenario, plan = planned(path, sizes, quick=quick)
    assert {cell.layout for cell in plan.cells} == set(scenario.layouts)
    assert {cell.workload for cell in plan.cells} == set(scenario.workloads)
    assert plan.seconds > len(plan.cells), "the time is estimated"
    assert all(step.writes_bytes is None or step.writes_bytes >= 0 for step in plan.steps)
    assert len(plan.erases) == sum(role.count for role in scenario.roles.values()), "no role is there for nothing"


def test_in_the_campaign_over_protocols_each_client_has_two_volumes() -> None:
    """The array cannot be divided: there each has a region. The tests are called as the published numbers are."""
    path = FILES[0].parent / "iser-nvmeof.json"
    scenario, plan = planned(path, SERVER, quick=False)
    for step in (step for step in plan.steps if step.action == "measure" and step.args["on"]):
        assert [one["own"] for one in step.args["on"]] == 2 * [not step.block.startswith("mdadm")]
        assert [len(one["refs"]) for one in step.args["on"]] == 2 * [1 if step.block.startswith("mdadm") else 2]
    published = json.loads((path.parent / "published" / path.name).read_text())
    assert set(scenario.workloads) <= set(published["workloads"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_shipped_scenario_says_what_it_is_for(path: Path) -> None:
    scenario: dict[str, Any] = json.loads(path.read_text())
    assert scenario["name"] == path.stem
    assert 20 < len(scenario["title"]) < 100
    sentences = re.findall(r"[.?]( |$)", scenario["why"])
    assert 1 <= len(sentences) <= 4, scenario["why"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sizes_are_shares_of_the_disks_of_each_role(path: Path) -> None:
    """Partitions and volumes have a share of their disk (`50%`), so that a scenario fits disks of any size.

    Only files, regions, and images of clusters have sizes in bytes.
    """
    given = json.loads(path.read_text())
    layouts = json.dumps([layout for layout in given["layouts"].values() if not {"rbd", "vitastor"} & set(layout)])
    sizes = set(re.findall(r'"(?:size|virtual_size)": "([^"]+)"', layouts))
    assert all(size.endswith("%") for size in sizes), sizes


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_every_layout_of_a_campaign_is_there(name: str) -> None:
    layouts = list(json.loads((FILES[0].parent / f"{name}.json").read_text())["layouts"])
    counted = {prefix: sum(layout.startswith(prefix) for layout in layouts) for prefix in CAMPAIGNS[name]}
    assert counted == CAMPAIGNS[name]
    assert sum(counted.values()) == len(layouts)
