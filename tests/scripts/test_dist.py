"""The wheel and the Debian package run by themselves, with nothing of the checkout beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from itertools import product
from pathlib import Path

import pytest

from raidtui.lab.recipe import packages

ROOT = Path(__file__).parent.parent.parent


OF_DEBIAN = {"ceph-common", "openssh-client", "python3-pygments", "python3-typing-extensions", "python3-xlsxwriter"}
"""Packages of Debian 13 that the lab's image has not, or has for others."""
IMPORT_ALL = """
import importlib, pkgutil, raidtui, raidtui.cli, raidtui.tui
for package in (raidtui.cli, raidtui.tui):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
"""
"""Imports every module of the command line and of the screens: one that the wheel lacks is missed."""


def run(*argv: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([str(word) for word in argv], cwd="/", env={**clean, **env}, capture_output=True, text=True,
                          check=False, timeout=600)  # fmt: skip


def test_the_wheel_installs_into_a_fresh_environment_and_lists_simulated_disks(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    built = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("raidtui-*.whl")
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env/bin/python"
    installed = run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)
    assert installed.returncode == 0, installed.stderr
    # The dependencies are those of this environment: no network is asked.
    (site,) = (tmp_path / "env/lib").glob("python3*/site-packages")
    (site / "zz-dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    raidtui = tmp_path / "env/bin/raidtui"
    version = run(raidtui, "--version")
    assert version.stdout.startswith("raidtui ")
    assert "engine: " in version.stdout
    where = run(python, "-c", "import raidtui; print(raidtui.__file__)").stdout
    assert str(tmp_path) in where, "the wheel's own code runs, not the checkout"
    disks = run(raidtui, "--on", "sim", "disks", XDG_STATE_HOME=str(tmp_path))
    assert disks.returncode == 0, disks.stderr
    assert "RTLAB-SYSTEM" in disks.stdout
    assert "vm-store" in run(raidtui, "scenarios").stdout, "scenarios are inside of the wheel"
    designed = run(raidtui, "design", "12x20TB hdd at 350 EUR, 2x3.2TB nvme", XDG_STATE_HOME=str(tmp_path))
    assert designed.returncode == 0, designed.stderr
    assert "raidz2" in designed.stdout
    completion = run(raidtui, "completion", "bash")
    checked = subprocess.run(["bash", "-n"], input=completion.stdout, capture_output=True, text=True, check=False)
    assert completion.returncode == checked.returncode == 0, completion.stderr + checked.stderr
    assert "_raidtui()" in completion.stdout
    everything = run(python, "-c", IMPORT_ALL, DISPLAY="")
    assert everything.returncode == 0, everything.stderr


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_the_debian_package_is_built_without_root_and_names_what_the_engine_needs(tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(ROOT / "src")}
    made = run(sys.executable, ROOT / "scripts/make_deb.py", tmp_path, **env)
    assert made.returncode == 0, made.stderr
    deb = made.stdout.strip()
    depends = run("dpkg-deb", "--field", deb, "Depends").stdout
    recommends = run("dpkg-deb", "--field", deb, "Recommends").stdout
    names = {word.split()[0] for words in (depends, recommends) for word in words.split(", ")}
    # The lab's image is Debian 13: what is installed there by its name exists.
    assert names <= {*packages(), *OF_DEBIAN, "postgresql"}
    assert {"python3-blockdev", "mdadm", "lvm2"} <= {word.split()[0] for word in depends.split(", ")}
    assert {"fio", "smartmontools"} <= set(recommends.replace("\n", "").split(", "))
    assert run("dpkg-deb", "--extract", deb, tmp_path / "tree").returncode == 0
    entry = tmp_path / "tree/usr/lib/raidtui/raidtui/__main__.py"
    disks = run(sys.executable, "-I", entry, "--on", "sim", "disks", XDG_STATE_HOME=str(tmp_path))
    assert disks.returncode == 0, disks.stderr
    assert "RTLAB-SYSTEM" in disks.stdout
    for path in ("bin/raidtui", "share/man/man1/raidtui.1.gz", "share/bash-completion/completions/raidtui"):
        assert (tmp_path / "tree/usr" / path).is_file()
    own = entry.parent / "shipped/own"
    assert {"textual", "rich", "blivet"} <= {path.name for path in (own / "any").iterdir()}
    for machine, python in product(("x86_64", "aarch64"), ("312", "313")):
        assert list((own / machine / "msgspec").glob(f"_core.cpython-{python}-{machine}-*.so"))
