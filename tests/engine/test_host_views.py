"""Hosts that are asked what they have: by a peer started here, in the order in which they answer, with what goes wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from raidtui.base.paths import ENTRY
from raidtui.engine.host_views import see_hosts
from raidtui.model.convert import encode
from raidtui.model.host import STORAGE
from raidtui.model.host_view import LOOKING, HostView
from raidtui.model.hosts import PEER_PROTOCOL, PeerHello

THIS = HostView(ref=STORAGE, host="stor1", kernel="6.12")


def asked(argvs, **groups):
    """Return the events and the answer."""
    events, telling = [], see_hosts(THIS, groups, lambda address: argvs[address])
    while True:
        try:
            events.append(next(telling))
        except StopIteration as end:
            return events, end.value


def greets(after: str) -> tuple[str, ...]:
    """Return a command that greets as a peer without fio does, and then does something else."""
    hello = encode(PeerHello(PEER_PROTOCOL, "0", "c1", True, "boot", "machine", "6.12")).decode()
    return ("sh", "-c", f"echo '{hello}'; {after}")


@pytest.mark.skipif(os.geteuid() != 0, reason="a peer needs root")
def test_a_host_tells_its_network_and_its_disks_without_a_run(tmp_path: Path):
    argv = ("env", f"XDG_STATE_HOME={tmp_path}", "SSH_CONNECTION=10.10.1.1 4000 10.10.1.2 22", sys.executable, "-I",
            str(ENTRY), "peer")  # fmt: skip
    events, answer = asked({"root@c1": argv}, clients=("root@c1",))
    assert [(view.ref, view.waits_for) for view in events] == [(STORAGE, ""), ("clients-1", LOOKING), ("clients-1", "")]
    view = answer.hosts[1]
    assert (view.ref, view.address, view.own_address) == ("clients-1", "root@c1", "10.10.1.2")
    assert (view.kernel, view.cpus) == (os.uname().release, os.cpu_count())
    names = {path.name for path in Path("/sys/block").iterdir()}
    assert {disk.name for disk in view.disks} <= names
    assert not list(tmp_path.glob("raidtui/runs/*")), "no run has begun"


def test_a_host_that_cannot_be_reached_has_the_sentence_of_the_engine_and_keeps_no_other_waiting():
    argvs = {"root@c1": ("sh", "-c", "echo 'ssh: connect to host c1 port 22: No route to host' >&2; exit 255"),
             "root@c2": greets('read line; echo \'{"type":"answer","facts":{"cpus":4}}\'; cat')}  # fmt: skip
    events, answer = asked(argvs, clients=("root@c1", "root@c2"))
    storage, lost, there = answer.hosts
    assert storage is THIS
    assert events[0] is THIS
    assert [problem.code for problem in lost.problems] == ["host-unreachable"]
    assert "No route to host" in lost.problems[0].message
    assert "ssh root@c1 true" in lost.problems[0].remedy
    assert (there.cpus, there.host, [problem.code for problem in there.problems]) == (4, "c1", ["host-no-fio"])


NONSENSE = 'read line; echo \'{"type":"answer","facts":{"cpus":"x"}}\''


@pytest.mark.parametrize("after", ["exit 1", "read line; exit 1", NONSENSE])
def test_a_host_that_ends_or_talks_nonsense_is_said_to_be_lost(after):
    _, answer = asked({"root@c1": greets(after)}, clients=("root@c1",))
    assert [problem.code for problem in answer.hosts[1].problems] == ["host-no-fio", "host-lost"]
    assert answer.hosts[1].kernel == "6.12", "what it said before is kept"
