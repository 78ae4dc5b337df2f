"""Clusters on the screen Disks: a bar that appears where there are some, their details, and what is asked when."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

import made
from test_clusters import CEPH, ceph, tree

from raidtui.model.cluster import CLUSTERS_SCHEMA, ClusterList, ClusterView
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList
from raidtui.tui.disks.clusters import ClusterBar
from raidtui.tui.disks.table import Detail, DiskTable

WRONG = ceph(tree(osd1={"status": "down"}), **CEPH["health"]["killed-12s"])
UNREACHED = ClusterView("ceph", "/etc/ceph/ceph.conf", problems=(Problem("rbd-no-answer", "no answer within 15 s"),))


def seen(*views: ClusterView) -> dict[str, ClusterList]:
    return {"result": ClusterList(CLUSTERS_SCHEMA, "stor1", views)}


@pytest.fixture
def show(stage):
    def run(talk, clusters, size=SMALL):
        disks = DiskList("raidtui.disks/1", "stor1", "boot", tuple(made.disk(number) for number in range(1, 5)))
        stage.answers(watch_disks={"events": [disks], "until": "never", "then": []}, clusters=clusters)
        app = stage.app()

        async def whole(pilot):
            await until(pilot, lambda: app.disks is not None and app.screen.query_one(DiskTable).row_keys)
            await until(pilot, lambda: stage.requests("clusters"))
            await talk(pilot, app)

        drive(app, whole, size)

    return run


def keys(app) -> set[str]:
    return {active.binding.id for active in app.screen.active_bindings.values() if active.enabled}


@pytest.mark.parametrize("clusters", [seen(), seen(UNREACHED), {"failure": [Problem("x", "an older engine")]}])
def test_nothing_is_shown_where_no_cluster_is_reached(show, clusters):
    async def talk(pilot, app):
        await pilot.pause(0.5)
        assert not app.screen.query_one(ClusterBar).display
        assert "disks.clusters" not in keys(app)

    show(talk, clusters)


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), ((120, 40), "120"), (LARGE, "200")])
def test_a_cluster_is_a_bar_below_the_disks_and_c_shows_its_details(show, stage, size, name):
    async def talk(pilot, app):
        bar = app.screen.query_one(ClusterBar)
        await until(pilot, lambda: bar.display)
        assert len(app.screen.query_one(DiskTable).row_keys) == 4
        await pilot.pause()
        await same_picture(pilot, f"clusters-{name}")
        await pilot.press("c")
        assert app.screen.query_one(Detail).has_focus
        assert app.screen.query_one(Detail).border_title == "Clusters"
        await pilot.pause()
        await same_picture(pilot, f"clusters-{name}-details")
        await pilot.press("escape")
        assert app.screen.query_one(DiskTable).has_focus
        assert app.screen.query_one(Detail).border_title == "Details"
        stage.answers(clusters=seen(UNREACHED))

    show(talk, seen(WRONG), size)
