"""Encryption and checksums on a real kernel: built, measured and taken away above and below other layers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_kills import in_thirds, killed_at
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

PAIR = ["@a", "@b"]
RAID5 = {"md": {"level": "raid5", "chunk": "64KiB", "on": [*PAIR, "@c"]}}
NO_QUEUES = {"no_read_workqueue": True, "no_write_workqueue": True, "discards": True}
SHORT: dict[str, Any] = {
    "luks": {"luks": {"on": "@a", "sector_size": "4KiB", **NO_QUEUES}},
    "luks-over-md": {"luks": {"on": RAID5}},
    "md-over-luks": {"md": {"level": "raid1", "on": [{"luks": {"on": "@a"}}, {"luks": {"on": "@b", "key_size": 256}}]}},
    "lvm-over-integrity": {"lvm": {"type": "linear", "on": {"integrity": {"on": "@a", "sector_size": "4KiB"}}}},
}
CIPHERS = ("aes-cbc-essiv:sha256", "serpent-xts-plain64", "twofish-xts-plain64", "camellia-xts-plain64",
           "xchacha20,aes-adiantum-plain64")  # fmt: skip
LONG: dict[str, Any] = {
    **{f"cipher-{number}": {"luks": {"on": "@a", "cipher": cipher}} for number, cipher in enumerate(CIPHERS)},
    **{f"tag-{tag}": {"integrity": {"on": "@a", "tag": tag}} for tag in ("crc32", "xxhash64", "sha1", "sha256")},
    **{f"mode-{mode}": {"integrity": {"on": "@a", "mode": mode}} for mode in ("bitmap", "direct")},
    "integrity-over-md": {"integrity": {"on": {"md": {"level": "raid0", "on": PAIR}}}},
    "md-over-integrity": {"md": {"level": "raid1", "on": [{"integrity": {"on": disk}} for disk in PAIR]}},
    "luks-over-integrity": {"luks": {"on": {"integrity": {"on": "@a", "sector_size": "4KiB"}}}},
    "integrity-over-luks": {"integrity": {"on": {"luks": {"on": "@a"}}}},
    "xfs-over-luks": {"filesystem": {"type": "ext4", "on": {"luks": {"on": "@a"}}}},
    "bcache-over-luks": {"bcache": {"on": {"luks": {"on": "@a"}}, "cache": "@b", "bucket": "64KiB"}},
}
WORKLOAD = {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "2s"}}}
_HEADERS = "luks.create:call=luks.open,luks.create:after,luks.close:after"
_HALF_WRITTEN = "integrity.create:leaves=temporary-,integrity.create:sees=temporary-,integrity.create:call=integrity.open"
LEFT = "dmsetup info -c --noheadings -o name 2>/dev/null | grep -v '^No devices'; ls -d /sys/block/md* 2>/dev/null"


def scenario(layouts: dict[str, Any]) -> dict[str, Any]:
    roles = {name: {"count": 1} for name in sorted(set(re.findall(r'"@(\w+)"', json.dumps(layouts))))}
    return {"schema": "raidtui.scenario/1", "name": "luks", "roles": roles, "layouts": layouts, "workloads": WORKLOAD}


def bound(lab: Lab, layouts: dict[str, Any]) -> dict[str, list[str]]:
    return {role: [serial] for role, serial in zip(scenario(layouts)["roles"], lab.serials, strict=False)}


def words(lab: Lab, layouts: dict[str, Any], folder: Path) -> list[str]:
    path = folder / "luks.json"
    path.write_text(json.dumps(scenario(layouts)))
    given = bound(lab, layouts)
    binds = [word for role, (serial,) in given.items() for word in ("--bind", f"{role}={serial}")]
    erase = ",".join(serial for (serial,) in given.values())
    return ["replay", str(path), *binds, "--quick", "--erase", erase, "-o", str(folder / "luks.result.json")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("luks", "3x256M")
    try:
        yield lab
    finally:
        lab.down()


def judge_replay(lab: Lab, layouts: dict[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    """Replay, with every layout built as asked, measured, gone, and every disk blank. Return what was read back."""
    done = raidtui(lab, *words(lab, layouts, folder), timeout_s=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((folder / "luks.result.json").read_text())
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(layouts)
    assert lab.run(LEFT, check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials), "the key slots are gone as well"
    return {one["layout"]: next(iter(one["read_back"].values())) for one in result["layouts"]}


def test_layouts_are_built_measured_and_gone(lab: Lab, tmp_path: Path) -> None:
    found = judge_replay(lab, SHORT, tmp_path)
    assert found["luks"]["flags"] == ["allow_discards", "no_read_workqueue", "no_write_workqueue"]
    assert found["luks"]["sector_bytes"] == 4096
    assert found["luks"]["key_bits"] == 512
    assert found["lvm-over-integrity"]["mode"] == "journal"


@pytest.mark.slow
def test_every_cipher_tag_and_mode_is_built_measured_and_gone(lab: Lab, tmp_path: Path) -> None:
    found = judge_replay(lab, LONG, tmp_path)
    assert [found[f"cipher-{number}"]["cipher"] for number in range(len(CIPHERS))] == list(CIPHERS)
    assert found["mode-bitmap"]["mode"] == "bitmap"


CANDIDATES = r"""
cd /var/lib/raidtui/runs/$(ls /var/lib/raidtui/runs | tail -1)
builder=$(pgrep -f 'raidtui.* builder( .*)?$' | head -1)
grep 'core file size' /proc/$builder/limits
{ cat plan.json journal.jsonl result.json *.log work/* 2>/dev/null; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; dmesg;
  journalctl --no-pager 2>/dev/null; dmsetup table --showkeys; } | tr '\0' '\n' | grep -aoE '[0-9a-f]{64}' | sort -u
"""
"""Every text in files, logs and arguments that has the form of the key."""


def test_the_key_is_in_no_file_argument_or_log(lab: Lab, tmp_path: Path) -> None:
    process, _ = start_and_await(lab, "luks.verify", *words(lab, {"luks": SHORT["luks"]}, tmp_path))
    lab.wait_for("dmsetup table 2>/dev/null | grep -q crypt", 60)
    limits, *candidates = lab.run(CANDIDATES).text.splitlines()
    assert limits.split()[4:6] == ["0", "0"], "no core dump"
    assert candidates, "the digest of the plan has this form, too"
    path = f"/dev/{lab.kernel_name(lab.serials[0])}"
    for candidate in candidates:
        test = f"cryptsetup open --test-passphrase --key-file - {path}"
        assert lab.run(test, check=False, input_bytes=candidate.encode()).code == 2, candidate
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, out + error


def test_kills_with_a_header_without_mapping(lab: Lab) -> None:
    encrypted = {"luks": SHORT["luks"]}
    killed_at(lab, scenario(encrypted), bound(lab, encrypted), _HEADERS)


def test_kills_with_a_half_written_integrity_device(lab: Lab) -> None:
    checked = {"integrity": {"integrity": {"on": "@a"}}}
    killed_at(lab, scenario(checked), bound(lab, checked), _HALF_WRITTEN)


@in_thirds
def test_every_kill_is_undone(lab: Lab, part: str) -> None:
    layouts = {"stack": {"md": {"level": "raid1", "on": [{"luks": {"on": "@a"}}, {"integrity": {"on": "@b"}}]}}}
    killed_at(lab, scenario(layouts), bound(lab, layouts), f"every:{part}")
