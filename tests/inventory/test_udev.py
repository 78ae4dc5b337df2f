"""Waiting for udev where there is none, and for devices that are not there."""

from raidtui.inventory import udev


def test_without_udev_nothing_is_waited_for(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(udev, "_CONTROL", tmp_path / "control")
    assert udev.wait_for_udev(["sda"], 60)
