"""A run with two clients is killed at any record, on any of its hosts, and loses the power of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_clients import LEFT, assert_untouched, await_nothing_left, clients_of, hosts_of, lab_with_clients, replay_words
from lab_kills import in_thirds, killed_at
from lab_runs import raidtui, start, start_and_await
from raidtui.lab.control import Lab
from raidtui.lab.links import LinkSpec

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

ARRAY: dict[str, Any] = {"md": {"level": "raid1", "on": "@data"}}
EXPORTS: dict[str, dict[str, Any]] = {
    "tcp": {"nvmeof": {"on": ARRAY, "to": "clients"}},
    "iser": {"iscsi": {"on": ARRAY, "to": "clients", "transport": "iser", "auth": "chap"}},
}
SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "kills",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2}},
    "layouts": {"tcp": EXPORTS["tcp"]},
    "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "32MiB", "runtime": "30s"}}},
}
CLIENTS = '{"clients": ["root@c1", "root@c2"]}'
RUNS = "/var/lib/raidtui/runs"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("kills", link=LinkSpec(rxe=True)) as lab:
        yield lab


def words(lab: Lab, folder: Path) -> list[str]:
    return [*replay_words(lab, folder, SCENARIO), "--quick"]


def assert_all_clean(lab: Lab) -> None:
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)
    assert_untouched(lab)


@pytest.mark.parametrize("layout", EXPORTS)
@in_thirds
def test_recover_brings_everything_back_after_every_kill(lab: Lab, part: str, layout: str) -> None:
    scenario = SCENARIO | {"layouts": {layout: EXPORTS[layout]}}
    killed_at(lab, scenario, {"data": lab.serials}, f"every:{part}", hosts=(CLIENTS, LEFT))
    assert_all_clean(lab)


KILLER = b"""
import os, pathlib, signal, sys, time
number, runs, *before = sys.argv[1:]
while True:
    for run in pathlib.Path(runs).glob("*"):
        try:
            if run.name not in before and (run / "journal.jsonl").read_bytes().count(b"\\n") >= int(number):
                os.kill(int((run / "runner.lock").read_text()), signal.SIGKILL)
                sys.exit(pathlib.Path("/tmp/killed").touch())
        except OSError:
            pass
    time.sleep(0.005)
"""


def kill_at_record(client: Lab, number: int) -> None:
    """Have the part of a run that begins next on this client killed once its journal has so many records."""
    client.run("cat > /tmp/killer.py", input_bytes=KILLER)
    watch = f"setsid python3 /tmp/killer.py {number} {RUNS} $(ls {RUNS})"
    client.run(f"rm -f /tmp/killed; {watch} < /dev/null > /dev/null 2>&1 &")


def test_a_peer_may_be_killed_at_each_of_its_records(lab: Lab, tmp_path: Path) -> None:
    """The other client undoes its part by order; this one by `recover`."""
    client, number, killed = lab.client(1), 0, True
    while killed:
        number += 1
        kill_at_record(client, number)
        process = start(lab, *words(lab, tmp_path))
        out, error = process.communicate(timeout=900)
        killed = not client.run("test -e /tmp/killed", check=False).code
        # The last records are written when the run is over: nothing is left to lose then.
        assert process.returncode == 6 if killed else process.returncode == 0, (number, out + error)
        assert raidtui(client, "recover").returncode == 0
        assert raidtui(lab, "recover").returncode == 0
        assert_all_clean(lab)
        client.run("pkill -9 -f '[t]mp/killer.py'", check=False)
    assert number > 4


def test_a_client_whose_power_is_cut_has_nothing_left(lab: Lab, tmp_path: Path) -> None:
    client = lab.client(1)
    process, _ = start_and_await(lab, "measure", *words(lab, tmp_path), patience_s=1200)
    client.wait_for("pgrep -x fio")
    client.crash()
    out, error = process.communicate(timeout=1500)
    assert process.returncode == 6, out + error
    assert "clients-1" in out + error
    await_nothing_left(lab.client(2))
    client.start()
    assert raidtui(client, "recover").returncode == 0
    assert raidtui(lab, "recover").returncode == 0
    assert_all_clean(lab)


def test_clients_undo_their_part_when_the_power_of_the_storage_server_is_cut(lab: Lab, tmp_path: Path) -> None:
    process, _ = start_and_await(lab, "measure", *words(lab, tmp_path), patience_s=1200)
    lab.client(1).wait_for("pgrep -x fio")
    lab.crash()
    process.communicate(timeout=400)
    await_nothing_left(*clients_of(lab))
    lab.start()
    done = raidtui(lab, "recover")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_all_clean(lab)
