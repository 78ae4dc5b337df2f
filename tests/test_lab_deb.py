"""The Debian package on a Debian 13 without any other code of raidtui: installed, used on the real kernel, and removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_harness import start_lab
from raidtui.lab.control import Lab
from raidtui.remote.start import TOP

pytestmark = [pytest.mark.lab, pytest.mark.slow]

ROOT = Path(__file__).parent.parent
ELSEWHERE = "/usr/local/lib/python3.13/dist-packages"
"""Folder of the lab's image with blivet, which the package has in it."""
NOT_IN_IMAGE = {"python3-typing-extensions", "python3-xlsxwriter"}
"""Dependencies that the lab's image lacks: only screens and spreadsheets need them. The guest reaches no mirror."""
SCENARIO = {
    "schema": "raidtui.scenario/1", "name": "packed", "roles": {"data": {"count": 2}},
    "layouts": {"raid1": {"md": {"level": "raid1", "on": "@data"}}},
    "workloads": {"randread": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 8, "runtime": "3s", "size": "64MiB"}}},
    "policy": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def guest() -> Iterator[Lab]:
    lab = start_lab("deb", "2x256M")
    try:
        lab.run(f"rm -rf {TOP} /usr/local/bin/raidtui {ELSEWHERE}")
        yield lab
    finally:
        lab.down()


def test_the_package_is_installed_measures_an_array_and_leaves_nothing(guest: Lab, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    argv = [sys.executable, str(ROOT / "scripts/make_deb.py"), str(tmp_path)]
    made = subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=600).stdout.strip()
    guest.put_file(Path(made), "/root/raidtui.deb")

    depends = guest.run("dpkg-deb --field /root/raidtui.deb Depends").text
    names = {word.split()[0] for word in depends.split(", ")}
    asked = guest.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *sorted(names)], 120, check=False)
    there = {line.split()[0] for line in asked.text.splitlines() if line.endswith(" installed")}
    assert names - there <= NOT_IN_IMAGE
    print(guest.run("dpkg --force-depends --install /root/raidtui.deb 2>&1", 300).text)

    for command in ("raidtui --version", "raidtui completion bash | bash -n", "raidtui design '4x1TB hdd' >/dev/null",
                    "raidtui doctor"):  # fmt: skip
        print(guest.run(command, 300).text[-1500:])
    guest.run("dpkg --purge --force-depends python3-msgspec", 120)
    assert "engine: " in guest.run("raidtui --version", 120).text
    disks = json.loads(guest.run("raidtui disks --json", 300).text)["disks"]
    free = sorted(disk["id"] for disk in disks if not disk.get("reasons"))
    assert len(free) == 2, disks

    guest.run("cat > /root/packed.json", input_bytes=json.dumps(SCENARIO).encode())
    both = ",".join(free)
    words = f"raidtui replay /root/packed.json --bind data={both} --erase {both} -o /root/r.json 2>&1"
    replay = guest.run(words, 600, check=False)
    print(replay.text[-3000:])
    assert replay.code in (0, 5), "measured; an emulated disk may be too noisy to be good"
    cells = json.loads(guest.run("cat /root/r.json").text)["cells"]
    assert len(cells) == 1
    assert not guest.run("cat /proc/mdstat | grep ^md", check=False).text

    guest.run("dpkg --remove raidtui", 120)
    assert guest.run("command -v raidtui || ls /usr/lib/raidtui", check=False).code != 0
