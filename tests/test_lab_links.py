"""Links and hosts of a lab: what needs no machine."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.cli.main import main
from raidtui.lab import disks, life, links, ssh
from raidtui.lab.links import LinkSpec, parse_link
from raidtui.lab.state import LabFiles, LabState
from raidtui.model.problem import ProblemError

specs = st.builds(
    LinkSpec,
    rate_bits_per_s=st.just(0) | st.integers(8, 100_000_000).map(lambda kbit: kbit * 1000),
    delay_us=st.integers(0, 10_000_000),
    mtu=st.integers(1280, 9000),
    rxe=st.booleans(),
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("", LinkSpec()),
        ("1gbit,0.2ms", LinkSpec(1_000_000_000, 200)),
        ("rxe, mtu=9000, 2.5gbit", LinkSpec(2_500_000_000, mtu=9000, rxe=True)),
        ("150us,512kbit", LinkSpec(512_000, 150)),
    ],
)
def test_a_link_is_written_in_any_order(text: str, spec: LinkSpec) -> None:
    assert parse_link(text) == spec


@given(specs)
def test_a_link_that_is_shown_can_be_asked_for(spec: LinkSpec) -> None:
    assert parse_link(str(spec)) == spec


@pytest.mark.parametrize(
    "text", ["fast", "1gbit,2gbit", "rxe,rxe", "0mbit", "200gbit", "mtu=1000", "mtu=9001", "0us", "11000ms", "1gbps"]
)
def test_a_link_that_cannot_be_is_refused_by_its_part(text: str) -> None:
    with pytest.raises(ProblemError) as refused:
        parse_link(text)
    assert refused.value.problems[0].code == "lab.link"
    assert repr(text.rpartition(",")[2]) in refused.value.problems[0].message


def test_both_ends_of_a_link_fit_and_no_two_links_share_anything() -> None:
    at_server = links.ends(0, 7)
    at_clients = [end for number in range(1, 8) for end in links.ends(number)]
    for server, client in zip(at_server, at_clients, strict=True):
        assert (server.peer_address, server.peer, server.number) == (client.address, f"c{server.number}", client.number)
        assert (client.peer_address, client.peer) == (server.address, "storage")
        assert server.at_server
        assert not client.at_server
    both = [*at_server, *at_clients]
    assert len({end.mac for end in both}) == len({end.address for end in both}) == 14
    assert len({end.address.rpartition(".")[0] for end in both}) == 7
    assert len({end.interface for end in at_server}) == 7
    assert links.ends(0, 0) == []


@given(specs)
def test_scripts_for_guests_are_shell_and_the_queue_has_room_for_what_is_under_way(spec: LinkSpec) -> None:
    script = links.identity_script(links.ends(0, 2), spec, "", "0123456789abcdef" * 2)
    inner = links.guest_script(links.ends(0, 2), spec)
    for text in (script, inner) if spec.rxe else (inner,):
        subprocess.run(["sh", "-n"], input=text, text=True, check=True, timeout=20)
    shaped = [line.split() for line in inner.splitlines() if line.startswith("tc ")]
    assert len(shaped) == (2 if spec.rate_bits_per_s or spec.delay_us else 0)
    for words in shaped:
        packets_per_s = (spec.rate_bits_per_s or 10_000_000_000) / 8 / spec.mtu
        assert int(words[words.index("limit") + 1]) > packets_per_s * spec.delay_us / 1_000_000


def test_each_client_takes_the_place_of_one_nvme_disk() -> None:
    many = [disks.DiskSpec(1 << 30)] * 26
    assert disks.checked(many, 2) == many
    with pytest.raises(ProblemError, match="more than 25"):
        disks.checked(many, 3)


@pytest.mark.parametrize("name", ["a/b", "a/c0", "a/c8", "a/c1/c1", "/c1", "a/", "a/c1\n"])
def test_only_clients_have_a_name_below_the_labs(name: str) -> None:
    with pytest.raises(ProblemError):
        LabFiles(name)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LabFiles:
    """A lab with two clients that were up; no machine of it runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    image = tmp_path / "image"
    image.mkdir()
    for name in ("key", "known_hosts"):
        (image / name).write_text(name)
    files = LabFiles("three")
    for port, host in enumerate((files, *files.clients(2)), start=50001):
        host.create()
        state = LabState(host.name, str(image), "tcg", port, [], [], 0.0, ready=True, link=LinkSpec(rxe=True))
        state.clients, state.cut = (2, [2]) if host is files else (0, [])
        host.save(state)
        ssh.write_config(host.ssh_config, port, image, host.ssh_master)
    return files


def test_a_client_lives_inside_of_its_labs_folders(stopped: LabFiles) -> None:
    client = LabFiles("three/c2")
    try:
        assert (client.lab, client.host, client.number) == ("three", "c2", 2)
        assert client.folder.parent == stopped.folder
        assert client.sockets.parent == stopped.lab_sockets == stopped.sockets
        assert len(str(client.ssh_master)) < 80
    finally:
        life.down("three")
    assert not client.folder.exists()
    assert not stopped.lab_sockets.exists()
    assert list(stopped.folder.parent.iterdir()) == []


def test_every_host_is_in_the_ssh_configuration_of_the_lab(stopped: LabFiles) -> None:
    try:
        ssh.write_config(stopped.ssh_config, 50001, stopped.folder, stopped.ssh_master, stopped.clients(2))
        for config, alias, port in (
            (stopped, "lab", 50001), (stopped, "lab-c1", 50002), (stopped, "lab-c2", 50003),
            (stopped.clients(1)[0], "lab", 50002),
        ):  # fmt: skip
            argv = ["ssh", "-G", "-F", str(config.ssh_config), alias]
            shown = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()
            assert f"port {port}" in shown
            assert "hostname 127.0.0.1" in shown
            assert "stricthostkeychecking true" in shown
    finally:
        life.down("three")


def test_status_shows_hosts_links_and_what_has_stopped(stopped: LabFiles, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(["lab", "status", "--json"]) == 0
        [lab] = json.loads(capsys.readouterr().out)["labs"]
        assert lab["link"] == "mtu=1500,rxe"
        seen = [(host["name"], host["running"], host["port"], host["address"], host["cut"]) for host in lab["hosts"]]
        assert seen == [("c1", False, 50002, "10.10.1.2", False), ("c2", False, 50003, "10.10.2.2", True)]
        assert main(["lab", "status"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[1:] == [
            "  c1: stopped, pid -, ssh port 50002, 10.10.1.2, link mtu=1500,rxe",
            "  c2: stopped, pid -, ssh port 50003, 10.10.2.2, link cut",
        ]
    finally:
        life.down("three")


def test_the_status_of_a_lab_without_clients_has_no_word_of_them() -> None:
    status = life.LabStatus("one", True, "tcg", 2, 1, 1, [], "/folder")
    assert msgspec.to_builtins(status).keys() == {"name", "running", "accel", "cpus", "port", "pid", "disks", "folder"}


def test_a_dead_host_is_told_by_name_with_the_way_to_start_it(stopped: LabFiles) -> None:
    try:
        with pytest.raises(ProblemError, match="host c1 of lab three is not up") as told:
            ssh.running_lab("three/c1")
        assert told.value.problems[0].remedy == "raidtui lab up three"
    finally:
        life.down("three")


def test_nobody_waits_for_a_machine_that_has_ended() -> None:
    asked = iter((True, True, False))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert not ssh.wait_for_server(closed.getsockname()[1], 3600.0, lambda: next(asked))


@pytest.mark.parametrize("call", [life.down, lambda name: life.up(name, [])])
def test_a_lab_comes_up_and_goes_down_as_a_whole(stopped: LabFiles, call: object) -> None:
    try:
        with pytest.raises(ProblemError, match="one host"):
            call("three/c1")  # type: ignore[operator]
        assert stopped.exists()
    finally:
        life.down("three")


def test_links_are_asked_for_together_with_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "up", "none", "--link", "1gbit"]) != 0
    assert "--hosts 2" in "".join(capsys.readouterr().err)
