"""A layout as a script that builds it for good: complete, valid for bash, and refused where commands are not enough."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.reading import read_document
from raidtui.engine.lasting.script import script_of
from raidtui.inventory.by_id import by_id_path
from raidtui.model.disk import Disk
from raidtui.model.disk_text import imaginary_disks, parse_disks
from raidtui.model.plan import KEEP, Keep, Options, Plan
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import PlanRequest, ScriptRequest

DISKS = [disk for group in imaginary_disks(parse_disks("6x4TB hdd, 2x1TB nvme")) for disk in group]
MD = {"md": {"level": "raid10", "on": "@data", "chunk": "64KiB"}}
RAIDZ2 = {"vdevs": [{"raidz2": "@data"}], "properties": {"ashift": 12}}
LAYOUTS: dict[str, Any] = {
    "xfs": {"filesystem": {"type": "xfs", "on": MD}},
    "lvm": {"lvm": {"type": "raid5", "on": "@data", "stripe_size": "64KiB"}},
    "cached": {"filesystem": {"type": "ext4", "on": {"lvm": {"type": "linear", "on": MD, "writecache": {"on": "@fast"}}}}},
    "pool": {"zpool": {**RAIDZ2, "dataset": {"properties": {"compression": "lz4"}}}},
    "volume": {"zpool": {**RAIDZ2, "volume": {"size": "80%"}}},
    "parts": {"md": {"level": "raid1", "on": {"partition": {"on": "@fast", "use": "50%"}}}},
    "btrfs": {"filesystem": {"type": "btrfs", "on": "@data", "data": "raid10", "metadata": "raid1", "subvolume": "srv"}},
    "luks": {"luks": {"on": MD}},
    "ppl": {"md": {"level": "raid5", "on": "@data", "consistency": "ppl"}},
    "one": {"filesystem": {"type": "xfs", "on": {"disk": {"on": "@data"}}}},
}


def script(layout: str, language: str = "bash", **more: str) -> str:
    roles = {"data": {"count": 6, "where": {"kind": "hdd"}}, "fast": {"count": 2, "where": {"kind": "nvme"}}}
    document = {
        "schema": "raidtui.scenario/1", "name": "s", "roles": roles, "layouts": {layout: LAYOUTS[layout]},
        "workloads": {"w": {"fio": {"rw": "write", "bs": "1MiB", "runtime": "3s", "filesize": "64MiB"}}},
        "policy": {"initial_sync": "skip-if-zeroed"},
    }  # fmt: skip
    plan = PlanRequest(json.dumps(document), {}, Options(layouts=(layout,)))
    return script_of(ScriptRequest(plan, language, **more), DISKS, None).text  # type: ignore[arg-type]


def refusal(layout: str, language: str = "bash", **more: str) -> str:
    with pytest.raises(ProblemError) as refused:
        script(layout, language, **more)
    return f"{refused.value.problems[0].code}: {refused.value.problems[0].message}"


@pytest.mark.parametrize("layout", ["xfs", "lvm", "cached", "pool", "volume", "parts", "btrfs"])
def test_the_script_is_valid_and_names_no_kernel_names_and_nothing_of_a_run(layout: str) -> None:
    text = script(layout)
    ran = subprocess.run([shutil.which("bash") or "bash", "-n"], input=text, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "set -euo pipefail" in text
    assert not re.findall(r"/dev/(?:sd|nvme)\w*|/run/raidtui|--config|--devices|assume-clean|cachefile|legacy", text)
    commands = text.split("say 'Check")[1]
    first = min(commands.index(word) for word in ("mdadm --create", "pvcreate", "sgdisk", "mkfs") if word in commands)
    assert "blank_disks" in commands[commands.index("say", 10) : first], "checked again before use"


def test_partitions_of_a_pool_are_in_the_script_and_waited_for() -> None:
    text = script("pool")
    assert text.count("sgdisk --disk-guid=") == 6
    assert text.index("sgdisk") < text.index('await "$disk01-part1"') < text.index("zpool create")
    create = text[text.index("zpool create") :]
    assert 'raidz2 "$disk01-part1" "$disk02-part1"' in " ".join(create.replace("\\\n", " ").split())
    assert "mountpoint=/srv/data" in create
    assert "mountpoint=/pool" in script("pool", mount="/pool")


def test_arrays_and_mounts_come_back_after_a_reboot() -> None:
    text = script("xfs", name="tank", mount="/srv/tank")
    uuid = re.findall(r"uuid=([0-9a-f-]{36})", text)[0]
    assert f"UUID={uuid} /srv/tank xfs nofail,noatime 0 0' >> /etc/fstab" in text
    assert 'mdadm --detail --brief /dev/md/tank >> "$conf"' in text


def test_questions_of_lvm_about_its_own_new_volumes_are_answered() -> None:
    (convert,) = [line for line in script("cached").replace("\\\n", "").splitlines() if "lvconvert" in line]
    assert convert.endswith("<<< $'y\\ny\\ny'")


def kept(layout: str, **more: Any) -> Plan:
    roles = {"data": {"count": 6, "where": {"kind": "hdd"}}, "fast": {"count": 2, "where": {"kind": "nvme"}}}
    document = {
        "schema": "raidtui.scenario/1", "name": "s", "roles": roles, "layouts": {layout: LAYOUTS[layout]},
        "workloads": {"w": {"fio": {"rw": "write", "bs": "1MiB", "runtime": "3s", "filesize": "64MiB"}}},
        "policy": {"initial_sync": "skip-if-zeroed", "ceilings": True, "rounds": 4},
    }  # fmt: skip
    scenario = read_document(json.dumps(document)).scenario
    options = Options(keep=Keep(**{"name": "tank", "mount": "/srv/tank", **more}))
    binding = bind(used_roles(scenario, options), {}, DISKS, {})
    return make_plan(scenario, binding, options, token="abcdefgh", boot_id="boot")


@pytest.mark.parametrize("layout", ["xfs", "lvm", "cached", "pool", "volume", "parts", "btrfs"])
def test_a_plan_that_keeps_builds_once_measures_nothing_and_can_still_be_taken_down(layout: str) -> None:
    made = kept(layout)
    phases = [step.phase for step in made.steps]
    assert phases == sorted(phases, key=["prepare", "build", "keep", "teardown"].index)
    assert made.steps[phases.index("keep")].action == KEEP
    assert not made.cells
    assert not made.ceilings
    assert made.steps[-1].action == "disks.blank"
    assert set(made.erases) == {disk for step in made.steps if step.phase == "build" for disk in step.erases}
    assert not any(step.erases for step in made.steps if step.phase == "keep"), "nothing is owed after it was kept"
    assert all(step.seconds == 0 for step in made.steps if step.phase == "teardown")
    assert not any(step.action in ("md.sync", "md.verify", "zpool.arc") for step in made.steps)


def test_a_kept_layout_says_which_lines_bring_it_back() -> None:
    found = kept("xfs").kept
    assert found is not None
    assert found.path == "/srv/tank"
    assert found.lines["/etc/mdadm/mdadm.conf"][0].startswith("ARRAY /dev/md/tank metadata=1.2 UUID=")
    assert re.fullmatch(r"UUID=[0-9a-f-]{36} /srv/tank xfs nofail,noatime 0 0", found.lines["/etc/fstab"][0])
    commands = [" ".join(argv) for step in kept("pool").steps for argv in step.commands]
    assert "nsenter --target=1 --mount zfs set mountpoint=/srv/tank tank/fs" in commands


@pytest.mark.parametrize(
    ("layout", "more", "code"),
    [("luks", {}, "script-layer"), ("xfs", {"name": "raidz2"}, "script-name"), ("xfs", {"mount": "srv"}, "script-mount")],
)
def test_what_cannot_last_is_not_kept(layout: str, more: dict[str, str], code: str) -> None:
    with pytest.raises(ProblemError) as refused:
        kept(layout, **more)
    assert refused.value.problems[0].code == code


def test_what_commands_cannot_build_for_good_is_refused_by_name() -> None:
    assert refusal("luks") == "script-layer: luks cannot be built for good"
    assert refusal("xfs", name="raidz2").startswith("script-name: ")
    assert refusal("xfs", mount="srv; reboot").startswith("script-mount: ")


def test_the_playbook_has_what_the_role_can_express() -> None:
    text = script("xfs", "ansible")
    for line in ("type: \"raid\"", "raid_level: \"raid10\"", "raid_device_count: 6", "raid_chunk_size: \"64 KiB\"",
                 "fs_type: \"xfs\"", "mount_point: \"/srv/data\""):  # fmt: skip
        assert line in text
    lvm = script("lvm", "ansible")
    assert "storage_pools:" in lvm
    assert 'raid_stripe_size: "64 KiB"' in lvm
    assert lvm.count("/dev/disk/by-id/") == 12, "the disks of the group, and those of the volume"


def test_the_playbook_names_what_the_role_cannot_express() -> None:
    assert refusal("pool", "ansible").endswith("the layer zpool")
    assert refusal("ppl", "ansible").endswith("md.consistency")
    assert "lvm.writecache" in refusal("cached", "ansible")


def test_the_best_name_below_by_id_is_chosen(tmp_path: Path) -> None:
    disk = Disk("S", "sdb", 1 << 40, "S", "naa.5000c500a", "M X", transport="sata")
    for name in ("ata-M_X_S", "wwn-0x5000c500a", "scsi-other"):
        (tmp_path / name).symlink_to("/dev/sdb" if name != "scsi-other" else "/dev/sdc")
    assert by_id_path(disk, tmp_path) == str(tmp_path / "wwn-0x5000c500a")
    assert by_id_path(disk, None) == "/dev/disk/by-id/wwn-0x5000c500a"
    assert by_id_path(disk, tmp_path / "gone") == "/dev/disk/by-id/wwn-0x5000c500a"
