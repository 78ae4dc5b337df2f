"""Labs for tests: one for the whole session, and as many more as a test wants. All are taken down, whatever happens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raidtui.lab import ssh
from raidtui.lab.control import Lab
from raidtui.lab.disks import DEFAULT_SPEC, parse_spec
from raidtui.lab.qemu import cpus_of_each

HERE = Path(__file__).parent
MakeLab = Callable[..., Lab]
"""Called with disks as `raidtui lab up --disks` takes them; `cold=True` for a real boot, `cpus` where they matter."""


AT_ONCE = int(os.environ.get("RAIDTUI_LABS_AT_ONCE") or os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
CPUS = cpus_of_each(AT_ONCE)


def start_lab(suffix: str, spec: str = DEFAULT_SPEC, *, cold: bool = False, cpus: int = CPUS) -> Lab:
    """A lab that no other test run has, with a name made of this process's number."""
    lab = Lab(f"test-{os.getpid()}-{suffix}")
    return lab.up(parse_spec(spec), lambda line: print(line, flush=True), cold=cold, cpus=cpus)


def slow_ones_run(request: pytest.FixtureRequest) -> bool:
    """Whether slow tests of this module are among those that run: its bench then does what they look at, too."""
    mine = (item for item in request.session.items if item.path == request.path)
    return any(item.get_closest_marker("slow") for item in mine)


def send_driver(lab: Lab, *names: str) -> None:
    """Put the code, the drivers' bench and these drivers of `stack/` into the guest."""
    ssh.sync_code(lab.name)
    for name in ("driver_bench.py", *names):
        lab.put_file(HERE / "stack" / name, f"/root/{name}")


def start_driver(lab: Lab, name: str, cases: list[dict[str, Any]]) -> None:
    """Start a driver of `stack/` in the guest with these cases; `/root/ended` has its exit code when it has ended."""
    send_driver(lab, name)
    lab.run("rm -f /root/ended; cat > /root/cases.json", input_bytes=json.dumps(cases).encode())
    run = f"/usr/bin/python3 /root/{name} < /root/cases.json > /root/seen 2> /root/error"
    lab.run(f"setsid sh -c '{run}; echo $? > /root/ended' < /dev/null > /dev/null 2>&1 &")


def seen_by_driver(lab: Lab) -> dict[str, dict[str, Any]]:
    """Return what a driver that has ended saw, by case."""
    assert lab.run("cat /root/ended").text.strip() == "0", lab.run("cat /root/error").text
    found = [json.loads(line) for line in lab.run("cat /root/seen").text.splitlines()]
    print({case["case"]: case["seconds"] for case in found})
    return {case["case"]: case for case in found}


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """One lab with six NVMe disks for every test that leaves them blank."""
    lab = Lab(f"test-{os.getpid()}-shared")
    try:
        yield start_lab("shared")
    finally:
        lab.down()


@pytest.fixture
def make_lab(request: pytest.FixtureRequest) -> Iterator[MakeLab]:
    """Makes labs that live as long as the test."""
    made: list[str] = []

    def make(spec: str = DEFAULT_SPEC, *, cold: bool = False, cpus: int = CPUS) -> Lab:
        suffix = f"{abs(hash(request.node.nodeid)) % 10**6}-{len(made)}"
        made.append(f"test-{os.getpid()}-{suffix}")
        return start_lab(suffix, spec, cold=cold, cpus=cpus)

    try:
        yield make
    finally:
        for name in made:
            Lab(name).down()
