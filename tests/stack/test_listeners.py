"""Addresses of exports that something else has: read from made-up configfs and /proc trees."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from raidtui.stack.listeners import Tree, taken

PORT = 61_234
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "proc/net").mkdir(parents=True)
    for table in ("tcp", "tcp6"):
        (tmp_path / "proc/net" / table).write_text(HEAD)
    return Tree(tmp_path / "nvmet", tmp_path / "target", tmp_path / "proc")


def found(tree: Tree, address: str = "10.0.0.1", *, tcp: bool = True, rdma: bool = False) -> list[str]:
    problems = list(taken(address, PORT, tcp=tcp, rdma=rdma, place="rtx", tree=tree))
    assert {problem.code for problem in problems} <= {"export-address-taken"}
    return [problem.message for problem in problems]


def nvme_port(tree: Tree, kind: str, address: str, *, offers: bool = True) -> None:
    folder = tree.nvmet / "ports/7"
    (folder / "subsystems").mkdir(parents=True)
    for name, text in (("traddr", address), ("trsvcid", str(PORT)), ("trtype", kind)):
        (folder / f"addr_{name}").write_text(f"{text}\n")
    if offers:
        (folder / "subsystems/nqn.other").symlink_to(tree.nvmet)


def portal(tree: Tree, name: str, *, iser: bool = False) -> None:
    folder = tree.lio / "iscsi/iqn.2003-01.org.example:other/tpgt_1/np" / name
    folder.mkdir(parents=True)
    (folder / "iser").write_text(f"{int(iser)}\n")


def listens(tree: Tree, table: str, address: str, state: str = "0A") -> None:
    with (tree.proc / "net" / table).open("a") as file:
        file.write(f"   0: {address}:{PORT:04X} 00000000:0000 {state} 0:0 00:0 0 0 0 4711 1 f\n")


def test_nobody_there_is_nobody_in_the_way(tree: Tree) -> None:
    assert found(tree) == found(tree, rdma=True) == found(tree, "fd00::1") == []


def test_another_target_of_nvme_is_named_with_what_it_offers(tree: Tree) -> None:
    nvme_port(tree, "tcp", "10.0.0.1")
    assert found(tree) == [
        f"10.0.0.1:{PORT} is taken: port 7 of the kernel's NVMe target (nqn.other) listens on 10.0.0.1:{PORT}"
    ]
    (problem,) = taken("10.0.0.1", PORT, tcp=True, rdma=False, place="rtx", tree=tree)
    assert problem.remedy.startswith(f"Remove {tree.nvmet}/ports/7/subsystems/nqn.other if nobody needs it. Plan again")
    assert problem.exit == 3
    assert found(tree, "10.0.0.2") == []
    assert found(tree, tcp=False, rdma=True) == [], "ports of RDMA are no ports of TCP"


def test_a_port_that_offers_nothing_does_not_listen(tree: Tree) -> None:
    nvme_port(tree, "rdma", "10.0.0.1", offers=False)
    assert found(tree, tcp=False, rdma=True) == []


@pytest.mark.parametrize("name", [f"10.0.0.1:{PORT}", f"0.0.0.0:{PORT}", f"[::0]:{PORT}"])
def test_a_portal_of_another_iscsi_target_is_in_the_way_of_tcp(tree: Tree, name: str) -> None:
    portal(tree, name)
    (text,) = found(tree)
    assert "the iSCSI target iqn.2003-01.org.example:other" in text
    assert found(tree, tcp=False, rdma=True) == []


def test_a_portal_of_iser_is_in_the_way_of_both(tree: Tree) -> None:
    portal(tree, f"[fd00::1]:{PORT}", iser=True)
    assert found(tree, "fd00::1") == found(tree, "fd00::1", rdma=True) != []
    (text,) = found(tree, "fd00::1", tcp=False, rdma=True)
    assert text.startswith(f"[fd00::1]:{PORT} is taken: ")
    assert found(tree) == []


@pytest.mark.parametrize(("table", "shown", "address"), [
    ("tcp", "0100000A", "10.0.0.1"),
    ("tcp", "00000000", "10.0.0.1"),
    ("tcp6", "000000FD000000000000000001000000", "fd00::1"),
    ("tcp6", "00000000000000000000000000000000", "10.0.0.1"),
    ("tcp6", "0000000000000000FFFF00000100000A", "10.0.0.1"),
])  # fmt: skip
def test_any_listener_is_in_the_way(tree: Tree, table: str, shown: str, address: str) -> None:
    listens(tree, table, shown)
    (text,) = found(tree, address)
    assert "a socket of the kernel" in text
    everywhere = not shown.strip("0")
    assert bool(found(tree, "10.9.9.9" if "." in address else "fd00::99")) == everywhere


def test_a_connection_and_another_address_are_not(tree: Tree) -> None:
    listens(tree, "tcp", "0100000A", state="01")
    listens(tree, "tcp", "0200000A")
    assert found(tree) == []


def test_the_process_that_listens_is_named(tree: Tree) -> None:
    listens(tree, "tcp", "00000000")
    (tree.proc / "812/fd").mkdir(parents=True)
    (tree.proc / "812/comm").write_text("tgtd\n")
    (tree.proc / "812/fd/3").symlink_to("socket:[4711]")
    (problem,) = taken("10.0.0.1", PORT, tcp=True, rdma=False, place="rtx", tree=tree)
    assert f"is taken: tgtd (pid 812) listens on 0.0.0.0:{PORT}" in problem.message
    assert problem.remedy.startswith("End tgtd (pid 812) if nobody needs it.")


def test_a_real_listener_of_this_machine_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (problem,) = taken("127.0.0.1", port, tcp=True, rdma=False, place="rtx")
    assert f"(pid {os.getpid()})" in problem.message
