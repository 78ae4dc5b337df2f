"""What is optional is named, with what is done without it, and is not counted as missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raidtui.engine import doctor, machine
from raidtui.load.catalog import engines
from raidtui.model.tool import KernelModule, Tool
from raidtui.stack.catalog import all_layers


def test_iozone_is_optional_and_what_replaces_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = [one for one in doctor.checkup().checks if one.name == "iozone"]
    assert check.ok
    (iozone,) = engines()["iozone"].tools
    without = doctor._tool(replace(iozone, find=lambda: None))
    assert (without.ok, without.found) == (True, "not found: fio does the same pattern instead")
    assert without.optional
    assert "iozone3" in without.remedy
    monkeypatch.setattr(doctor, "tool_version", lambda argv: "3.507")
    assert doctor._tool(replace(iozone, find=lambda: "/usr/bin/iozone")).found == "3.507"


def test_layers_are_told_apart_by_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer needs only one of several equal programs; a missing module takes away only the option that needs it."""
    absent: set[str] = set()
    monkeypatch.setattr(doctor, "tool_version", lambda argv: None if argv[0].rpartition("/")[2] in absent else "99.9.99")
    monkeypatch.setattr(Tool, "path", property(lambda tool: None if tool.name in absent else f"/usr/bin/{tool.name}"))
    monkeypatch.setattr(doctor, "find_tool", lambda name: None if name in absent else f"/usr/bin/{name}")
    monkeypatch.setattr(doctor, "_has_module", lambda name: name not in absent)
    monkeypatch.setattr(doctor.process, "require", lambda: None)
    monkeypatch.setattr(doctor.process, "require_modules", lambda modules: None)
    monkeypatch.setattr(doctor.importlib.metadata, "version", lambda name: "3.13")
    assert (set(doctor.checkup().can_build), doctor.checkup().cannot_build) == (set(all_layers()), ())
    absent |= {"make-bcache", "dm-vdo", "mkfs.f2fs", "mdadm"}
    found = doctor.checkup()
    assert set(found.cannot_build) == {"bcache", "md"}
    assert {"lvm (without VDO)", "filesystem (without mkfs.f2fs)", "zpool", "disk"} <= set(found.can_build)
    absent |= {"mkfs.xfs", "mkfs.ext4", "mkfs.btrfs"}
    assert "filesystem" in doctor.checkup().cannot_build


def test_every_tool_of_a_workload_engine_is_checked() -> None:
    names = {check.name for check in doctor.checkup().checks}
    assert {"fio", "iozone", "pg_test_fsync"} <= names


def test_an_old_version_of_a_needed_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (fio,) = engines()["fio"].tools
    monkeypatch.setattr(doctor, "tool_version", lambda argv: "3.28")
    check = doctor._tool(fio)
    assert (check.ok, check.remedy) == (False, "At least 3.33 is needed: apt install fio")


def test_everything_that_a_layer_needs_is_checked_under_its_name() -> None:
    names = [check.name for check in doctor.checkup().checks]
    assert len(set(names)) == len(names)
    assert {"mdadm", "md driver", "lvm", "VDO", "zpool", "bcache", "mkfs.xfs", "blivet", "psutil"} <= set(names)


def test_results_name_the_versions_of_packages_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "tool_version", lambda argv: "1.0")
    known = {"mdadm", "lvm", "zfs", "xfsprogs", "e2fsprogs", "btrfs-progs", "f2fs-tools", "fio"}
    assert known <= machine.tool_versions().keys()


@pytest.mark.parametrize(
    ("there", "tool", "found"),
    [(False, "/x", "no module dm-x"), (True, None, "make-x not found"), (True, "/x", "available as a module")],
)
def test_a_module_is_of_use_with_its_program(
    monkeypatch: pytest.MonkeyPatch, there: bool, tool: str | None, found: str
) -> None:
    monkeypatch.setattr(doctor, "_has_module", lambda name: there)
    monkeypatch.setattr(doctor, "find_tool", lambda name: tool)
    wanted = KernelModule(name="x", module="dm-x", needed_for="x", remedy="new kernel", tool="make-x", tool_remedy="apt")
    check = doctor._module(wanted)
    assert (check.ok, check.found) == (there and tool is not None, found)


@pytest.mark.parametrize(
    ("version", "ok", "remedy"),
    [
        ("7.0.0", True, ""),
        ("5.8.0", False, "At least 5.9 is needed: apt install python3-psutil"),
        (None, False, "apt install python3-psutil"),
    ],
)
def test_psutil_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, version: str | None, ok: bool, remedy: str
) -> None:
    monkeypatch.setattr(doctor, "library_versions", lambda: {"psutil": version} if version else {})
    check = doctor._psutil()
    assert (check.ok, check.remedy) == (ok, remedy)


def test_results_name_the_version_of_psutil() -> None:
    assert machine.library_versions()["psutil"]
