"""Plain disks: one target for each, or one for all of them."""

from __future__ import annotations

from md_cases import GIB, disks

from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.disk import LAYER, DiskSpec


def test_each_disk_is_a_target_of_its_own() -> None:
    spec = decode(DiskSpec, {"on": "@data"})
    planned = LAYER.plan(spec, {"on": disks("d", [8 * GIB, 16 * GIB])}, Names("t"), Policy())
    assert [(t.refs, t.paths, t.size_bytes, t.part) for t in planned.targets] == [
        (("disk:d0",), ("/dev/d0",), 8 * GIB, "d0"),
        (("disk:d1",), ("/dev/d1",), 16 * GIB, "d1"),
    ]
    assert planned.teardown == ()
    assert not planned.needs_zero


def test_together_they_are_one_target() -> None:
    spec = decode(DiskSpec, {"on": "@data", "mode": "together"})
    planned = LAYER.plan(spec, {"on": disks("d", [8 * GIB, 16 * GIB])}, Names("t"), Policy())
    (target,) = planned.targets
    assert (target.refs, target.size_bytes, target.part) == (("disk:d0", "disk:d1"), 8 * GIB, "")


def test_a_layout_without_disks_is_refused() -> None:
    spec = decode(DiskSpec, {"on": "@data"})
    assert [p.code for p in LAYER.check(spec, {"on": 0}, "$.x")] == ["disk-none"]
    assert LAYER.check(spec, {"on": 1}, "$.x") == []
