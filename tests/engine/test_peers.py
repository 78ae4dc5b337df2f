"""The process on another host, started here: its orders, its run folder, and what it does when its run is gone."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from raidtui.base.paths import ENTRY
from raidtui.engine import peer
from raidtui.engine.peer import _Peer
from raidtui.engine.run.host_cores import counted
from raidtui.engine.run.peers import Peer, look_at, ssh_argv
from raidtui.inventory import boot_id
from raidtui.model.convert import encode
from raidtui.model.frame import Frame, Frames
from raidtui.model.hosts import PEER_PROTOCOL, Answer, HostLoad, Order, PeerHello
from raidtui.model.plan import Options, Plan, Step
from raidtui.model.problem import ProblemError
from raidtui.watch.host_load import load_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a peer needs root")

RUN = "20260101-000000-abcdefgh"
PLAN = Plan("digest", "abcdefgh", {}, Options(), {}, (), (), (), 0.0, 0)


@pytest.fixture
def argv(tmp_path: Path) -> tuple[str, ...]:
    return ("env", f"XDG_STATE_HOME={tmp_path}", "SSH_CONNECTION=10.10.1.1 4000 10.10.1.2 22", sys.executable, "-I",
            str(ENTRY), "peer")  # fmt: skip


def folder(tmp_path: Path) -> Path:
    return tmp_path / "raidtui/runs" / RUN


def said(**more: object) -> tuple[str, ...]:
    """Return a command that greets as a peer does."""
    hello = encode(PeerHello(PEER_PROTOCOL, "0", "c1", True, "boot", "machine", "6.12", **more)).decode()
    return ("sh", "-c", f"echo '{hello}'; cat")


def test_it_says_what_it_is_and_which_link_it_was_reached_by(argv):
    peer = Peer("clients-1", argv)
    hello = peer.hello
    peer.close()
    assert (hello.root, hello.kernel, hello.boot_id) == (True, os.uname().release, boot_id())
    assert (hello.storage_address, hello.own_address) == ("10.10.1.1", "10.10.1.2")
    assert abs(hello.clock_s - time.time()) < 60


def test_hosts_are_named_by_group_and_number_with_the_difference_of_their_clocks():
    late = time.time() - 3600
    found = look_at({"clients": ("a", "b")}, lambda _: said(fio="3.39", clock_s=late, own_address="10.0.0.2"))["clients"]
    assert [(host.ref, host.address, host.own_address) for host in found] == [
        ("clients-1", "a", "10.0.0.2"), ("clients-2", "b", "10.0.0.2"),
    ]  # fmt: skip
    assert all(-3700 < host.clock_difference_s < -3500 for host in found)


def test_a_host_without_fio_is_refused_when_the_run_is_planned():
    with pytest.raises(ProblemError) as caught:
        look_at({"clients": ("root@c1",)}, lambda _: said())
    assert [problem.code for problem in caught.value.problems] == ["host-no-fio"]


def test_a_run_that_it_was_told_to_end_is_closed(argv, tmp_path):
    peer = Peer("clients-1", argv)
    peer.ask(Order("begin", RUN, "clients-1", PLAN))
    peer.tell()
    assert peer.ask(Order("health")).facts == {"wrong": []}
    assert peer.ask(Order("end")).result == "undone"
    peer.close()
    assert (folder(tmp_path) / "closed").exists()
    assert '"exit":0' in (folder(tmp_path) / "journal.jsonl").read_text()


def test_it_counts_the_cpu_of_its_host(argv, tmp_path):
    peer = Peer("clients-1", argv)
    peer.ask(Order("begin", RUN, "clients-1", PLAN))
    with counted({"clients-1": peer}, {}, loads=False) as work:
        until = time.process_time() + 0.5
        while time.process_time() < until:
            pass
    peer.close()
    assert list(work) == ["storage", "clients-1"]
    cores = {name: one.cores for name, one in work.items()}
    assert cores["storage"].cpus == cores["clients-1"].cpus == os.cpu_count()
    assert 0 < cores["storage"].busy <= os.cpu_count()
    assert cores["clients-1"].busy == pytest.approx(cores["storage"].busy, abs=1.0), "here they are one host"


def test_a_host_that_does_not_count_is_left_out():
    peer = Peer("clients-1", ("sh", "-c", f"{said()[2].removesuffix('; cat')}"), "root@c1")
    with counted({"clients-1": peer}, {}, loads=False) as cores:
        time.sleep(0.1)
    peer.close()
    assert list(cores) == ["storage"]
    with counted({}, {}, loads=True) as cores:
        time.sleep(0.1)
    assert cores == {}


def test_a_run_whose_connection_ended_is_closed_by_itself(argv, tmp_path):
    peer = Peer("clients-1", argv)
    peer.ask(Order("begin", RUN, "clients-1", PLAN))
    peer.close()
    assert (folder(tmp_path) / "closed").exists()
    assert "peer-alone" in (folder(tmp_path) / "journal.jsonl").read_text()


def test_a_host_works_for_one_run_at_a_time(argv, tmp_path):
    first, second = Peer("clients-1", argv), Peer("clients-1", argv)
    first.ask(Order("begin", RUN, "clients-1", PLAN))
    with pytest.raises(ProblemError) as caught:
        second.ask(Order("begin", RUN.replace("abcdefgh", "hgfedcba"), "clients-1", PLAN))
    second.close()
    assert [problem.code for problem in caught.value.problems] == ["host-taken"]
    assert RUN in caught.value.problems[0].message
    assert [path.name for path in folder(tmp_path).parent.iterdir()] == [RUN]
    first.close()
    third = Peer("clients-1", argv)
    third.ask(Order("begin", RUN.replace("abcdefgh", "hgfedcba"), "clients-1", PLAN))
    third.close()


def test_orders_that_make_no_sense_are_refused_and_it_goes_on(argv, tmp_path):
    peer = Peer("clients-1", argv)
    for order, code in (
        (Order("health"), "peer-order"),
        (Order("begin", "../../etc", "clients-1", PLAN), "peer-order"),
        (Order("begin", RUN, "clients-1"), "peer-order"),
    ):
        with pytest.raises(ProblemError) as caught:
            peer.ask(order)
        assert caught.value.problems[0].code == code
    peer.ask(Order("begin", RUN, "clients-1", PLAN))
    for order in (Order("step", step="001"), Order("begin", RUN, "clients-1", PLAN)):
        with pytest.raises(ProblemError) as caught:
            peer.ask(order)
        assert "clients-1: " in caught.value.problems[0].message
    peer.close()


def test_a_step_of_another_version_is_refused(argv, tmp_path):
    peer = Peer("clients-1", argv)
    peer.ask(Order("begin", RUN, "clients-1", Plan(
        "digest", "abcdefgh", {}, Options(), {}, (Step("001", "no.such", "?", "build"),), (), (), 0.0, 0)))
    with pytest.raises(ProblemError) as caught:
        peer.ask(Order("step", step="001"))
    assert caught.value.problems[0].code == "step-arguments"
    peer.close()


def test_a_host_that_is_not_there_is_said_with_what_the_command_printed():
    with pytest.raises(ProblemError) as caught:
        look_at({"clients": ("a", "b")}, lambda name: ("sh", "-c", f"echo no route to {name} >&2; exit 255"))
    assert [problem.code for problem in caught.value.problems] == 2 * ["host-unreachable"]
    assert "no route to b" in caught.value.problems[1].message
    assert "`ssh b true`" in caught.value.problems[1].remedy


def test_a_host_that_is_lost_is_named_with_the_command_that_looks_after_it():
    peer = Peer("clients-1", ("sh", "-c", f"{said(fio='3.39')[2].removesuffix('; cat')}"), "root@c1")
    with pytest.raises(ProblemError) as caught:
        peer.ask(Order("health"))
    assert "`raidtui --on root@c1 recover`" in caught.value.problems[0].remedy
    peer.close()


def test_ssh_never_asks_and_takes_no_options_from_a_name():
    assert "BatchMode=yes" in ssh_argv("root@c1")
    for name in ("root@fd00::1", "root@[fd00::1]"):
        assert ssh_argv(name)[-2] == "root@fd00::1"
    for name in ("-oProxyCommand=true", "a b", ""):
        with pytest.raises(ProblemError) as caught:
            ssh_argv(name)
        assert caught.value.problems[0].code == "host-address"


def talker(*lines: str) -> tuple[str, ...]:
    """Return a peer that prints these lines after its hello, and then answers the first order."""
    hello = encode(PeerHello(PEER_PROTOCOL, "0", "c1", True, "boot", "machine", "6.12")).decode()
    answer = encode(Answer("done", {"wrong": []})).decode()
    text = "; ".join(f"echo '{line}'" for line in (hello, *lines))
    return ("sh", "-c", f"{text}; read order; echo '{answer}'; cat >/dev/null")


def load(iops: float) -> str:
    return encode(HostLoad(1.0, ("nvme0n1",), iops)).decode()


def test_live_numbers_are_heard_between_orders_and_are_no_answers():
    heard: list[HostLoad] = []
    peer = Peer("clients-1", talker(load(1.0)), heard=heard.append)
    assert peer.ask(Order("health")).facts == {"wrong": []}
    peer.close()
    assert [one.read_iops for one in heard] == [1.0]


def test_live_numbers_that_come_all_at_once_are_dropped_but_for_one():
    heard: list[HostLoad] = []
    peer = Peer("clients-1", talker(*map(load, range(50))), heard=heard.append)
    peer.ask(Order("health"))
    peer.close()
    assert len(heard) < 5


def test_a_host_sends_live_numbers_only_while_they_are_read():
    """The other end of a socket that nobody reads: orders are answered nevertheless, and nothing waits."""
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    peer = _Peer(-1, near.fileno())
    began = time.monotonic()
    for _ in range(2000):
        peer._send_if_read(HostLoad(1.0, ("nvme0n1",), 1.0))
    assert time.monotonic() - began < 30
    near.close()
    with far.makefile() as file:
        lines = file.read().splitlines()
    assert 0 < len(lines) < 2000
    assert all(line == load(1.0) for line in lines)


def test_the_activity_of_a_host_is_of_the_devices_that_it_loads():
    frames = Frames()
    first = f"{'0 ' * 16}0"
    then = "1000 0 8000 0 0 0 0 0 0 500 0 0 0 0 0 0 0"
    frames.apply(Frame(0.0, 0.0, None, True, {"nvme1n1": first, "sda": first}, cpus={"cpu0": "0 0 0 0 0 0 0 0"},
                       networks={"eth1": "0 0 0 0 0 0 0 0", "lo": "0 0 0 0 0 0 0 0"}))
    assert load_of(frames, ["nvme1n1"]) is None
    frames.apply(Frame(1.0, 1.0, 1.0, False, {"nvme1n1": then, "sda": then}, cpus={"cpu0": "50 0 0 50 0 0 0 0"},
                       networks={"eth1": "4096000 100 0 0 1000 10 0 0", "lo": "9 1 0 0 9 1 0 0"}))
    found = load_of(frames, ["nvme1n1"])
    assert found == HostLoad(1.0, ("nvme1n1",), 1000.0, 0.0, 4096000, 0, 50.0, 0.5, 1, {"eth1": (4096000, 1000)})


@pytest.mark.parametrize(
    ("does", "version"), [("echo fio-3.39", "3.39"), ("sleep 9", "of an unknown version"), ("exit 1", "")]
)
def test_a_fio_that_is_slow_to_answer_is_installed_all_the_same(tmp_path, monkeypatch, does, version):
    fio = tmp_path / "fio"
    fio.write_text(f"#!/bin/sh\n{does}\n")
    fio.chmod(0o755)
    monkeypatch.setattr(peer, "find_tool", lambda _: str(fio))
    monkeypatch.setattr(peer, "_FIO_ANSWERS_S", 2.0)
    assert peer._fio_version() == version


def test_what_ssh_says_in_several_lines_is_one_sentence_of_the_message():
    says = r"printf 'Warning: added.\r\nPermission denied (publickey).\r\n' >&2; exit 255"
    with pytest.raises(ProblemError) as caught:
        Peer("clients-1", ("sh", "-c", says), "root@c1")
    (problem,) = caught.value.problems
    assert problem.message.endswith(": Warning: added. · Permission denied (publickey).")
