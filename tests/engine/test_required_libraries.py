"""A server that cannot build a layer refuses the run before any disk is touched."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from raidtui.model.problem import Exit, ProblemError
from raidtui.stack.catalog import all_layers, require_libraries


def test_a_server_without_libblockdev_refuses_md_and_lvm_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gi", None)  # so that importing it fails, as on Debian 12 without libblockdev 3
    for action in ("md.create", "lvm.group"):
        assert any(action in layer.actions for layer in all_layers().values())
        with pytest.raises(ProblemError, match="Debian 13") as refused:
            require_libraries({"disk.blank", action})
        assert refused.value.exit is Exit.REFUSED
        assert refused.value.problems[0].remedy.startswith("apt install ")


def test_layers_without_libraries_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gi", None)
    require_libraries(all_layers()["bcache"].actions)


def test_zfs_needs_pyzfs_and_not_blivet(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, object] = {"libzfs_core": object()}
    monkeypatch.setattr(importlib.util, "find_spec", found.get)
    monkeypatch.setitem(sys.modules, "gi", None)
    require_libraries(all_layers()["zpool"].actions)
    found.clear()
    with pytest.raises(ProblemError, match="libzfs_core is not installed") as refused:
        require_libraries(all_layers()["zpool"].actions)
    assert refused.value.exit is Exit.REFUSED
    assert refused.value.problems[0].remedy == "apt install python3-pyzfs"


def test_a_host_that_only_logs_in_needs_no_library_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", {}.get)
    require_libraries({"iscsi.login", "iscsi.logout"})
    with pytest.raises(ProblemError, match="rtslib_fb is not installed"):
        require_libraries({"iscsi.offer"})
