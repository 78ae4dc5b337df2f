"""Encryption and checksums on a real kernel: built, measured and taken away above and below other layers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab_harness import start_lab
from lab_kills import in_thirds, killed_at
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

PAIR = ["@a", "@b"]
ENCRYPTED = [{"luks": {"on": "@a"}}, {"luks": {"on": "@b", "key_size": 256}}]
RAID5 = {"md": {"level": "raid5", "chunk": "64KiB", "on": [*ENCRYPTED, "@c"]}}
NO_QUEUES = {"no_read_workqueue": True, "no_write_workqueue": True, "discards": True}
SHORT: dict[str, Any] = {
    "luks": {"luks": {"on": "@a", "sector_size": "4KiB", **NO_QUEUES}},
    "luks-over-md-over-luks": {"luks": {"on": RAID5}},
    "lvm-over-integrity": {"lvm": {"type": "linear", "on": {"integrity": {"on": "@a", "sector_size": "4KiB"}}}},
}
CIPHERS = ("aes-cbc-essiv:sha256", "serpent-xts-plain64", "twofish-xts-plain64", "camellia-xts-plain64",
           "xchacha20,aes-adiantum-plain64")  # fmt: skip
LONG: dict[str, Any] = {
    **{f"cipher-{number}": {"luks": {"on": "@a", "cipher": cipher}} for number, cipher in enumerate(CIPHERS)},
    **{f"tag-{tag}": {"integrity": {"on": "@a", "tag": tag}} for tag in ("crc32", "xxhash64", "sha1", "sha256")},
    **{f"mode-{mode}": {"integrity": {"on": "@a", "mode": mode}} for mode in ("bitmap", "direct")},
    "luks-over-md": {"luks": {"on": {"md": {"level": "raid5", "chunk": "64KiB", "on": [*PAIR, "@c"]}}}},
    "md-over-luks": {"md": {"level": "raid1", "on": ENCRYPTED}},
    "integrity-over-md": {"integrity": {"on": {"md": {"level": "raid0", "on": PAIR}}}},
    "md-over-integrity": {"md": {"level": "raid1", "on": [{"integrity": {"on": disk}} for disk in PAIR]}},
    "luks-over-integrity": {"luks": {"on": {"integrity": {"on": "@a", "sector_size": "4KiB"}}}},
    "integrity-over-luks": {"integrity": {"on": {"luks": {"on": "@a"}}}},
    "ext4-over-luks": {"filesystem": {"type": "ext4", "on": {"luks": {"on": "@a"}}}},
    "bcache-over-luks": {"bcache": {"on": {"luks": {"on": "@a"}}, "cache": "@b", "bucket": "64KiB"}},
}
WORKLOAD = {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "2s"}}}
_HEADERS = "luks.create:call=luks.open,luks.create:after,luks.close:after"
_HALF_WRITTEN = "integrity.create:leaves=temporary-,integrity.create:call=integrity.open"
CALLS = {
    "luks": {"create": ["bd_crypto_luks_format", "bd_crypto_luks_set_uuid", "bd_crypto_luks_open"],
             "close": ["bd_crypto_luks_close"]},
    "integrity": {"create": ["bd_crypto_integrity_format", "bd_crypto_integrity_open"], "close": ["bd_crypto_luks_close"]},
}  # fmt: skip
"""Library calls of each layer's steps, without those for options."""
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
    """Return what was read back of a replay with every layout built as asked, measured, gone, and every disk blank."""
    result = json.loads((folder / "luks.result.json").read_text())
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(layouts)
    assert lab.run(LEFT, check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials), "the key slots are gone as well"
    return {one["layout"]: next(iter(one["read_back"].values())) for one in result["layouts"]}


CANDIDATES = r"""
cd /var/lib/raidtui/runs/$(ls /var/lib/raidtui/runs | tail -1)
builder=$(pgrep -f 'raidtui.* builder( .*)?$' | head -1)
grep 'core file size' /proc/$builder/limits
{ cat plan.json journal.jsonl result.json *.log work/* 2>/dev/null; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; dmesg;
  journalctl --no-pager 2>/dev/null; dmsetup table --showkeys; } | tr '\0' '\n' | grep -aoE '[0-9a-f]{64}' | sort -u
"""
"""Every text in files, logs and arguments that has the form of the key."""
TRIED = """
while read -r text
do printf %s "$text" | cryptsetup open --test-passphrase --key-file - /dev/{disk} 2> /dev/null; echo $text $?
done
"""



class Seen(NamedTuple):
    """Records of one replay of the short layouts."""

    lab: Lab
    folder: Path
    """Folder of the result file."""
    run: str
    """Folder of the run in the guest."""
    limits: str
    """The builder's limit of core dumps."""
    keys: dict[str, int]
    """Exit codes of cryptsetup for everything that may be the key, tried while the volume is open."""


@pytest.fixture(scope="module")
def seen(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("short")
    process, run = start_and_await(lab, "luks.verify", *words(lab, SHORT, folder))
    lab.wait_for("dmsetup table 2>/dev/null | grep -q crypt", 60)
    limits, *candidates = lab.run(CANDIDATES).text.splitlines()
    disk = lab.kernel_name(lab.serials[0])
    tried = lab.run(TRIED.format(disk=disk), input_bytes="".join(f"{text}\n" for text in candidates).encode()).text
    keys = {text: int(code) for text, code in map(str.split, tried.splitlines())}
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    return Seen(lab, folder, f"/var/lib/raidtui/runs/{run}", limits, dict.fromkeys(candidates, -1) | keys)


def test_layouts_are_built_measured_and_gone(seen: Seen) -> None:
    found = judge_replay(seen.lab, SHORT, seen.folder)
    assert found["luks"]["flags"] == ["allow_discards", "no_read_workqueue", "no_write_workqueue"]
    assert found["luks"]["sector_bytes"] == 4096
    assert found["luks"]["key_bits"] == 512
    assert found["lvm-over-integrity"]["mode"] == "journal"


def test_the_key_is_in_no_file_argument_or_log(seen: Seen) -> None:
    assert seen.limits.split()[4:6] == ["0", "0"], "no core dump"
    assert seen.keys, "the digest of the plan has this form, too"
    assert set(seen.keys.values()) == {2}, seen.keys


def test_the_journal_has_the_calls_that_were_made_and_the_commands_that_do_the_same(seen: Seen) -> None:
    steps = {step["id"]: step for step in json.loads(seen.lab.run(f"cat {seen.run}/plan.json").text)["steps"]}
    lines = seen.lab.run(f"grep step-done {seen.run}/journal.jsonl").text.splitlines()
    done = [(steps[event["step"]], event) for event in (json.loads(line)["event"] for line in lines)]
    judged = [(step, event) for step, event in done if step["action"].partition(".")[0] in CALLS]
    assert len(judged) == 3 * 5, "created, verified and closed"
    for step, event in judged:
        layer, _, action = step["action"].partition(".")
        called = [argv[0] for argv in event.get("commands", ()) if argv[0] != "crypt_persistent_flags_set"]
        assert called == CALLS[layer].get(action, []), event
        if action == "create":
            assert event["facts"]["same_as"] == step["commands"], "what was shown is the same as what was done"


@pytest.mark.slow
def test_every_cipher_tag_and_mode_is_built_measured_and_gone(lab: Lab, tmp_path: Path) -> None:
    done = raidtui(lab, *words(lab, LONG, tmp_path), timeout_s=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    found = judge_replay(lab, LONG, tmp_path)
    assert [found[f"cipher-{number}"]["cipher"] for number in range(len(CIPHERS))] == list(CIPHERS)
    assert found["mode-bitmap"]["mode"] == "bitmap"


@pytest.mark.slow
def test_kills_with_a_header_without_mapping(lab: Lab) -> None:
    encrypted = {"luks": SHORT["luks"]}
    killed_at(lab, scenario(encrypted), bound(lab, encrypted), _HEADERS)


@pytest.mark.slow
def test_kills_with_a_half_written_integrity_device(lab: Lab) -> None:
    checked = {"integrity": {"integrity": {"on": "@a"}}}
    killed_at(lab, scenario(checked), bound(lab, checked), _HALF_WRITTEN)


@pytest.mark.slow
def test_kills_while_the_builder_writes_an_integrity_device(lab: Lab) -> None:
    checked = {"integrity": {"integrity": {"on": "@a"}}}
    killed_at(lab, scenario(checked), bound(lab, checked), ",".join(3 * ["integrity.create:sees=temporary-"]))


@in_thirds
def test_every_kill_is_undone(lab: Lab, part: str) -> None:
    layouts = {"stack": {"md": {"level": "raid1", "on": [{"luks": {"on": "@a"}}, {"integrity": {"on": "@b"}}]}}}
    killed_at(lab, scenario(layouts), bound(lab, layouts), f"every:{part}")
