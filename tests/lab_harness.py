"""Labs for tests: one for the whole session, and as many more as a test wants. All are taken down, whatever happens."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raidtui.lab import ssh
from raidtui.lab.control import Lab
from raidtui.lab.disks import DEFAULT_SPEC, parse_spec
from raidtui.lab.flavours import PLAIN, Flavour
from raidtui.lab.links import LinkSpec
from raidtui.lab.qemu import cpus_of_each

HERE = Path(__file__).parent
MakeLab = Callable[..., Lab]
"""Called with disks as `raidtui lab up --disks` takes them; `cold=True` for a real boot, `cpus` where they matter."""


AT_ONCE = int(os.environ.get("RAIDTUI_LABS_AT_ONCE") or os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
CPUS = cpus_of_each(AT_ONCE)
COMPILED_IN = "RAIDTUI_TEST_COMPILED"
"""Names the folder that the workers of one test run share."""
COMPILED = ("base", "cli", "client", "engine", "front", "gate", "inventory", "load", "model", "results", "stack", "watch")
"""The packages that a guest imports."""
GUEST_CODE = "/opt/raidtui/raidtui"


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder that this process shares with its workers, which inherit the variable."""
    if not hasattr(config, "workerinput"):
        os.environ[COMPILED_IN] = tempfile.mkdtemp(prefix="raidtui-test-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(COMPILED_IN), ignore_errors=True)


def start_lab(suffix: str, spec: str = DEFAULT_SPEC, *, cold: bool = False, cpus: int = CPUS, hosts: int = 1,
              link: LinkSpec | None = None, flavour: Flavour = PLAIN) -> Lab:  # fmt: skip
    """A lab that no other test run has, with a name made of this process's number."""
    lab = Lab(f"test-{os.getpid()}-{suffix}")
    lab.up(parse_spec(spec), lambda line: print(line, flush=True), cold=cold, cpus=cpus, hosts=hosts, link=link,
           flavour=flavour)  # fmt: skip
    if not cold:
        send_compiled(lab)
    return lab


def send_compiled(lab: Lab) -> None:
    """Give the guest raidtui as the first guest of this test run compiled it, which takes ten seconds under emulation."""
    ssh.sync_code(lab.name)
    kept = Path(os.environ[COMPILED_IN]) / "compiled.tar"
    with (kept.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            lab.run(f"tar -xf - -C {GUEST_CODE}", input_bytes=kept.read_bytes())
            return
        compiler = "/usr/bin/python3 -m compileall -q -j 2 --invalidation-mode unchecked-hash"
        make = f"cd {GUEST_CODE} && {compiler} {' '.join(COMPILED)}"
        kept.write_bytes(lab.run(f"{make} && find . -name '*.pyc' | tar -cf - -T -", 240).out)


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
