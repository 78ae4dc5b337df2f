"""What the kernel and the tools write is read as it is; what is not understood is never read as "nothing"."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.inventory import blocks, census, hardware, ioctl, mounts, stacked
from raidtui.inventory.openers import OtherNodes

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
30 27 259:7 / /srv/my\040data rw,noatime shared:5 master:2 - xfs /dev/nvme0n1p1 rw
31 27 0:44 /@home /home rw - btrfs /dev/sdb rw,space_cache=v2
32 27 0:45 / /tank rw - zfs tank/data rw
"""

words = st.text(st.characters(exclude_characters=" \n", exclude_categories=["Cs"]), min_size=1, max_size=20)


def escaped(text: str) -> str:
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\#" else c for c in text)


def test_mountinfo_gives_device_point_kind_and_source():
    found = mounts.parse_mountinfo(MOUNTINFO)
    assert found[1][:5] == mounts.Mount(os.makedev(254, 1), "/", "ext4", "/dev/vda1")[:5]
    assert found[2].point == "/srv/my data"
    assert [m.kind for m in found] == ["proc", "ext4", "xfs", "btrfs", "zfs"]


@given(
    st.tuples(st.integers(0, 4095), st.integers(0, 2**20 - 1)),
    st.text(max_size=30),
    words,
    words,
    st.lists(words, max_size=3),
)
def test_a_mount_line_that_the_kernel_could_write_is_read_back(devno, point, kind, source, optional):
    point = "/" + point.replace("\0", "").replace("\n", "")
    tags = " ".join(["rw", *(tag for tag in optional if tag != "-")])
    line = f"1 2 {devno[0]}:{devno[1]} / {escaped(point)} {tags} - {escaped(kind)} {escaped(source)} rw\n"
    [mount] = mounts.parse_mountinfo(line)
    assert (mount.point, mount.kind, mount.source) == (point, kind, source)
    assert mount.devno == (None if devno == (0, 0) else os.makedev(*devno))


@given(st.text(max_size=200))
def test_any_text_is_mounts_or_an_error_but_never_silently_nothing(text):
    try:
        found = mounts.parse_mountinfo(text)
    except ValueError:
        return
    assert len(found) == len([line for line in text.split("\n") if line.strip()])


def test_a_line_cut_short_is_an_error():
    with pytest.raises(ValueError, match="not a mountinfo line"):
        mounts.parse_mountinfo("30 27 259:7 / /srv rw")


def test_swaps_are_partitions_and_files():
    text = (
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        "/dev/nvme0n1p3                          partition\t8388604\t\t0\t\t-2\n"
        "/srv/swap\\040file                      file\t\t1024\t\t0\t\t-3\n"
        "/srv/old\\040(deleted)                  file\t\t1024\t\t0\t\t-4\n"
    )
    assert mounts.parse_swaps(text) == (
        mounts.Swap("/dev/nvme0n1p3", "partition"),
        mounts.Swap("/srv/swap file", "file"),
        mounts.Swap("/srv/old", "file"),
    )


@given(st.text(max_size=200))
def test_any_text_is_swaps_or_an_error(text):
    try:
        found = mounts.parse_swaps("header\n" + text)
    except ValueError:
        return
    assert len(found) == len([line for line in text.split("\n") if line.strip()])


@given(st.integers(0, 4095), st.integers(0, 2**20 - 1))
def test_device_numbers_are_read_back(major, minor):
    expected = None if major == minor == 0 else os.makedev(major, minor)
    assert blocks.parse_devno(f"{major}:{minor}\n") == expected


@given(st.text(max_size=30))
def test_no_text_breaks_the_small_parsers(text):
    blocks.parse_devno(text)
    hardware.parse_link_speed(text)
    hardware.parse_link_width(text)
    hardware.chosen(text)
    census.boot_options(text)
    stacked.parse_multipath_wwids(text)
    stacked.parse_status(text)


@pytest.mark.parametrize(
    ("text", "speed"), [("8.0 GT/s PCIe", 8.0), ("2.5 GT/s", 2.5), ("32.0 GT/s PCIe", 32.0), ("Unknown", None), ("", None)]
)
def test_link_speeds(text, speed):
    assert hardware.parse_link_speed(text) == speed


@pytest.mark.parametrize(("text", "width"), [("4", 4), ("16", 16), ("0", None), ("255", None), ("Unknown", None)])
def test_link_widths(text, width):
    assert hardware.parse_link_width(text) == width


def test_the_scheduler_is_the_one_in_brackets():
    assert hardware.chosen("none [mq-deadline] kyber") == "mq-deadline"
    assert hardware.chosen("none") == "none"


def test_vpd_page_80_holds_the_serial_number():
    assert hardware.parse_vpd_serial(b"\0\x80\0\x0aABC 123   ") == "ABC 123"


@given(st.binary(max_size=64))
def test_no_bytes_break_the_readers_of_hardware_pages(page):
    hardware.parse_vpd_serial(page)
    ioctl.parse_smart_log(page)
    ioctl.parse_reservation_keys(page)


def test_smart_log_gives_celsius_and_percent():
    log = bytes([0, *(273 + 41).to_bytes(2, "little"), 100, 10, 7]) + bytes(506)
    assert ioctl.parse_smart_log(log) == (41.0, 7.0)
    assert ioctl.parse_smart_log(bytes(512)) == (None, None)


def test_a_controller_without_a_thermometer_has_no_temperature(tmp_path: Path) -> None:
    sensor = tmp_path / "temp1_input"
    for text, expected in (("-273150\n", None), ("41850\n", 41.85), ("", None)):
        sensor.write_text(text)
        assert hardware.read_celsius(sensor) == expected


def test_a_smart_log_says_whether_and_how_long_it_was_too_hot():
    log = bytearray(512)
    log[1:3] = (314).to_bytes(2, "little")
    assert ioctl.parse_heat(bytes(log)) == (False, 0, 0)
    log[0] = 0b10
    log[192:196], log[196:200] = (2).to_bytes(4, "little"), (1).to_bytes(4, "little")
    log[224:228], log[228:232] = (30).to_bytes(4, "little"), (5).to_bytes(4, "little")
    assert ioctl.parse_heat(bytes(log)) == (True, 35, 3)
    assert ioctl.parse_heat(bytes(512)) is None
    assert ioctl.parse_heat(bytes(log[:64])) is None


def test_pvs_names_groups_and_lone_volumes():
    report = b"""{"report":[{"pv":[{"pv_name":"/dev/sdb","vg_name":"vg0","pv_uuid":"a-b"},
                 {"pv_name":"/dev/sdc1","vg_name":"","pv_uuid":"c-d"}]}],"log":[]}"""
    in_group, alone = stacked.Volume("/dev/sdb", "vg0", "a-b"), stacked.Volume("/dev/sdc1", "", "c-d")
    assert stacked.parse_volumes(report) == (in_group, alone)


@given(st.binary(max_size=100))
def test_any_answer_of_pvs_is_a_report_or_an_error(answer):
    with pytest.raises(ValueError):  # noqa: PT011
        stacked.parse_volumes(answer)


def test_the_group_is_the_first_part_of_a_device_mapper_name():
    assert stacked.lvm_group("vg0-lv0") == "vg0"
    assert stacked.lvm_group("vg--a-lv--b_rimage_0") == "vg-a"


STATUS = """  pool: tank
 state: ONLINE
  scan: scrub repaired 0B in 00:00:01 with 0 errors on Sun Nov  1 00:24:02 2026
config:

\tNAME                STATE     READ WRITE CKSUM
\ttank                ONLINE       0     0     0
\t  raidz1-0          ONLINE       0     0     0
\t    /dev/nvme0n1p1  ONLINE       0     0     0
\t    /dev/nvme1n1p1  ONLINE       0     0     0
\tlogs
\t  /dev/nvme2n1p1    ONLINE       0     0     0
\tcache
\t  /dev/nvme3n1p1    ONLINE       0     0     0
\tspares
\t  /dev/nvme4n1p1    AVAIL

errors: No known data errors

  pool: other
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\tother       ONLINE       0     0     0
\t  /dev/sdc  ONLINE       0     0     0
"""


def test_zpool_status_gives_every_device_of_every_pool():
    assert stacked.parse_status(STATUS) == (
        stacked.Pool("tank", tuple(f"/dev/nvme{i}n1p1" for i in range(5))),
        stacked.Pool("other", ("/dev/sdc",)),
    )


def test_multipath_wwids_stand_between_slashes():
    assert stacked.parse_multipath_wwids("# Multipath wwids\n/35000c5001234/\n\n") == {"35000c5001234"}


def test_boot_options_that_name_devices():
    line = "BOOT_IMAGE=/vmlinuz root=UUID=abc ro resume=/dev/sda2 quiet console=ttyS0"
    assert census.boot_options(line) == {"root": "UUID=abc", "resume": "/dev/sda2"}


def test_backstores_say_their_file_or_their_number():
    fileio = """Status: DEACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 16384
        TCM FILEIO ID: 0        File: /dev/my disk  Size: 1073741824  Mode: O_DSYNC Async: 0
"""
    iblock = """        iBlock device: sdd  UDEV PATH: /dev/sdd  readonly: 0
        Major: 8 Minor: 48  CLAIMED: IBLOCK
"""
    assert stacked.parse_backstore(fileio) == ("/dev/my disk", ())
    assert stacked.parse_backstore(iblock) == ("", (os.makedev(8, 48),))
    assert stacked.parse_backstore("") == ("", ())


def test_targets_are_read_from_configfs_enabled_or_not(tmp_path):
    config = tmp_path / "kernel/config"
    files = {
        "target/core/fileio_0/a/info": "ID: 0        File: /dev/sda  Size: 1  Mode",
        "target/core/fileio_0/a/enable": "1",
        "target/core/iblock_0/b/info": "Major: 8 Minor: 16  CLAIMED: IBLOCK",
        "target/core/pscsi_0/c/udev_path": "/dev/sdc\n",
        "target/core/rd_mcp_0/d/info": "RAMDISK",
        "nvmet/subsystems/s/namespaces/1/device_path": "/dev/sdd\n",
        "nvmet/subsystems/s/namespaces/1/enable": "0\n",
        "nvmet/subsystems/s/namespaces/2/device_path": "(null)\n",
        "nvmet/subsystems/t/passthru/device_path": "/dev/nvme3\n",
        "nvmet/subsystems/t/passthru/enable": "1\n",
        "usb_gadget/g/functions/mass_storage.0/lun.0/file": "/dev/sde\n",
        "../scst_tgt/devices/v/filename": "/dev/sdf\n[key]\n",
    }
    for name, text in files.items():
        (config / name).parent.mkdir(parents=True, exist_ok=True)
        (config / name).write_text(text)
    assert stacked.read_shares(OtherNodes(names={"nvme3": (9,)}), tmp_path) == (
        stacked.Share("LIO backstore a", "/dev/sda", (), active=True),
        stacked.Share("LIO backstore b", "", (os.makedev(8, 16),)),
        stacked.Share("LIO backstore c", "/dev/sdc"),
        stacked.Share("NVMe-oF namespace of s", "/dev/sdd"),
        stacked.Share("NVMe-oF controller of t", "/dev/nvme3", (9,)),
        stacked.Share("USB gadget g", "/dev/sde", (), active=True),
        stacked.Share("SCST device v", "/dev/sdf", (), active=True),
    )
