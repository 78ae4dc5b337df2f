"""Views of storage clusters, made from what their tools print (`tests/data`: Ceph 18.2.7 and Vitastor 3.0.8)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from raidtui.base import proc
from raidtui.engine import clusters
from raidtui.engine.clusters import ceph_checks, ceph_view, configured, vitastor_view
from raidtui.front.clusters import complaints, host_line, osd_row, pool_rows, summary
from raidtui.model.cluster import ClusterView

DATA = Path(__file__).parents[1] / "data"
CEPH: dict[str, Any] = json.loads((DATA / "ceph/cluster.json").read_text())
VITASTOR: dict[str, Any] = json.loads((DATA / "vitastor/cluster.json").read_text())
STATES: dict[str, Any] = json.loads((DATA / "vitastor/states.json").read_text())
BARE = ClusterView("ceph", "/etc/ceph/ceph.conf")
PROFILES = {"rt21": {"k": "2", "m": "1", "plugin": "jerasure"}}


def tree(**changes: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded `osd df` as `osd df tree` has it: osd.0 and osd.1 on node1, osd.2 on node2."""
    osds = [{**one, **changes.get(one["name"].replace(".", ""), {})} for one in CEPH["osd df"]["nodes"]]
    hosts = [{"id": -2, "name": "node1", "type": "host", "children": [1, 0]},
             {"id": -3, "name": "node2", "type": "host", "children": [2]}]  # fmt: skip
    return {"nodes": [{"id": -1, "name": "default", "type": "root", "children": [-2, -3]}, *hosts, *osds], "stray": []}


def ceph(df: dict[str, Any] | None = None, **health: Any) -> ClusterView:
    status = {**CEPH["status"], **({"health": health} if health else {})}
    dump = {"pools": CEPH["osd pool ls detail"], "erasure_code_profiles": PROFILES}
    return ceph_view(BARE, status, dump, df or tree(), CEPH["df"])


def vitastor(state: str = "base") -> ClusterView:
    bare = ClusterView("vitastor", "/etc/vitastor/vitastor.conf")
    status = {**VITASTOR["status"], **STATES[state]["status"]}
    return vitastor_view(bare, status, VITASTOR["ls-osd"], VITASTOR["ls-pools"])


def test_a_ceph_cluster_has_health_pools_and_osds_by_host():
    view = ceph()
    assert (view.health, view.id, view.groups) == ("ok", "11111111-2222-3333-4444-555555555555", {"active+clean": 16})
    assert [(check.code, check.muted) for check in view.checks] == [("MGR_MODULE_ERROR", True)]
    assert [(pool.name, pool.kind, pool.size, pool.min_size, pool.coding) for pool in view.pools] == [
        ("rt-rep", "replicated", 2, 1, "2 copies"), ("rt-ec", "erasure", 3, 2, "2+1"),
    ]  # fmt: skip
    assert [(pool.used_bytes, pool.free_bytes) for pool in view.pools] == [(16384, 9138982912), (0, 12185310208)]
    assert {host: [osd.name for osd in osds] for host, osds in view.hosts.items()} == {
        "node1": ["osd.0", "osd.1"], "node2": ["osd.2"],
    }  # fmt: skip
    assert all(osd.up and osd.inside and osd.size_bytes == 6 << 30 for osd in view.osds)
    assert 0.4 < (view.osds[0].used_percent or 0) < 0.5


def test_osds_of_a_map_without_hosts_are_shown_all_the_same():
    view = ceph(CEPH["osd df"])
    assert list(view.hosts) == [""]
    assert len(view.osds) == 3


def test_an_osd_that_is_down_or_out_says_so():
    view = ceph(tree(osd1={"status": "down"}, osd2={"reweight": 0, "device_class": "nvme"}))
    assert [(osd.up, osd.inside) for osd in view.osds] == [(True, True), (False, True), (True, False)]
    assert "2 of 3 OSDs up, 2 in" in summary(view)
    assert [osd_row(osd)[1:3] for osd in view.osds[1:]] == [("DOWN, in", "–"), ("up, OUT", "nvme")]
    assert host_line("node1", view.hosts["node1"]) == "node1: 1 of 2 OSDs up, the fullest < 1 %"


@pytest.mark.parametrize(
    ("state", "health", "codes"),
    [
        ("base", "ok", []),
        ("nearfull", "warning", ["OSD_NEARFULL", "POOL_NEARFULL"]),
        ("killed-12s", "warning", ["OSD_DOWN", "PG_DEGRADED"]),
        ("slow", "warning", ["SLOW_OPS"]),
        ("flags", "warning", ["OSDMAP_FLAGS"]),
    ],
)
def test_health_and_its_checks_are_those_of_ceph(state: str, health: str, codes: list[str]):
    view = ceph(**CEPH["health"][state])
    assert view.health == health
    assert [check.code for check in ceph_checks(CEPH["health"][state])] == codes
    assert [one.words.partition(":")[0] for one in complaints(view)] == codes


def test_a_vitastor_cluster_has_the_same_shape():
    view = vitastor()
    assert (view.health, view.checks, view.groups) == ("ok", (), {"active": 16})
    assert [(pool.name, pool.coding, pool.min_size, pool.free_bytes) for pool in view.pools] == [
        ("rtrep", "2 copies", 1, 5677689514), ("rtxor", "2+1", 2, 8516534272),
    ]  # fmt: skip
    assert [(osd.name, osd.host, osd.up, osd.inside, osd.size_bytes) for osd in view.osds] == [
        (f"osd.{number}", "host-a", True, True, 4258267136) for number in (1, 2, 3)
    ]
    assert len(list(pool_rows(view))) == 2


@pytest.mark.parametrize(
    ("state", "health", "codes"),
    [
        ("killed-1s", "error", {"vitastor-not-clean"}),
        ("killed-20s", "warning", {"vitastor-osd-down", "vitastor-recovering"}),
        ("restarted", "ok", set()),
    ],
)
def test_what_is_wrong_with_a_vitastor_cluster_is_found(state: str, health: str, codes: set[str]):
    view = vitastor(state)
    assert (view.health, {check.code for check in view.checks}) == (health, codes)


def test_a_cluster_is_configured_where_there_is_a_file_and_a_key(tmp_path: Path):
    assert list(configured(tmp_path)) == []
    (tmp_path / "ceph.conf").touch()
    assert list(configured(tmp_path)) == []
    (tmp_path / "ceph.client.bench.keyring").touch()
    ((conf, cluster),) = configured(tmp_path)
    assert (conf, cluster.user) == (str(tmp_path / "ceph.conf"), "bench")
    (tmp_path / "ceph.client.admin.keyring").touch()
    assert [one.user for _, one in configured(tmp_path)] == ["admin"]
    (tmp_path / "other.conf").touch()
    assert [one.user for _, one in configured(tmp_path)] == ["admin"]


TOOL = f"""#!{sys.executable}
import json, sys
data = json.load(open({str(DATA / "ceph/cluster.json")!r}))
words = [word for word in sys.argv[1:] if word in ("status", "osd", "dump", "df", "tree")]
if words == ["status"] and "slow.conf" in sys.argv[2]:
    sys.exit("[errno 110] RADOS timed out (error connecting to the cluster)")
if words == ["osd", "dump"]:
    print(json.dumps({{"pools": data["osd pool ls detail"], "erasure_code_profiles": {{"rt21": {{"k": "2", "m": "1"}}}}}}))
else:
    print(json.dumps(data[{{"osd df tree": "osd df"}}.get(" ".join(words), " ".join(words))]))
"""


def test_each_cluster_is_asked_by_its_tool_and_one_that_does_not_answer_has_the_problem(tmp_path: Path, monkeypatch):
    tool = tmp_path / "ceph"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    for name in ("ceph", "slow"):
        (tmp_path / f"{name}.conf").touch()
        (tmp_path / f"{name}.client.admin.keyring").touch()
    monkeypatch.setattr(proc, "find_tool", lambda name: str(tool) if name == "ceph" else None)
    monkeypatch.setattr(clusters, "_CEPH", tmp_path)
    good, slow = clusters.clusters()
    assert (good.health, len(good.osds), len(good.pools)) == ("ok", 3, 2)
    assert (slow.health, [problem.code for problem in slow.problems]) == (None, ["rbd-no-answer"])
    assert "was not reached" in summary(slow)


def test_there_are_no_clusters_without_a_tool_and_a_view_is_what_the_protocol_carries(monkeypatch):
    monkeypatch.setattr(proc, "find_tool", lambda _: None)
    assert clusters.clusters() == ()
    assert msgspec.json.decode(msgspec.json.encode(ceph()), type=ClusterView) == ceph()


def test_an_answer_of_another_form_is_told_and_does_not_break_anything():
    broken = clusters._read(BARE, lambda *_: {}, (("status",),) * 4, ceph_view)
    assert [problem.code for problem in broken.problems] == ["cluster-unread"]
