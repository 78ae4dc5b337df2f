"""A lab with clients: links, names, exports over TCP and RDMA, cut links, dead hosts, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_harness import CPUS, start_lab
from raidtui.lab import life, ssh
from raidtui.lab.control import Lab
from raidtui.lab.disks import parse_spec
from raidtui.lab.links import parse_link
from raidtui.lab.qemu import Qmp, connect_link
from raidtui.lab.state import LabFiles
from raidtui.model.problem import ProblemError

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NQN = "nqn.2026-01.example:disk"
EXPORT = f"""set -e
modprobe -a nvmet nvmet-tcp
cd /sys/kernel/config/nvmet
mkdir subsystems/{NQN} subsystems/{NQN}/namespaces/1 ports/1
echo 1 > subsystems/{NQN}/attr_allow_any_host
echo -n DEVICE > subsystems/{NQN}/namespaces/1/device_path
echo 1 > subsystems/{NQN}/namespaces/1/enable
echo ipv4 > ports/1/addr_adrfam
echo tcp > ports/1/addr_trtype
echo 10.10.1.1 > ports/1/addr_traddr
echo 4420 > ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/{NQN} ports/1/subsystems/{NQN}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A storage server with one disk and two clients; slow and long links, which the emulation is faster than."""
    made = Lab(f"test-{os.getpid()}-hosts")
    try:
        yield start_lab("hosts", "1x1G", hosts=3, link=parse_link("10mbit,20ms,mtu=9000,rxe"))
    finally:
        made.down()


def test_every_host_has_names_of_its_own_and_the_storage_server_the_disks(lab: Lab) -> None:
    hosts = [lab, lab.client(1), lab.client(2)]
    names = [host.run("hostname").text.strip() for host in hosts]
    assert names == ["raidtui-lab", "raidtui-lab-c1", "raidtui-lab-c2"]
    for file in ("/etc/machine-id", "/etc/nvme/hostnqn", "/etc/nvme/hostid", "/etc/iscsi/initiatorname.iscsi"):
        assert len({host.run(f"cat {file}").text for host in hosts}) == 3, file
    assert [len(host.serials) for host in hosts] == [1, 0, 0]
    assert all(host.run("systemctl --failed --no-legend").text == "" for host in hosts)


def test_hosts_reach_each_other_by_name_with_whole_frames_over_the_asked_delay(lab: Lab) -> None:
    for host, peer in ((lab, "c1"), (lab, "c2"), (lab.client(1), "storage"), (lab.client(2), "storage")):
        said = host.run(f"ping -c 3 -i 0.2 -W 10 -M do -s 8972 {peer}").text
        shortest = float(said.rpartition("= ")[2].split("/")[0])
        assert shortest >= 40, said
    assert lab.client(1).run("ping -c 1 -W 2 10.10.2.2", check=False).code != 0


def test_every_host_is_reached_over_ssh_and_by_raidtui(lab: Lab) -> None:
    for alias, name in (("lab", "raidtui-lab"), ("lab-c1", "raidtui-lab-c1"), ("lab-c2", "raidtui-lab-c2")):
        argv = ["ssh", "-F", str(lab.files.ssh_config), alias, "hostname"]
        assert subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout == f"{name}\n"
    # A disk of the client is seen by the engine that starts there.
    serial = lab.client(2).add_disk(parse_spec("1x1G")[0])
    lab.client(2).wait_for("[ -b /dev/nvme0n1 ] && udevadm settle")
    argv = [sys.executable, "-m", "raidtui", "--on", f"lab:{lab.name}/c2", "disks", "--json"]
    listed = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=240).stdout)
    assert [disk["serial"] for disk in listed["disks"] if not disk.get("system")].count(serial) == 1


def test_a_link_carries_what_it_may_and_no_more(lab: Lab) -> None:
    lab.client(1).run("iperf3 -s -D -1")
    said = json.loads(lab.run("iperf3 -J -t 4 -c c1", 60).text)
    assert 0 < said["end"]["sum_received"]["bits_per_second"] < 10_500_000


def test_a_disk_that_is_exported_over_tcp_is_the_clients(lab: Lab) -> None:
    device = f"/dev/{lab.kernel_name(lab.serials[0])}"
    lab.run(f"echo exported | dd of={device} bs=4k count=1 conv=sync,fsync status=none")
    lab.run(EXPORT.replace("DEVICE", device))
    client = lab.client(1)
    client.run(f"modprobe nvme-tcp && nvme connect -t tcp -a 10.10.1.1 -s 4420 -n {NQN}")
    client.wait_for("[ -b /dev/nvme0n1 ]")
    assert client.run("head -c 8 /dev/nvme0n1").text == "exported"
    client.run("echo returned | dd of=/dev/nvme0n1 bs=4k count=1 conv=sync,fsync status=none")
    client.run(f"nvme disconnect -n {NQN}")
    assert lab.run(f"dd if={device} bs=4k count=1 iflag=direct status=none | head -c 8").text == "returned"


def test_rdma_works_on_every_link(lab: Lab) -> None:
    assert sorted(lab.run("ls /sys/class/infiniband").text.split()) == ["rxe-c1", "rxe-c2"]
    assert "rxe-storage" in lab.client(1).run("ibv_devices").text
    lab.client(1).run("setsid rping -s -a 10.10.1.2 -C 2 > /root/rping 2>&1 < /dev/null &")
    lab.client(1).wait_for("rdma resource show cm_id | grep -q LISTEN")
    assert "rdma-ping-1" in lab.run("rping -c -a 10.10.1.2 -C 2 -v", 60).text


def test_the_guests_have_what_exports_and_measurements_need(lab: Lab) -> None:
    modules = "nvmet nvmet-tcp nvmet-rdma nvme-tcp nvme-rdma nvme-loop rdma_rxe iscsi_tcp"
    modules += " target_core_mod iscsi_target_mod ib_isert ib_iser"
    assert lab.run(f"for m in {modules}; do modprobe -n $m || echo $m; done", 120).text == ""
    tools = "iscsiadm nvme iperf3 ib_write_bw ib_read_lat rping ibv_devinfo rdma tc ping"
    assert lab.run(f"for t in {tools}; do command -v $t >/dev/null || echo $t; done").text == ""
    lab.run(["python3", "-c", "import rtslib_fb"], 120)


def test_a_cut_link_has_no_carrier_until_it_is_restored_and_the_other_one_is_not_touched(lab: Lab) -> None:
    carrier = "cat /sys/class/net/to-*/carrier"
    lab.cut(1)
    assert lab.client(1).run(carrier).text.split() == ["0"]
    assert lab.run(carrier).text.split() == ["0", "1"]
    assert lab.run("ping -c 2 -W 2 10.10.1.2", check=False).code != 0
    assert lab.run("ping -c 2 -W 10 10.10.2.2", check=False).code == 0
    assert [host.cut for host in life.status(lab.name).hosts] == [True, False]  # type: ignore[union-attr]
    lab.restore(1)
    lab.wait_for("ping -c 2 -W 10 c1")
    assert lab.client(1).run(carrier).text.split() == ["1"]
    with pytest.raises(ProblemError, match="no client c3"):
        lab.cut(3)


def test_a_link_is_connected_anew_and_the_guest_keeps_its_card(lab: Lab) -> None:
    """A link is connected again as `lab up` does it after the storage server was restarted."""
    client = lab.client(1)
    before = client.run("cat /sys/class/net/to-storage/ifindex").text
    for _ in range(2):
        with Qmp(client.files.qmp) as qmp:
            connect_link(qmp, 1, lab.files.lab_sockets)
        lab.wait_for("ping -c 2 -W 10 c1")
    assert client.run("cat /sys/class/net/to-storage/ifindex").text == before


def test_a_dead_host_is_told(lab: Lab) -> None:
    lab.client(2).crash()
    argv = [sys.executable, "-m", "raidtui", "lab", "status", lab.name]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "c1: up" in told
    assert "c2: stopped" in told
    with pytest.raises(ProblemError, match=f"host c2 of lab {lab.name} is not up"):
        ssh.lab_argv(f"{lab.name}/c2")
    lab.run("true")


@pytest.mark.timeout(1500)
def test_up_boots_the_dead_hosts_alone_and_links_come_back(lab: Lab) -> None:
    said: list[str] = []
    lab.client(2).crash()
    before = lab.files.pids()
    life.up(lab.name, [], said.append)
    assert said == [f"host c2 of lab {lab.name} had stopped; it boots again with the disks that it had"]
    assert lab.files.pids() == before
    lab.wait_for("ping -c 2 -W 10 c2")
    lab.cut(1)
    lab.reboot()
    lab.wait_for("ping -c 2 -W 10 c2")
    assert lab.run("cat /sys/class/net/to-c1/carrier").text == "0\n"
    lab.restore(1)
    lab.client(1).wait_for("ping -c 2 -W 10 storage")
    assert sorted(lab.run("ls /sys/class/infiniband").text.split()) == ["rxe-c1", "rxe-c2"]


def test_one_host_is_no_lab(lab: Lab) -> None:
    for call in (life.down, lambda name: life.up(name, [])):
        with pytest.raises(ProblemError, match="one host"):
            call(f"{lab.name}/c1")
    lab.run("true")


def test_nothing_of_any_host_is_left_after_down(lab: Lab) -> None:
    pids = lab.files.lab_pids()
    assert len(pids) >= 2
    lab.down()
    for pid in pids:
        process = Path(f"/proc/{pid}/status")
        assert not process.exists() or "State:\tZ" in process.read_text()
    assert not lab.files.folder.exists()
    assert not lab.files.lab_sockets.exists()
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(lab.files.folder) not in shown
    assert life.status(lab.name) is None


@pytest.mark.parametrize("sign", ["qemu.pid", "c1/root.qcow2", "c2/qemu.pid", "c2/ssh_config"])
def test_an_up_that_was_killed_leaves_nothing_that_down_cannot_clean(sign: str) -> None:
    """It is killed as soon as that file is in the lab's folder."""
    name = f"test-{os.getpid()}-killed"
    argv = [sys.executable, "-m", "raidtui", "lab", "up", name, "--disks", "1x1G", "--hosts", "3", "--cpus", str(CPUS)]
    child = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    files = LabFiles(name)
    try:
        while child.poll() is None and not (files.folder / sign).exists():
            time.sleep(0.01)
        assert child.poll() is None
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(30)
        life.down(name)
    assert not files.exists()
    assert not files.lab_pids()
    assert name not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
