"""Troubles of a run with clients: an address that another target has, and a filesystem of journals that runs full.

Each is a problem with a code of its own, leaves the other's work alone, and every host clean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab_clients import assert_untouched, await_nothing_left, hosts_of, lab_with_clients, replay_words
from lab_runs import raidtui, start_and_await
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.lab.control import Lab
from raidtui.model.event import Record, RunFinished
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import Exit, ProblemError
from raidtui.model.protocol import PlanRequest, Started, StartRequest

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "troubles",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2}},
    "layouts": {"tcp": {"nvmeof": {"on": "@data", "to": "clients"}}, "iscsi": {"iscsi": {"on": "@data", "to": "clients"}}},
    "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "8MiB", "runtime": "60s"}}},
}
CLIENTS = {"clients": ("root@c1", "root@c2")}
NVMET, LIO = "/sys/kernel/config/nvmet", "/sys/kernel/config/target/iscsi"
OTHERS = {"nvmet": "nqn.2003-01.org.example:other", "lio": "iqn.2003-01.org.example:other"}
OFFER = {
    "nvmet": f"""set -e; modprobe nvmet-tcp; cd {NVMET}; mkdir subsystems/{OTHERS['nvmet']} ports/7; cd ports/7
echo ipv4 > addr_adrfam; echo tcp > addr_trtype; echo {{address}} > addr_traddr; echo {{port}} > addr_trsvcid
ln -s {NVMET}/subsystems/{OTHERS['nvmet']} subsystems/""",
    "lio": f"""set -e; modprobe iscsi_target_mod; [ -d {LIO} ] || mkdir {LIO}
mkdir -p {LIO}/{OTHERS['lio']}/tpgt_1/np/{{address}}:{{port}}; echo 1 > {LIO}/{OTHERS['lio']}/tpgt_1/enable""",
}
WITHDRAW = {
    "nvmet": f"cd {NVMET}; rm ports/7/subsystems/*; rmdir ports/7 subsystems/{OTHERS['nvmet']}",
    "lio": f"cd {LIO}/{OTHERS['lio']}; rmdir tpgt_1/np/*; cd {LIO}; rmdir {OTHERS['lio']}/tpgt_1; rmdir {OTHERS['lio']}",
}
TREE = {
    "nvmet": f"cd {NVMET}; find . | sort; grep -r . ports subsystems/*/attr_*; ss -Htln sport ge :61000",
    "lio": f"cd {LIO}/{OTHERS['lio']}; find . | sort; cat tpgt_1/enable; ss -Htln sport ge :61000",
}
"""Everything of the other target, and that it listens."""
FULL = "/var/lib/raidtui"
RUNS = f"ls {FULL}/runs 2>/dev/null"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("troubles") as lab:
        yield lab


@pytest.fixture(scope="module")
def engine(lab: Lab) -> Iterator[EngineClient]:
    with EngineClient(place(f"lab:{lab.name}")) as engine:
        yield engine


def request_of(lab: Lab, layout: str) -> PlanRequest:
    options = Options(layouts=(layout,), quick=True)
    return PlanRequest(json.dumps(SCENARIO), {"data": tuple(lab.serials)}, options, CLIENTS)


def start_request(engine: EngineClient, request: PlanRequest) -> tuple[StartRequest, str, str]:
    """Plan, and return what starts this very plan, with address and port of its first export."""
    plan = engine.call("plan", request, Plan)
    args = next(step.args for step in plan.steps if "address" in step.args)
    start = StartRequest(request, plan.digest, plan.token, plan.erases)
    return start, args["address"], str(args.get("service") or args["port"])


@contextmanager
def another_target(lab: Lab, kind: str, address: str, port: str) -> Iterator[None]:
    """Somebody's target on an address and a port, made by hand, which has to be the same afterwards."""
    lab.run(OFFER[kind].format(address=address, port=port))
    try:
        before = lab.run(TREE[kind]).text
        assert f"{address}:{port}" in before
        yield
        assert lab.run(TREE[kind]).text == before
    finally:
        lab.run(WITHDRAW[kind], check=False)


@pytest.mark.parametrize("layout", ["tcp", "iscsi"])
def test_an_address_that_another_target_has_is_refused_before_anything_is_touched(
    lab: Lab, engine: EngineClient, layout: str
) -> None:
    start, address, port = start_request(engine, request_of(lab, layout))
    runs = lab.run(RUNS, check=False).text
    for kind, name in OTHERS.items():
        with another_target(lab, kind, address, port):
            with pytest.raises(ProblemError) as caught:
                engine.call("start", start, Started)
            assert [(one.code, one.exit) for one in caught.value.problems] == [("export-address-taken", 3)]
            assert name in caught.value.problems[0].message
            assert lab.run(RUNS, check=False).text == runs
    assert all(lab.is_zero(serial) for serial in lab.serials)
    await_nothing_left(*hosts_of(lab))


@pytest.mark.parametrize("layout", ["tcp", "iscsi"])
def test_an_address_that_is_taken_after_the_start_ends_the_layout(lab: Lab, engine: EngineClient, layout: str) -> None:
    start, address, port = start_request(engine, request_of(lab, layout))
    run = engine.call("start", start, Started).run
    with another_target(lab, "nvmet", address, port):
        seen = [record.event for record in engine.stream("follow", {"run": run, "after": 0}, Record)]
        end = seen[-1]
        assert isinstance(end, RunFinished)
        assert end.exit == 4, end
        told = lab.run(f"cat {FULL}/runs/{run}/journal.jsonl").text
        assert '"export-address-taken"' in told
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)
    assert_untouched(lab)


@contextmanager
def little_space(host: Lab) -> Iterator[None]:
    """The journals of this host are in a filesystem of their own, which is small."""
    host.run(f"mkdir -p {FULL} && mount -t tmpfs -o size=96m,mode=755 none {FULL}")
    try:
        yield
    finally:
        host.run(f"umount -l {FULL}")


FILL = f"fallocate -l $(df -B1 --output=avail {FULL} | tail -1) {FULL}/fill"
KEEP_FILLING = f"""{FILL}; setsid sh -c 'echo $$ > /root/filler; while sleep 0.2; do cat /dev/zero >> {FULL}/fill; done' \\
    < /dev/null > /dev/null 2>&1 &"""
"""Somebody who takes what the run gives up of its reserve, too."""


@pytest.mark.parametrize(
    ("at", "fill", "codes"), [(0, FILL, {5}), (0, KEEP_FILLING, {6}), (1, FILL, {4, 5})], ids=["here", "for good", "client"]
)
def test_a_run_whose_journal_runs_full_ends_and_every_host_is_clean(
    lab: Lab, tmp_path: Path, at: int, fill: str, codes: set[int]
) -> None:
    """On the storage server while it measures; on a client for the next layout. Only a lost journal needs `recover`."""
    host = hosts_of(lab)[at]
    with little_space(host):
        words = [*replay_words(lab, tmp_path, SCENARIO, *("tcp", "iscsi")[: 1 + at]), "--quick"]
        process, run = start_and_await(lab, "nvmeof.connect", *words, patience_s=1200)
        lab.client(1).wait_for("pgrep -x fio")
        host.run(fill)
        out, error = process.communicate(timeout=1700)
        said = out + error
        assert process.returncode in codes, said
        host.run(f"[ ! -e /root/filler ] || kill $(cat /root/filler); rm -f {FULL}/fill /root/filler")
        if process.returncode == Exit.LEFT_BEHIND:
            done = raidtui(lab, "recover")
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            assert "[no-space]" in said, said
            assert f"{FULL}/runs/{run} on {('the storage server', 'clients-1')[at]} ran full" in said
        await_nothing_left(*hosts_of(lab))
        assert all(lab.is_zero(serial) for serial in lab.serials)
        assert_untouched(lab)


def test_a_client_that_works_for_a_run_is_refused_to_another(lab: Lab, tmp_path: Path) -> None:
    """Both are runs of the storage server, on a disk each; the first one goes on."""
    long = {"read": {"fio": SCENARIO["workloads"]["read"]["fio"] | {"runtime": "300s"}}}
    layouts = {"tcp": SCENARIO["layouts"]["tcp"]}
    scenario = SCENARIO | {"roles": {"data": {"count": 1}}, "layouts": layouts, "workloads": long}
    first, second = tmp_path / "first", tmp_path / "second"
    commands = []
    for folder, serial in zip((first, second), lab.serials, strict=True):
        folder.mkdir()
        commands.append([word.replace(",".join(lab.serials), serial) for word in replay_words(lab, folder, scenario)])
    process, _ = start_and_await(lab, "measure", *commands[0], patience_s=1200)
    done = raidtui(lab, *commands[1], timeout_s=900)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "[host-taken]" in done.stderr, done.stderr
    assert "clients-" in done.stderr
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)
