"""What is optional is named, with what is done without it, and is not counted as missing."""

from __future__ import annotations

import pytest

from raidtui.engine import doctor


def test_iozone_is_optional_and_what_replaces_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = [one for one in doctor.checkup().checks if one.name == "iozone"]
    assert check.ok
    monkeypatch.setattr(doctor, "find_tool", lambda name: None)
    without = doctor._iozone()
    assert (without.ok, without.found) == (True, "not found: fio does the same pattern instead")
    assert "iozone3" in without.remedy
    monkeypatch.setattr(doctor, "find_tool", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(doctor, "tool_version", lambda argv: "3.507")
    assert doctor._iozone().found == "3.507"
