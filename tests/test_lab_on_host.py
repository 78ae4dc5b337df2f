"""`raidtui --on HOST` to a guest that has no code of raidtui, reached as an ordinary ssh host through an ssh config."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from raidtui.lab import ssh
from raidtui.lab.control import Lab
from raidtui.remote.pack import local_code
from raidtui.remote.start import TOP

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def guest() -> Iterator[Lab]:
    lab = start_lab("onhost", "1x1100M")
    try:
        lab.run(f"rm -rf {TOP} /usr/local/bin/raidtui")
        yield lab
    finally:
        lab.down()


@pytest.fixture
def on(guest: Lab, tmp_path: Path) -> Any:
    """Runs `raidtui --on stor1 WORDS`, with stor1 an alias of ~/.ssh/config and no shared connection."""
    config = guest.files.ssh_config.read_text().replace(f"Host {ssh.HOST}\n", "Host stor1\n")
    kept = (line for line in config.splitlines() if "ControlP" not in line and "ControlMaster" not in line)
    (tmp_path / "config").write_text("\n".join(kept) + "\n")
    (tmp_path / "config").chmod(0o600)
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin/ssh"
    wrapper.write_text(f'#!/bin/sh\necho x >>{tmp_path}/connections\nexec /usr/bin/ssh -F {tmp_path}/config "$@"\n')
    wrapper.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}

    def run(*words: str) -> tuple[subprocess.CompletedProcess[str], float, int]:
        began = time.monotonic()
        (tmp_path / "connections").unlink(missing_ok=True)
        argv = [sys.executable, "-m", "raidtui", "--on", "stor1", *words]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
        seconds = time.monotonic() - began
        print(f"{' '.join(words)}: {seconds:.1f} s, exit {done.returncode}")
        return done, seconds, (tmp_path / "connections").read_text().count("x")

    return run


def versions(guest: Lab) -> dict[str, str]:
    """Return the inode of each version, by name."""
    lines = guest.run(f"cd {TOP} 2>/dev/null && ls -1di [0-9a-f]* || true").text.split("\n")
    return {line.split()[1]: line.split()[0] for line in lines if line and len(line.split()[1]) == 16}


def test_a_server_without_raidtui_gets_it_once_by_one_connection(guest: Lab, on: Any) -> None:
    version = local_code().version
    guest.run(f"mkdir -p {TOP}/.new-99/raidtui {TOP}/{version}/raidtui; echo half >{TOP}/{version}/raidtui/__main__.py")
    done, first_s, connections = on("disks", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["disks"]) >= 1
    assert connections == 1, "one login, one password"
    there = versions(guest)
    assert version in there, "the half copy of the same name was replaced"
    assert guest.run(f"ls -A {TOP} | grep -c new || true").text.strip() == "0", "the half copy beside it is gone"
    done, second_s, connections = on("disks", "--json")
    assert done.returncode == 0, done.stderr
    assert versions(guest) == there
    assert connections == 1
    print(f"seconds (software emulation, other work beside it): first {first_s:.1f}, second {second_s:.1f}")
    others = guest.run(f"find {TOP} ! -user root -o -perm /022 ! -type l | head").text
    assert others == ""


def test_what_others_may_write_is_not_run(guest: Lab, on: Any) -> None:
    guest.run(f"chmod 0777 {TOP}")
    try:
        done, _, _ = on("disks")
        assert done.returncode == 2
        assert "[server-folder]" in done.stderr
        assert "may be written by others" in done.stderr
    finally:
        guest.run(f"chmod 0755 {TOP}")


def test_an_old_version_is_kept_while_a_process_runs_it(guest: Lab, on: Any) -> None:
    names = [f"{number:016x}" for number in range(1, 7)]
    current = local_code().version
    guest.run(
        f"cd {TOP}; for v in {' '.join(names)}; do mkdir -p $v/raidtui; echo 'import time; time.sleep(600)' "
        f">$v/raidtui/__main__.py; touch -d '2001-01-01' $v; done; rm -rf {current}; mkdir -p /var/lib/raidtui/runs/old; "
        f"echo {TOP}/{names[1]} >/var/lib/raidtui/runs/old/code; "
        f"setsid /usr/bin/python3 -I {TOP}/{names[0]}/raidtui/__main__.py runner /x </dev/null >/dev/null 2>&1 & "
        "echo $! >/root/pid"
    )
    try:
        done, _, _ = on("disks", "--json")
        assert done.returncode == 0, done.stderr
        left = set(versions(guest))
        assert {names[0], names[1], current} <= left
        assert len(left) <= 5, left
    finally:
        guest.run("kill $(cat /root/pid); rm -r /var/lib/raidtui/runs/old", check=False)


@pytest.mark.slow
def test_a_full_or_read_only_folder_and_a_user_without_sudo_are_told(guest: Lab, on: Any) -> None:
    guest.run(f"mv {TOP} /root/aside; mount -t tmpfs -o size=100k,mode=755 none /opt")
    try:
        done, _, _ = on("disks")
        assert (done.returncode, "[server-folder]" in done.stderr) == (2, True), done.stderr
        assert "No space left" in done.stderr
        guest.run("umount /opt; mount -t tmpfs -o ro,mode=755 none /opt")
        done, _, _ = on("disks")
        assert (done.returncode, "Read-only file system" in done.stderr) == (2, True), done.stderr
    finally:
        guest.run(f"umount /opt; rm -rf {TOP}; mv /root/aside {TOP}")
    guest.run(
        "useradd -m -s /bin/bash op; mkdir -p /home/op/.ssh; cp /root/.ssh/authorized_keys /home/op/.ssh; "
        "chown -R op /home/op/.ssh; chmod 0700 /home/op/.ssh"
    )
    done, _, _ = on("--on", "op@stor1", "disks")
    assert done.returncode == 2
    assert "there is no sudo, and the user is not root [server-root]" in done.stderr, done.stderr


@pytest.mark.slow
def test_doctor_names_what_is_missing_and_prepare_shows_the_command_before_it_runs(guest: Lab, on: Any) -> None:
    about = "Package: fio\\nVersion: 99\\nArchitecture: amd64\\nMaintainer: x <x@x>\\nDescription: fio, packed anew\\n"
    guest.run(
        "set -e; mkdir -p /root/repo/p/DEBIAN /root/repo/p/usr/bin; cp /usr/bin/fio /root/repo/p/usr/bin; cd /root/repo; "
        f"printf '{about}' >p/DEBIAN/control; dpkg-deb -b p fio.deb >/dev/null; "
        "{ cat p/DEBIAN/control; echo Filename: ./fio.deb; echo Size: $(stat -c %s fio.deb); "
        "echo SHA256: $(sha256sum fio.deb | cut -d' ' -f1); } >Packages; "
        "rm -rf /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] file:/root/repo ./' >/etc/apt/sources.list; "
        "mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial; rm /usr/bin/fio; apt-get update 2>&1",
        180,
    )
    done, _, _ = on("doctor", "--json")
    checkup = json.loads(done.stdout)
    assert "fio" in checkup["packages"]
    assert checkup["distribution"].startswith("debian")
    done, _, _ = on("prepare")
    assert done.returncode == 3, done.stderr
    assert "apt-get install --assume-yes --no-install-recommends fio" in done.stderr
    done, _, _ = on("prepare", "--yes")
    print(done.stderr[-1500:])
    assert done.returncode == 0, done.stderr
    assert "is prepared" in done.stdout
    assert guest.run("fio --version", check=False).code == 0
