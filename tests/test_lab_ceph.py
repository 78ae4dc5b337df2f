"""The lab with a Ceph cluster in it: it is healthy when the lab is up, and takes images, librbd and the kernel's client."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lab_harness import start_lab
from raidtui.lab.control import Lab
from raidtui.lab.flavours import CEPH

# The first one that runs builds the image and the saved machine: 24 minutes on busy cores. After that, all take 4 to 7.
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

IMAGE_BYTES = 16 << 20
FIO = "--rw=write --bs=64k --iodepth=4 --verify=crc32c --do_verify=0 --output-format=json"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab(f"test-{os.getpid()}-ceph")
    try:
        yield start_lab("ceph", "1x64M", flavour=CEPH)
    finally:
        made.down()


def ceph(lab: Lab, line: str) -> Any:
    return json.loads(lab.run(f"ceph {line} --format json", 120).text or "null")


def test_the_cluster_is_healthy_and_listens_on_the_loopback_alone(lab: Lab) -> None:
    status = ceph(lab, "status")
    assert status["health"]["status"] == "HEALTH_OK", status["health"]
    assert status["mgrmap"]["available"]
    assert [status["osdmap"][key] for key in ("num_osds", "num_up_osds", "num_in_osds")] == [3, 3, 3]
    found = lab.run("ss -Htlnp | grep ceph- | awk '{print $4}'").text.split()
    assert found
    assert all(address.startswith("127.0.0.1:") for address in found), found
    assert lab.run("stat -c %a /etc/ceph/ceph.client.admin.keyring").text == "600\n"


def test_an_image_is_written_by_librbd_read_by_the_kernel_and_removed(lab: Lab) -> None:
    before = ceph(lab, "osd pool ls")
    for line in ("osd pool create tried 4 4 replicated --size 2", "osd pool application enable tried rbd"):
        lab.run(f"ceph {line}", 120)
    lab.run(f"rbd create --size {IMAGE_BYTES}B tried/image", 120)
    stranger = lab.run("rbd --id images --keyring /etc/ceph/ceph.client.images.keyring ls tried", 120)
    assert stranger.text == "image\n"
    refused = lab.run("ceph --id images osd pool create other 4", 120, check=False)
    assert "access denied" in refused.error_text.lower()
    job = f"fio --name=job {FIO} --ioengine=rbd --clientname=admin --pool=tried --rbdname=image --direct=1"
    [written] = json.loads(lab.run(job, 300).text)["jobs"]
    assert written["error"] == 0
    assert written["write"]["io_bytes"] == IMAGE_BYTES
    device = lab.run("rbd map tried/image", 120).text.strip()
    try:
        check = FIO.replace("--rw=write", "--rw=read").replace("--do_verify=0", "--do_verify=1")
        job = f"fio --name=job {check} --ioengine=libaio --filename={device} --direct=1"
        [read] = json.loads(lab.run(job, 300).text)["jobs"]
        assert read["error"] == 0
        assert read["read"]["io_bytes"] == IMAGE_BYTES
    finally:
        lab.run(f"rbd unmap {device}", 120)
    lab.run("rbd rm --no-progress tried/image", 120)
    lab.run("ceph osd pool rm tried tried --yes-i-really-really-mean-it", 120)
    assert ceph(lab, "osd pool ls") == before
    assert lab.run("rbd showmapped").text == ""


def test_a_clock_that_jumps_by_weeks_and_a_power_cut_leave_the_cluster_healthy(lab: Lab) -> None:
    """A saved machine is loaded long after it was saved."""
    lab.run(f"date -u -s @{time.time() + 40 * 86400:.0f}")
    # The OSDs do what they do once a day, which makes new OSD maps; after that, nothing may change any more.
    lab.run("lab-ceph wait", 300)
    before = ceph(lab, "status")
    assert before["health"]["status"] == "HEALTH_OK", before["health"]
    time.sleep(20)
    after = ceph(lab, "status")
    assert after["osdmap"] == before["osdmap"]
    assert after["health"] == before["health"]
    lab.reboot()
    assert ceph(lab, "status")["health"]["status"] == "HEALTH_OK"
