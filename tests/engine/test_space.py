"""A host whose filesystem of journals is full, or runs full: refused before anything is built, or ended with everything
taken down. The filesystem is a small tmpfs in a mount namespace of its own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_simulated import SCENARIO, events, start

from raidtui.base.paths import ENTRY
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.engine.run import space
from raidtui.engine.run.journal import JOURNAL_NAME, Journal
from raidtui.engine.run.peers import Peer, look_at
from raidtui.load.fio import clients
from raidtui.model.event import Noted, RunFinished, StepDone
from raidtui.model.hosts import Order
from raidtui.model.plan import Options, Plan, Step
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import RunList

RUN = "20260101-000000-abcdefgh"
PLAN = Plan("digest", "abcdefgh", {}, Options(), {}, (Step("001", "no.such", "?", "build"),), (), (), 0.0, 0)
root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def test_a_host_with_too_little_space_is_named_with_its_folder():
    problem = space.too_little("clients-1 (root@c1)", "/var/lib/raidtui", 5 << 20)
    assert problem is not None
    assert (problem.code, problem.exit, problem.place) == ("no-space", 3, "/var/lib/raidtui")
    assert problem.message == "clients-1 (root@c1) has 5.0 MiB free in /var/lib/raidtui, and a run needs 64.0 MiB there"
    assert space.too_little("c", "/", space.LEAST_BYTES) is None
    assert space.too_little("c", "/", None) is None, "nobody knows"


def peer_argv(folder: Path, size: str, setup: str = "true") -> tuple[str, ...]:
    """Return a peer that keeps its runs in a tmpfs of this size."""
    script = f"mount -t tmpfs -o size={size},mode=755 none {folder} && cd {folder} && {setup} && exec \"$@\""
    return ("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", "env", f"XDG_STATE_HOME={folder}",
            "SSH_CONNECTION=10.10.1.1 4000 10.10.1.2 22", sys.executable, "-I", str(ENTRY), "peer")  # fmt: skip


@root
def test_a_client_without_space_is_refused_when_the_run_is_planned_and_when_it_begins(tmp_path):
    argv = peer_argv(tmp_path, "20m")
    with pytest.raises(ProblemError) as caught:
        look_at({"clients": ("root@c1",)}, lambda _: argv)
    (problem,) = caught.value.problems
    assert problem.code in ("no-space", "host-no-fio")
    peer = Peer("clients-1", argv)
    assert (peer.hello.folder, 0 < peer.hello.free_bytes <= 20 << 20) == (f"{tmp_path}/raidtui", True)
    with pytest.raises(ProblemError) as caught:
        peer.ask(Order("begin", RUN, "clients-1", PLAN))
    peer.close()
    (problem,) = caught.value.problems
    assert problem.code == "no-space"
    assert problem.message.startswith("clients-1 has ")
    assert f"free in {tmp_path}/raidtui" in problem.message


@root
def test_a_filesystem_without_any_space_is_no_bug(tmp_path):
    argv = peer_argv(tmp_path, "8k", "dd if=/dev/zero of=full bs=4k 2>/dev/null; true")
    peer = Peer("clients-1", argv)
    with pytest.raises(ProblemError) as caught:
        peer.ask(Order("begin", RUN, "clients-1", PLAN))
    peer.close()
    assert [problem.code for problem in caught.value.problems] == ["no-space"]


INSIDE = '''
import os, sys
from pathlib import Path
from raidtui.engine.peer import _Part
from raidtui.engine.run import runs, space
from raidtui.model.event import Noted
from raidtui.model.hosts import Order
from raidtui.model.plan import Options, Plan, Step
from raidtui.model.problem import ProblemError

folder = Path(sys.argv[1])
steps = (Step("001", "disks.blank", "build it", "build", args={"disks": []}),
         Step("002", "disks.blank", "take it down", "teardown", args={"disks": []}))
plan = Plan("digest", "abcdefgh", {}, Options(), {}, steps, (), (), 0.0, 0)
part = _Part(sys.argv[2], "clients-1", plan, lambda load: None)
assert part.order(Order("health")).facts == {"wrong": []}

def fill(name):
    with open(folder / name, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass

def told(order):
    try:
        return part.order(order).result
    except ProblemError as error:
        return error.problems[0].code + ": " + error.problems[0].message

fill("one")
# A record fits as long as the last page of the journal has room.
said = [told(Order("step", step="001")) for _ in range(60)]
print(said[0], said[-1])
print(part.order(Order("health")).facts["wrong"])
fill("two")
print({told(Order("step", step="002")) for _ in range(60)})
print(int(part.end(alone=False)), [problem.code for problem in part.problems])
'''


@root
def test_a_client_that_runs_full_says_so_and_is_taken_down_all_the_same(tmp_path):
    script = f"mount -t tmpfs -o size=90m,mode=755 none {tmp_path} && exec \"$@\""
    argv = ("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", sys.executable, "-c", INSIDE,
            str(tmp_path), RUN)  # fmt: skip
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    ran = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=120)
    full = f"the filesystem of {tmp_path}/raidtui/runs/{RUN} on clients-1 ran full: the run ended there"
    assert ran.stdout.splitlines() == [
        f"nothing to do no-space: {full}",
        f"['{full}']",
        "{'nothing to do'}",  # what is taken down needs no journal
        "6 ['journal-lost']",
    ], ran.stderr


@root
def test_a_run_whose_filesystem_runs_full_ends_with_that_sentence_and_is_taken_down(tmp_path):
    fill = """until grep -rqs --include=journal.jsonl cell-started . ; do sleep 0.05; done
              dd if=/dev/zero of=fill bs=1M; dd if=/dev/zero of=rest bs=4k"""
    script = f"""mount -t tmpfs -o size=40m,mode=755 none {tmp_path} && cd {tmp_path} || exit 1
                 ({fill}) >/dev/null 2>&1 </dev/null & exec "$@\""""
    sim = place("sim")
    argv = ("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *sim.argv)
    env = {**os.environ, **(sim.env or {}), "XDG_STATE_HOME": str(tmp_path)}
    with EngineClient(sim._replace(argv=argv, env=env)) as engine:
        run, plan = start(engine, {**SCENARIO, "policy": {"rounds": 4}})
        seen = events(engine, run)
        listed = engine.call("runs", None, RunList).runs
    end = seen[-1]
    assert isinstance(end, RunFinished)
    assert (end.exit, end.problems[0].code) == (5, "no-space")
    assert end.problems[0].message.startswith("the filesystem of ")
    done = {event.step for event in seen if isinstance(event, StepDone)}
    begun = {step.block for step in plan.steps if step.id in done and step.phase == "build"}
    assert begun
    assert {step.id for step in plan.steps if step.phase == "teardown" and step.block in begun} <= done
    assert {step.block for step in plan.steps if step.block} - begun, "no other layout is begun"
    assert [(one.run, one.state) for one in listed] == [(run, "finished")]


def test_job_files_that_find_no_space_are_no_bug(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(clients, "write_atomic", full)
    with pytest.raises(ProblemError) as caught, space.told(space.THIS, tmp_path):
        clients.write_files(tmp_path, {"clients-1.fio": "[global]"})
    (problem,) = caught.value.problems
    assert (problem.code, problem.exit) == ("no-space", 5)
    assert problem.message == f"the filesystem of {tmp_path} on the storage server ran full: the run ended there"
    with pytest.raises(OSError, match="Input/output"), space.told(space.THIS, tmp_path):
        raise OSError(errno.EIO, "Input/output error")


def test_an_event_that_is_lost_is_remembered(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    assert journal.lost() is None
    monkeypatch.setattr(Journal, "_write_all", lambda self, line: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        journal.append(Noted("a"))
    lost = journal.lost()
    assert lost is not None
    assert (lost.code, lost.exit, lost.place) == ("journal-lost", 6, str(tmp_path))
    assert "recover" in lost.remedy
    assert (journal.is_full(), (tmp_path / JOURNAL_NAME).read_bytes()) == (True, b"")
