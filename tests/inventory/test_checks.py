"""Each check, on a census of our own making: who uses a disk is found through any stack, and named."""

from __future__ import annotations

import importlib
import os
import threading
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.base.text import clean
from raidtui.inventory import Ownership, Signature, checks, examine, hardware, probe, scan
from raidtui.inventory.blocks import Blocks, Node
from raidtui.inventory.census import Census
from raidtui.inventory.checks import CHECKS
from raidtui.inventory.mounts import Mount, Swap
from raidtui.inventory.openers import Opener
from raidtui.inventory.probe import Probe, probe_all, probe_reasons
from raidtui.inventory.reasons import CONTENT, REASONS, SUPERSEDED, reason, with_safe_remedies
from raidtui.inventory.sampling import Content
from raidtui.inventory.stacked import Array, Btrfs, DmDevice, Loop, Pool, Share, Volume
from raidtui.model.disk import Disk


def dev(number: int) -> int:
    return os.makedev(259, number)


def node(name: str, number: int, disk: str = "", slaves: tuple[str, ...] = (), holders: tuple[str, ...] = ()) -> Node:
    return Node(name, dev(number), disk or name, 0, 1 << 30, holders, slaves, f"/nowhere/{name}")


# sda: blank. sdb: partition 1 under md0 (with sdc), under LVM volume dm-0. sdd: blank.
BLOCKS = Blocks(
    [
        node("sda", 1),
        node("sdb", 2),
        node("sdb1", 3, "sdb", holders=("md0",)),
        node("sdc", 4, holders=("md0",)),
        node("sdd", 5),
        node("md0", 6, slaves=("sdb1", "sdc"), holders=("dm-0",)),
        node("dm-0", 7, slaves=("md0",)),
    ]
)
UDEV: dict[str, dict[str, str]] = {name: {} for name in BLOCKS.nodes}
EMPTY = Census(BLOCKS, udev=UDEV)


def codes(disk: str, census: Census) -> list[str]:
    return [r.code for check in CHECKS.values() for r in check(disk, census)]


def messages(disk: str, census: Census) -> str:
    return " / ".join(r.message for check in CHECKS.values() for r in check(disk, census))


def test_a_disk_that_nobody_uses_has_no_reason():
    assert codes("sda", EMPTY) == []


def test_what_stands_on_md_on_a_partition_reaches_the_disks_below():
    assert BLOCKS.disks_below(dev(7)) == {"sdb", "sdc", "md0", "dm-0"}


def test_a_mount_of_a_stack_refuses_every_disk_below_and_no_other():
    census = replace(EMPTY, mounts=(Mount(dev(7), "/srv", "xfs", "/dev/mapper/vg-lv"),))
    assert "mounted" in codes("sdb", census)
    assert "mounted" in codes("sdc", census)
    assert codes("sda", census) == []
    assert "mounted on /srv (xfs, mapper/vg-lv)" in messages("sdb", census)


def test_root_on_a_stack_makes_system_disks_of_all_below():
    census = replace(EMPTY, mounts=(Mount(dev(7), "/", "ext4", "/dev/mapper/vg-root"),))
    [found] = list(CHECKS["system"]("sdc", census))
    assert (found.code, found.system) == ("system", True)


def test_a_mount_in_a_container_names_the_process_whose_namespace_it_is():
    mount = Mount(dev(1), "/data", "ext4", "/dev/sda", "pid 812 (nginx)")
    assert "mount namespace of pid 812 (nginx)" in messages("sda", replace(EMPTY, mounts=(mount,)))
    [found] = CHECKS["mounts"]("sda", replace(EMPTY, mounts=(mount,)))
    assert found.remedy == "nsenter -t 812 -m umount /data"


def test_a_mount_point_cannot_smuggle_a_command_into_the_remedy():
    mount = Mount(dev(1), "/x; reboot", "ext4", "/dev/sda")
    [found] = CHECKS["mounts"]("sda", replace(EMPTY, mounts=(mount,)))
    assert found.remedy == "umount '/x; reboot'"


def test_btrfs_reports_no_block_device_and_is_found_on_all_its_disks():
    census = replace(
        EMPTY,
        mounts=(Mount(os.makedev(0, 44), "/", "btrfs", "/dev/sda"),),
        btrfs=(Btrfs("pool", ("sda", "sdd")),),
        resolved={"/dev/sda": dev(1)},
    )
    for disk in ("sda", "sdd"):
        assert codes(disk, census) == ["system", "mounted"]
    assert "system" not in codes("sdb", census)


def test_bcachefs_names_all_its_devices():
    census = replace(
        EMPTY,
        mounts=(Mount(os.makedev(0, 46), "/srv", "bcachefs", "/dev/sda:/dev/sdd"),),
        resolved={"/dev/sda": dev(1), "/dev/sdd": dev(5)},
    )
    assert codes("sda", census) == codes("sdd", census) == ["mounted"]
    assert "mounted" not in codes("sdb", census)


def test_zfs_root_is_found_by_its_pool():
    census = replace(
        EMPTY,
        mounts=(Mount(os.makedev(0, 45), "/", "zfs", "rpool/ROOT/debian"),),
        pools=(Pool("rpool", ("/dev/sda1x", "/dev/sdd")),),
        resolved={"/dev/sda1x": dev(1), "/dev/sdd": dev(5)},
    )
    assert {"system", "mounted", "zfs-imported"} <= set(codes("sdd", census))
    assert {"system", "mounted", "zfs-imported"} <= set(codes("sda", census))


def test_a_swap_file_is_found_through_its_filesystem():
    census = replace(
        EMPTY,
        mounts=(Mount(dev(7), "/srv", "ext4", "/dev/dm-0"),),
        swaps=(Swap("/srv/swap", "file"),),
        resolved={"/srv/swap": dev(7)},
    )
    assert "swap file /srv/swap is in use" in messages("sdc", census)


def test_a_file_on_btrfs_is_found_through_its_mount():
    census = replace(
        EMPTY,
        mounts=(Mount(os.makedev(0, 44), "/srv", "btrfs", "/dev/sda"),),
        loops={"loop0": Loop("/srv/image")},
        resolved={"/dev/sda": dev(1), "/srv/image": os.makedev(0, 44)},
    )
    assert "/dev/loop0 has its data in /srv/image" in messages("sda", census)


@pytest.mark.parametrize(("state", "code"), [("clean", "md-active"), ("active", "md-active"), ("inactive", "md-inactive")])
def test_md_members_are_found_running_or_not(state, code):
    census = replace(EMPTY, arrays=(Array("md0", state, "raid1", {"sdb1": "in_sync", "sdc": "spare"}),))
    assert code in codes("sdb", census)
    assert "holder" not in codes("sdb", census)
    assert "md0" in messages("sdc", census)


def test_a_holder_that_nothing_explains_is_a_reason_of_its_own():
    assert "holder" in codes("sdc", EMPTY)


@pytest.mark.parametrize(
    ("uuid", "code"),
    [("LVM-abc", "lvm-active"), ("CRYPT-LUKS2-x", "dm-crypt"), ("mpath-3600", "multipath"), ("", "device-mapper")],
)
def test_device_mapper_says_whose_it_is_by_its_uuid(uuid, code):
    blocks = Blocks([*BLOCKS.nodes.values(), node("dm-1", 9, slaves=("sda",))])
    census = Census(blocks, udev=UDEV, mappings=(DmDevice("dm-1", "vg0-lv", uuid),))
    assert codes("sda", census) == [code]


def test_lvm_volumes_are_found_by_the_device_that_their_path_is():
    census = replace(
        EMPTY,
        volumes=(Volume("/dev/disk/by-id/x", "vg0", "u1"), Volume("/dev/sdd", "", "u2")),
        resolved={"/dev/disk/by-id/x": dev(1), "/dev/sdd": dev(5)},
    )
    assert codes("sda", census) == ["lvm-vg"]
    assert codes("sdd", census) == ["lvm-pv"]


def test_openers_are_named():
    census = replace(EMPTY, openers={dev(3): (Opener(4711, "qemu-system-x86"),)})
    assert "sdb1 is open in pid 4711 (qemu-system-x86)" in messages("sdb", census)


def test_targets_that_offer_the_disk_are_named():
    census = replace(EMPTY, shares=(Share("LIO backstore lun0", "/dev/sda"),), resolved={"/dev/sda": dev(1)})
    assert codes("sda", census) == ["shared"]


def test_a_loop_device_is_found_by_number_where_its_path_leads_nowhere_or_elsewhere():
    for backing in ("/dev/gone", "/dev/sdd"):
        census = replace(EMPTY, loops={"loop0": Loop(backing, (os.makedev(0, 6), dev(1)))}, resolved={"/dev/sdd": dev(5)})
        assert codes("sda", census) == ["loop"]
        assert codes("sdd", census) == []


def test_a_target_that_tells_the_number_needs_no_path():
    census = replace(EMPTY, shares=(Share("LIO backstore lun0", "", (dev(1),)),))
    assert messages("sda", census) == "offered to other hosts: LIO backstore lun0"
    assert codes("sdd", census) == []


def test_an_active_target_whose_path_is_gone_may_be_any_disk():
    census = replace(EMPTY, shares=(Share("NVMe-oF namespace of x", "/dev/gone", (), active=True),))
    assert codes("sda", census) == ["unchecked"]


def test_an_opener_says_by_which_way():
    census = replace(EMPTY, openers={dev(1): (Opener(7, "java", "mapped into memory"),)})
    assert messages("sda", census) == "sda is open in pid 7 (java), mapped into memory"


@pytest.mark.parametrize(
    ("transport", "remote"),
    [("nvme-tcp", True), ("nvme-rdma", True), ("nvme-fc", True), ("nvme-loop", True), ("iscsi", True), ("fc", True),
     ("srp", True), ("nvme", False), ("nvme-apple-nvme", False), ("sas", False), ("sata", False), ("", False)],
)  # fmt: skip
def test_storage_of_other_hosts_is_known_by_its_transport(transport, remote, tmp_path):
    disk = msgspec.structs.replace(make("sda", "S", "w"), transport=transport, diskseq=1)
    found = list(checks.check_kind(disk, Node("sda", 1, "sda", folder=str(tmp_path))))
    assert [r.code for r in found] == ["remote"] * remote


MOUNTED = reason("mounted", "mounted on /srv", "umount /srv")
FILESYSTEM = reason("filesystem", "filesystem xfs on sda", "if nobody needs it: wipefs -a /dev/sda")
ACTIVE = reason("md-active", "member of md0", "mdadm --stop /dev/md0")


def remedies(*reasons: Any) -> list[str]:
    return [r.remedy for r in with_safe_remedies(reasons)]


def test_only_unmounting_is_advised_where_something_is_mounted():
    assert remedies(MOUNTED, ACTIVE, FILESYSTEM) == ["umount /srv", "", ""]


def test_nothing_that_destroys_is_advised_while_a_disk_is_in_use_or_may_be():
    assert remedies(ACTIVE, FILESYSTEM) == ["mdadm --stop /dev/md0", ""]
    for code in set(REASONS) - CONTENT - {"lvm-vg", "read-only", "removable", "zoned", "no-identity", "held", "mounted"}:
        assert remedies(reason(code, "x"), FILESYSTEM)[1] == "", code


def test_what_lies_on_an_idle_disk_has_its_remedy():
    partition = reason("partitions", "has 1 partition", "sfdisk --delete /dev/sda")
    assert remedies(FILESYSTEM, partition) == [FILESYSTEM.remedy, partition.remedy]


def test_of_a_disk_that_a_run_holds_only_the_run_is_spoken_of():
    held = reason("held", "held by run r1", "raidtui attach r1")
    assert remedies(held, MOUNTED, FILESYSTEM) == ["raidtui attach r1", "", ""]


def test_nothing_is_advised_for_a_system_disk():
    assert remedies(reason("system", "x", system=True), MOUNTED, ACTIVE, FILESYSTEM) == [""] * 4


def test_a_group_whose_volumes_are_active_elsewhere_is_not_to_be_removed():
    census = replace(EMPTY, volumes=(Volume("/dev/sda", "vg0", "u1"),), resolved={"/dev/sda": dev(1)})
    [found] = CHECKS["lvm"]("sda", census)
    assert "vgremove" in found.remedy
    [found] = CHECKS["lvm"]("sda", replace(census, mappings=(DmDevice("dm-9", "vg0-lv", "LVM-abc"),)))
    assert "vgremove" not in found.remedy


def test_a_disk_that_udev_does_not_know_is_unchecked():
    assert codes("sda", replace(EMPTY, udev={})) == ["unchecked"]
    assert codes("sda", replace(EMPTY, udev={"sda": None})) == ["unchecked"]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"DM_MULTIPATH_DEVICE_PATH": "1"}, "multipath"),
        ({"SYSTEMD_READY": "0"}, "reserved"),
        ({"UDISKS_IGNORE": "1"}, "reserved"),
        ({"ID_FS_AMBIVALENT": "filesystem:ext4 raid:zfs"}, "signature"),
    ],
)
def test_what_udev_rules_say_counts(flags, code):
    assert codes("sda", replace(EMPTY, udev={"sda": flags})) == [code]


def test_a_disk_on_multipaths_list_is_refused_without_a_map():
    disk = Disk("x", "sda", 1, "x", "naa.5000c5001234", "m")
    census = replace(EMPTY, disks=(disk,), multipath_wwids=frozenset({"35000c5001234"}))
    assert codes("sda", census) == ["multipath"]


def make(name: str, serial: str, wwid: str) -> Disk:
    return Disk("", name, 1 << 30, serial, wwid, "model")


def test_the_serial_names_a_disk_where_it_is_unique_else_the_wwid():
    disks = hardware.with_ids([make("a", "S1", "w1"), make("b", "S2", "w2"), make("c", "S2", "w3"), make("d", "", "w4")])
    assert [d.id for d in disks] == ["S1", "w2", "w3", "w4"]
    assert not [r for d in disks for r in checks.check_identity(d, disks)]


def test_disks_that_nothing_tells_apart_are_refused():
    disks = hardware.with_ids(
        [make("a", "S1", "w1"), make("b", "S2", "w1"), make("c", "", ""), make("d", "S3", ""), make("e", "S3", "")]
    )
    found = {d.name: [r.code for r in checks.check_identity(d, disks)] for d in disks}
    assert found == {
        "a": ["duplicate-identity"],
        "b": ["duplicate-identity"],
        "c": ["no-identity"],
        "d": ["duplicate-identity"],
        "e": ["duplicate-identity"],
    }


names = st.text("ab", max_size=2)


@given(st.lists(st.tuples(names, names), max_size=6))
def test_ids_are_never_shared_and_every_disk_without_one_is_refused(pairs):
    disks = hardware.with_ids([make(f"sd{i}", serial, wwid) for i, (serial, wwid) in enumerate(pairs)])
    assert len({d.id for d in disks}) == len(disks)
    for disk in disks:
        refused = bool(list(checks.check_identity(disk, disks)))
        assert refused == disk.id.startswith("?")


@given(st.text(max_size=20), st.text(max_size=20))
def test_hostile_names_are_harmless_in_reasons(text, other):
    census = replace(
        EMPTY,
        mounts=(Mount(dev(1), text, other, text, f"pid 1 ({other})"),),
        openers={dev(1): (Opener(1, text),)},
        arrays=(Array(text, other, text, {"sda": other}),),
    ) if other.strip() else EMPTY  # fmt: skip
    for check in CHECKS.values():
        for found in check("sda", census):
            for shown in (found.message, found.remedy):
                assert clean(shown, 10_000) == shown


def test_every_code_is_explained_and_every_remedy_given():
    assert set(REASONS) >= CONTENT
    assert set(SUPERSEDED).union(*SUPERSEDED.values()) <= set(REASONS)
    for code, refusal in REASONS.items():
        assert refusal.code == code
        assert all((refusal.title, refusal.why, refusal.way_out)), code
        assert reason(code, "x").remedy
    with pytest.raises(ValueError, match="unknown reason code"):
        reason("no-such-code", "x")


def test_a_disk_that_does_not_answer_is_not_waited_for():
    forever = threading.Event()

    def hang() -> Probe:
        forever.wait()
        return Probe()

    began = time.monotonic()
    answers = probe_all({("sda", 1): hang, ("sdb", 2): Probe}, deadline_s=0.3)
    again = probe_all({("sda", 1): hang}, deadline_s=30)
    assert time.monotonic() - began < 25  # nor is the second deadline waited for
    assert answers == {("sda", 1): None, ("sdb", 2): Probe()}
    assert again == {("sda", 1): None}
    assert [r.code for r in probe_reasons("sda", None, in_use=False)] == ["no-answer"]
    forever.set()


def test_a_probe_that_fails_is_unchecked_and_not_free():
    def broken() -> Probe:
        raise RuntimeError("no such ioctl")

    [answer] = probe_all({("sdx", 9): broken}).values()
    assert [r.code for r in probe_reasons("sdx", answer, in_use=False)] == ["unchecked"]


@pytest.mark.parametrize(
    ("transport", "opens", "says"),
    [
        ("nvme", False, "could not check that it can be opened: No such device"),
        ("sas", False, "could not check that it can be opened: No such device"),
        ("sas", True, "could not check reservations: Input/output error"),
        ("nvme", True, ""),
    ],
)
def test_what_could_not_be_asked_of_a_disk_is_named(
    transport: str, opens: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(fd: int) -> Any:
        raise OSError("Input/output error")

    def opened(_: Node) -> int:
        if not opens:
            raise OSError("No such device")
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(probe, "read_content", lambda *_, **__: Content(fill="zeroes", regions=67))
    monkeypatch.setattr(probe, "open_node", opened)
    monkeypatch.setattr(probe.ioctl, "scsi_reservation_keys", asked)
    monkeypatch.setattr(probe.ioctl, "nvme_health", asked)  # it may have no SMART log
    disk = msgspec.structs.replace(make("sda", "S1", "w1"), transport=transport)
    answer = probe.probe_disk(disk, [node("sda", 1)], exclusively=False)
    assert [r.message for r in probe_reasons("sda", answer, in_use=False)] == ([says] if says else [])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """`scan` on a made-up server of four blank disks."""
    state: dict[str, Any] = {"root": True, "answer": Probe(exclusive="free")}
    disks = tuple(
        msgspec.structs.replace(make(n, f"S{n}", f"w{n}"), diskseq=i) for i, n in enumerate(("sda", "sdb", "sdc", "sdd"))
    )
    state["census"] = replace(
        EMPTY, blocks=Blocks([node("sda", 1), node("sdd", 5), node("sdb", 2), node("sdc", 4)]), disks=disks
    )
    state["answer"] = Probe(Content(fill="zeroes", regions=67), "free")
    module = importlib.import_module("raidtui.inventory.scan")
    monkeypatch.setattr(module, "take_census", lambda ours: state["census"])
    monkeypatch.setattr(module, "is_root", lambda: state["root"])
    monkeypatch.setattr(probe, "probe_disk", lambda disk, nodes, **_: state["answer"])
    return state


def found_codes(**kwargs: Any) -> dict[str, list[str]]:
    return {disk.name: [r.code for r in disk.reasons] for disk in scan(**kwargs)}


def test_blank_disks_are_free(server):
    assert found_codes() == {"sda": [], "sdb": [], "sdc": [], "sdd": []}


def test_without_root_nothing_is_free_and_one_reason_says_why(server):
    server["root"] = False
    assert set(map(tuple, found_codes().values())) == {("not-root",)}


def test_a_source_that_failed_leaves_every_disk_unchecked(server):
    server["census"] = replace(server["census"], failures={"ZFS pools": "no answer within 10 s"})
    assert set(map(tuple, found_codes().values())) == {("unchecked",)}


def test_a_check_that_crashes_refuses(server, monkeypatch):
    def crash(disk: str, census: Census) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(CHECKS, "md", crash)
    assert found_codes()["sda"] == ["unchecked"]


def test_a_disk_that_a_run_holds_names_the_run_and_is_left_alone(server):
    server["answer"] = Probe(errors={"the disk": "must not be asked"})
    found = scan(held={"Ssda": "r1", "wsdb": "r1", "wsdc": "r1", "wsdd": "r1"})
    assert {r.message for d in found for r in d.reasons} == {"held by run r1"}


def test_a_run_is_not_refused_its_own_disks(server):
    assert found_codes(held={"wsda": "r1"}, mine=Ownership("r1"))["sda"] == []
    assert found_codes(held={"wsda": "r1"}, mine=Ownership("r2"))["sda"] == ["held"]


def test_busy_is_told_only_where_nothing_explains_it(server):
    server["answer"] = server["answer"]._replace(exclusive="busy")
    assert found_codes()["sda"] == ["busy"]
    server["census"] = replace(server["census"], mounts=(Mount(dev(1), "/srv", "xfs", "/dev/sda"),))
    assert found_codes()["sda"] == ["mounted"]


def test_a_reason_gives_way_to_a_better_one_for_the_same_device_only(server):
    content = Content(
        (Signature("ext4", usage="filesystem", where="sdb1"), Signature("xfs", usage="filesystem", where="sdb2"))
    )
    server["answer"] = Probe(content, "busy")
    server["census"] = replace(
        server["census"],
        blocks=Blocks([node("sdb", 2), node("sdb1", 3, "sdb"), *(node(f"sd{n}", 10 + i) for i, n in enumerate("acd"))]),
        mounts=(Mount(dev(3), "/srv", "ext4", "/dev/sdb1"),),
    )
    [found] = scan_of("sdb")
    assert [(r.code, r.message[-4:]) for r in found.reasons if r.code in ("mounted", "filesystem")] == [
        ("mounted", "db1)"),
        ("filesystem", "sdb2"),
    ]


def test_partitions_that_only_the_kernel_knows_are_dropped_and_not_deleted(server):
    blocks = Blocks([node("sdb", 2), node("sdb1", 3, "sdb"), *(node(f"sd{n}", 10 + i) for i, n in enumerate("acd"))])
    server["census"] = replace(server["census"], blocks=blocks)
    [found] = scan_of("sdb")
    assert [r.remedy for r in found.reasons] == ["if nobody needs them: partx -d /dev/sdb"]
    server["answer"] = Probe(Content((Signature("gpt", usage="partitions", where="sdb"),)), "free")
    [found] = scan_of("sdb")
    assert "sfdisk --delete /dev/sdb" in [r.remedy.rpartition(": ")[2] for r in found.reasons]


def scan_of(name: str) -> list[Disk]:
    return [disk for disk in scan() if disk.name == name]


def test_only_the_disks_asked_for_are_examined(server):
    assert [e.disk.name for e in examine(only={"Ssdb"})] == ["sdb"]
