"""The command that starts raidtui on a server. A stand-in for ssh runs it here: the transport, and nothing of storage."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from raidtui.client.engine_client import EngineClient
from raidtui.client.not_started import Lacks, not_started
from raidtui.client.places import place, root_argv
from raidtui.lab.ssh import sync_files
from raidtui.model.packages import install_argv, remedy_for, translated
from raidtui.model.problem import ProblemError
from raidtui.remote import start
from raidtui.remote.start import answer_in, as_root, link_script, start_script

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the folder has to belong to it")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a server that the stand-in for ssh reaches; `words` there has what ssh was called with."""
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin/ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/words\nfor last; do :; done\nexec /bin/sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(start, "TOP", str(tmp_path / "opt/raidtui"))
    return tmp_path


def failing(server: Path, code: int, said: str) -> None:
    (server / "bin/ssh").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {code}\n")


def refusal() -> tuple[str, str]:
    with pytest.raises(ProblemError) as caught:
        EngineClient(place("op@stor1"))
    return caught.value.problems[0].code, str(caught.value)


def test_the_command_passes_through_every_login_shell() -> None:
    for script in (start_script("0" * 16), link_script("0" * 16)):
        assert not set("'\\\n!`") & set(script)
        subprocess.run(["/bin/sh", "-n", "-c", script], check=True)
        assert as_root(script).startswith("exec /bin/sh -c ")


@ROOT
def test_a_server_gets_the_code_by_the_connection_that_starts_the_engine(server: Path) -> None:
    with EngineClient(place("stor1")) as engine:
        assert engine.hello.root
    (version,) = (path for path in (server / "opt/raidtui").iterdir() if not path.name.startswith("."))
    inode = version.stat().st_ino
    with EngineClient(place("stor1")) as engine:
        assert engine.hello.root
    assert version.stat().st_ino == inode
    assert (server / "words").read_text().count("-T -o ServerAliveInterval=15 -- stor1") == 2


@ROOT
@pytest.mark.parametrize("which", ["opt", "opt/raidtui"])
def test_nothing_is_run_from_a_folder_that_others_may_write(server: Path, which: str) -> None:
    with EngineClient(place("stor1")):
        pass
    (server / which).chmod(0o777)
    code, text = refusal()
    assert code == "server-folder"
    assert "may be written by others" in text


@ROOT
def test_a_version_without_its_python_is_put_there_again(server: Path) -> None:
    with EngineClient(place("stor1")):
        pass
    (python,) = (server / "opt/raidtui").glob("*/python")
    python.write_text("/usr/bin/python3.99\n")
    with EngineClient(place("stor1")):
        assert python.read_text() != "/usr/bin/python3.99\n"


@ROOT
def test_a_lab_gets_the_code_by_the_same_means_and_a_name_that_leads_to_it(server: Path) -> None:
    argv = [str(server / "bin/ssh"), "lab"]
    entry = server / "opt/raidtui/raidtui/__main__.py"
    assert sync_files(argv)
    assert not sync_files(argv)
    done = subprocess.run(["/usr/bin/python3", "-I", str(entry), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("raidtui ")
    (server / "opt/raidtui/raidtui").unlink()
    (server / "opt/raidtui/raidtui").symlink_to("0000000000000000/raidtui")
    assert sync_files(argv)
    assert not sync_files(argv)


@pytest.mark.parametrize(
    ("exit_code", "said", "code"),
    [
        (255, "ssh: Could not resolve hostname stor1: Name or service not known", "unreachable"),
        (255, "Host key verification failed.", "unreachable"),
        (1, "sudo: a password is required", "server-root"),
        (1, "sudo: sorry, you must have a tty to run sudo", "server-root"),
        (1, "op is not in the sudoers file.", "server-root"),
        (127, "sh: 1: exec: /bin/sh: not found", "engine-start"),
        (3, "something else", "engine-start"),
    ],
)
def test_what_keeps_an_engine_from_starting_is_a_refusal(server: Path, exit_code: int, said: str, code: str) -> None:
    failing(server, exit_code, said)
    found, text = refusal()
    assert found == code
    assert said in text


def test_a_connection_that_breaks_while_the_code_is_sent_is_a_refusal(server: Path) -> None:
    wants = start.wanted_line(place("stor1").code.version)  # type: ignore[union-attr]
    (server / "bin/ssh").write_text(f"#!/bin/sh\necho '{wants}'\nhead -c 1000 >/dev/null\necho broken >&2\nexit 255\n")
    code, text = refusal()
    assert code == "unreachable"
    assert "broken" in text


@pytest.mark.parametrize(
    ("line", "code", "distribution", "packages", "words"),
    [
        ("python: ID=debian Python 3.9.2", "server-python", "debian", ("python3",), "Python 3.9.2"),
        ('python: ID="rhel" Python 3.9.18', "server-python", "rhel", ("python3.12",), "dnf install --assumeyes python3.12"),
        ("python: ", "server-python", "", (), "no python3"),
        ("library: msgspec ubuntu /usr/bin/python3 3.12.3 on x86_64", "server-library", "ubuntu", ("python3-msgspec",),
         "apt-get install"),
        ("library: pyudev opensuse-leap /usr/bin/python3.11 3.11.9 on x86_64", "server-library", "opensuse-leap",
         ("python3-pyudev",), "zypper --non-interactive install"),
        ("library: msgspec gentoo /usr/bin/python3 3.12.3 on x86_64", "server-library", "gentoo", (), "same version"),
    ],
)  # fmt: skip
def test_what_a_server_lacks_is_named_with_its_package(
    line: str, code: str, distribution: str, packages: tuple[str, ...], words: str
) -> None:
    error = not_started("root@stor1", f"Welcome\nraidtui: cannot: {line}\n")
    assert isinstance(error, Lacks)
    (problem,) = error.problems
    assert (problem.code, problem.exit, error.distribution, error.packages) == (code, 2, distribution, packages)
    assert words in problem.message + problem.remedy


def test_words_that_are_no_answer_are_none() -> None:
    assert answer_in("motd\nraidtui: wants 0000\n") is None
    assert not_started("stor1", "bash: something") is None


def test_packages_have_the_names_of_their_distribution() -> None:
    assert remedy_for("debian", "apt install mdadm") == "apt install mdadm"
    assert remedy_for("rocky rhel centos fedora", "At least 2 is needed: apt install python3-selinux lvm2") == (
        "At least 2 is needed: dnf install python3-libselinux lvm2"
    )
    assert remedy_for("opensuse-leap suse", "apt install btrfs-progs") == "zypper install btrfsprogs"
    assert "not in this distribution" in remedy_for("fedora", "apt install zfsutils-linux zfs-dkms")
    assert translated("fedora", ("libblockdev-mdraid3", "python3-pyzfs")) == ("libblockdev-mdraid",)
    assert install_argv("fedora", ("mdadm",)) == ("dnf", "install", "--assumeyes", "mdadm")
    assert install_argv("plan9", ("mdadm",)) == ()
    assert install_argv("debian", ("mdadm; reboot",)) == (), "a name that is none is not run"
    assert install_argv("debian", ("--option",)) == ()


def test_a_command_runs_as_root_over_the_same_ssh(server: Path) -> None:
    argv = root_argv(place("op@stor1"), ("echo", "a b", "it's"))
    assert argv[:2] == ("ssh", "-T")
    if os.geteuid() == 0:
        assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "a b it's\n"
