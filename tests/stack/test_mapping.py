"""Mappings that an interrupted format left: found by the disk below, also without a permit, and closed or reported."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from raidtui.model.problem import ProblemError
from raidtui.stack import mapping
from raidtui.stack.builder.process import Built
from raidtui.stack.context import Context
from raidtui.stack.integrity.build import DEVICES
from raidtui.stack.integrity.spec import IntegrityDevice

DEVICE = IntegrityDevice("rtabcd1234a", "integrity:rtabcd1234a", "disk:A", "/dev/sda", ("A",), "crc32c", "journal", 512)
HALF_MADE = ("temporary-cryptsetup-0001", "CRYPT-INTEGRITY-temporary-cryptsetup-0001")


class Server:
    """A fake /sys/class/block with mappings on disks, and a builder that removes them or does nothing."""

    def __init__(self, folder: Path, *, removes: bool = True) -> None:
        self.folder, self.called, self.removes = folder, list[tuple[str, str]](), removes

    def map(self, node: str, name: str, uuid: str, on: str) -> None:
        (self.folder / node / "dm").mkdir(parents=True)
        (self.folder / node / "dm/name").write_text(name)
        (self.folder / node / "dm/uuid").write_text(uuid)
        (self.folder / on / "holders" / node).mkdir(parents=True)
        (self.folder / on / "holders" / node / "dm").symlink_to(self.folder / node / "dm")

    def call(self, function: str, **args: Any) -> Built:
        self.called.append((function, args["name"]))
        for path in list(self.folder.glob("dm-*/dm/name")) if self.removes else ():
            if path.read_text() == args["name"]:
                path.unlink()
        return Built(None, ((function, args["name"]),))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(mapping, "SYS_BLOCK", tmp_path)
    monkeypatch.setattr(mapping, "users_of", lambda node: [])
    monkeypatch.setattr(mapping, "BUSY_PATIENCE_S", 0.2)
    return Server(tmp_path)


def context_of(server: Server, unmoved: dict[str, str]) -> Context:
    """Return the context with which recovery begins: no permit for any disk."""
    made = Context("r", server.folder, {}, lambda *_: None, threading.Event(), builder=server)  # type: ignore[arg-type]
    made.unmoved = unmoved
    return made


def test_what_a_format_left_is_removed_before_there_is_a_permit(server: Server) -> None:
    server.map("dm-0", *HALF_MADE, on="sda")
    done = DEVICES.teardown(context_of(server, {"A": "sda"}), DEVICE)
    assert server.called == [("luks.remove", HALF_MADE[0])]
    assert (done.result, done.facts["closed"], done.facts["missing"]) == ("undone", ["dm-0"], ["disk:A"])
    assert DEVICES.teardown(context_of(server, {"A": "sda"}), DEVICE).result == "nothing to do"


@pytest.mark.parametrize(("sectors", "function"), [("8", "luks.close"), ("0", "luks.remove")])
def test_a_mapping_without_a_table_in_force_is_removed(server: Server, sectors: str, function: str) -> None:
    server.map("dm-0", DEVICE.name, DEVICE.dm_uuid, on="sda")
    (server.folder / "dm-0/size").write_text(sectors)
    assert DEVICES.teardown(context_of(server, {}), DEVICE).result == "undone"
    assert server.called == [(function, DEVICE.name)]


@pytest.mark.parametrize(
    ("name", "uuid", "on", "unmoved"),
    [
        (*HALF_MADE, "sda", {}),  # the disk was away
        (*HALF_MADE, "sdb", {"A": "sda"}),
        (HALF_MADE[0], "CRYPT-INTEGRITY-another", "sda", {"A": "sda"}),
        ("another", HALF_MADE[1], "sda", {"A": "sda"}),
        ("backup", "CRYPT-LUKS2-0123-backup", "sda", {"A": "sda"}),
    ],
)
def test_no_other_mapping_is_touched(server: Server, name: str, uuid: str, on: str, unmoved: dict[str, str]) -> None:
    server.map("dm-0", name, uuid, on)
    assert DEVICES.teardown(context_of(server, unmoved), DEVICE).result == "nothing to do"
    assert server.called == []


def test_one_that_stays_is_a_problem_that_can_be_retried(server: Server) -> None:
    server.map("dm-0", *HALF_MADE, on="sda")
    server.removes = False
    with pytest.raises(ProblemError) as error:
        DEVICES.teardown(context_of(server, {"A": "sda"}), DEVICE)
    assert (error.value.problems[0].code, error.value.problems[0].exit) == ("mapping-busy", 6)
    server.removes = True
    assert DEVICES.teardown(context_of(server, {"A": "sda"}), DEVICE).result == "undone"
