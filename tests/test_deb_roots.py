"""The Debian package on a bare Debian 13 and a bare Ubuntu 24.04: apt finds all that it depends on, and it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from raidtui.lab.build import OWN_NAMESPACES, mirror_lines
from raidtui.lab.host import tool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root fills a folder with a distribution"),
]

ROOT = Path(__file__).parent.parent
UBUNTU = [
    # This machine may not have Ubuntu's keys: the certificate of the mirror vouches for the base, which has them.
    f"deb [trusted=yes] https://archive.ubuntu.com/ubuntu {suite} main universe" for suite in ("noble", "noble-updates")
]  # fmt: skip
SIGNED = "sed -i 's/.trusted=yes. https:/http:/' /etc/apt/sources.list && apt-get -q update"
"""The base checks signatures, and has no certificates."""
COMMANDS = (
    "raidtui --version",
    "raidtui completion bash | bash -n",
    "raidtui design '4x1TB hdd'",
    "raidtui --on sim disks",
    "raidtui doctor --json > /root/doctor.json; test -s /root/doctor.json",
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    argv = [sys.executable, str(ROOT / "scripts/make_deb.py"), str(folder)]
    return Path(subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=900).stdout.strip())


@pytest.mark.parametrize(("suite", "mirror"), [("trixie", mirror_lines()), ("noble", UBUNTU)], ids=["debian", "ubuntu"])
def test_it_is_installed_with_what_it_depends_on_and_runs(
    suite: str, mirror: list[str], package: Path, tmp_path: Path
) -> None:
    in_root = (SIGNED, "apt-get -q install -y --no-install-recommends /root/raidtui.deb", *COMMANDS)
    hooks = [f'--customize-hook=cp {package} "$1/root/raidtui.deb"',
             *(f"""--customize-hook=chroot "$1" sh -c "{command.replace('"', "'")}\"""" for command in in_root),
             f'--customize-hook=cp "$1/root/doctor.json" {tmp_path}']  # fmt: skip
    argv = [
        tool("unshare"), *OWN_NAMESPACES,
        tool("mmdebstrap"), "--mode=root", "--variant=apt", "--format=null", "--architectures=amd64",
        '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"', "--dpkgopt=force-unsafe-io",
        *hooks, suite, "/dev/null", *mirror,
    ]  # fmt: skip
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout[-6000:])
    assert done.returncode == 0
    assert "engine: /usr/bin/python3" in done.stdout
    assert "raidz2" in done.stdout
    told = json.loads((tmp_path / "doctor.json").read_text())
    print(json.dumps(told, indent=1))
