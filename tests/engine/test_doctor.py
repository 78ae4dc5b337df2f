"""What is optional is named, with what is done without it, and is not counted as missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raidtui.engine import doctor
from raidtui.load.catalog import engines


def test_iozone_is_optional_and_what_replaces_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = [one for one in doctor.checkup().checks if one.name == "iozone"]
    assert check.ok
    (iozone,) = engines()["iozone"].tools
    without = doctor._tool(replace(iozone, find=lambda: None))
    assert (without.ok, without.found) == (True, "not found: fio does the same pattern instead")
    assert "iozone3" in without.remedy
    monkeypatch.setattr(doctor, "tool_version", lambda argv: "3.507")
    assert doctor._tool(replace(iozone, find=lambda: "/usr/bin/iozone")).found == "3.507"


def test_every_tool_of_a_workload_engine_is_checked() -> None:
    names = {check.name for check in doctor.checkup().checks}
    assert {"fio", "iozone", "pg_test_fsync"} <= names


def test_an_old_version_of_a_needed_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (fio,) = engines()["fio"].tools
    monkeypatch.setattr(doctor, "tool_version", lambda argv: "3.28")
    check = doctor._tool(fio)
    assert (check.ok, check.remedy) == (False, "At least 3.33 is needed: apt install fio")
