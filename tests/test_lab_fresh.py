"""The list of disks on a real kernel: who begins or ceases to use a disk is seen without a key and without udev."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from textual.pilot import Pilot

import lab_runs
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.lab.control import Lab
from raidtui.model.disk import Reason
from raidtui.tui.app import RaidtuiApp

pytestmark = pytest.mark.lab

PATIENCE_S = 240.0
"""A scan takes seconds on an emulated machine, and many of them when it is busy."""
USE = """\
mkdir -p /srv/fresh /srv/fresh-ns
mkfs.ext4 -qF {a}; mount {a} /srv/fresh
mkswap {b} > /dev/null; swapon {b}
losetup -f {c}
mkfs.ext4 -qF {d}
setsid unshare -m --propagation private sh -c 'mount {d} /srv/fresh-ns && exec sleep 6543' > /dev/null 2>&1 &
"""
LET_GO = """\
umount /srv/fresh; swapoff {b}; losetup -d $(losetup -nO NAME -j {c}); kill $(pgrep -xf 'sleep 6543')
"""
NOTHING = "for disk in {a} {b} {c} {d}; do wipefs -qa $disk; blkdiscard -f $disk; done; udevadm settle"


@pytest.fixture
def paths(lab: Lab) -> Iterator[dict[str, str]]:
    """Four disks by letter, as the guest calls them now. They are blank again in the end."""
    found = {letter: f"/dev/{lab.kernel_name(lab.serials[at])}" for at, letter in enumerate("abcd")}
    yield found
    lab.run(LET_GO.format(**found), 120.0, check=False)
    lab.run(NOTHING.format(**found), 120.0)


def app_at(lab: Lab, folder: Path) -> RaidtuiApp:
    there = place(f"lab:{lab.name}")
    return RaidtuiApp(lambda: EngineClient(there), place=there.name, on="lab", folder=folder)


async def until(pilot: Pilot[Any], holds: Any, what: str) -> float:
    """Wait until something is so. The seconds that it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < PATIENCE_S, f"it never came to be: {what}"
        await pilot.pause(0.1)
    took_s = time.monotonic() - began
    print(f"{what}: {took_s:.1f} s")
    return took_s


def reasons(app: RaidtuiApp, serial: str) -> tuple[Reason, ...] | None:
    """Why the disk is not free, by the list that is shown; None while it is not known."""
    return next((disk.reasons for disk in (app.disks.disks if app.disks else ()) if disk.id == serial), None)


def codes(app: RaidtuiApp, serial: str) -> set[str]:
    return {reason.code for reason in reasons(app, serial) or ()}


def points_at(app: RaidtuiApp, serial: str) -> bool:
    """Put the cursor on a disk; True once its detail is shown: the table may get its rows after the list came."""
    app.screen.query_one("DiskTable").cursor_key = serial
    return serial in detail(app)


def detail(app: RaidtuiApp) -> str:
    """What stands beside the table, as text."""
    Console(file=(out := io.StringIO()), width=100).print(app.screen.query_one("#disk-words").content)
    return out.getvalue()


def test_mounts_swap_loops_and_runs_are_seen_as_they_begin_and_end(
    lab: Lab, paths: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    a, b, c, d, e = lab.serials[:5]
    app = app_at(lab, tmp_path)
    scenario = {
        "schema": "raidtui.scenario/1", "name": "fresh", "roles": {"data": {"count": 1}},
        "layouts": {"disk": {"disk": {"on": "@data", "mode": "each"}}},
        "workloads": {"w": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "16MiB", "runtime": "3s"}}},
        "policy": {"rounds": 1, "prefill": False, "cooldown": "0s"},
    }  # fmt: skip
    (tmp_path / "fresh.json").write_text(json.dumps(scenario))
    replay = ("replay", str(tmp_path / "fresh.json"), "--quick", "--bind", f"data={e}", "--erase", e,
              "-o", str(tmp_path / "fresh.result.json"))  # fmt: skip

    async def shell(commands: str) -> None:
        await asyncio.to_thread(lab.run, commands.format(**paths), 120.0)

    async def talk(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: all(reasons(app, serial) == () for serial in (a, b, c, d, e)), "free disks")
        await until(pilot, lambda: points_at(app, a), "the cursor on the first disk")
        await shell(USE)
        await until(pilot, lambda: "mounted" in codes(app, a), "a mount")
        await until(pilot, lambda: "swap" in codes(app, b), "swap")
        await until(pilot, lambda: "loop" in codes(app, c), "a loop device")
        await until(pilot, lambda: "mounted" in codes(app, d), "a mount in another mount namespace")
        assert codes(app, a) == {"mounted"}, "what lies below a mount is no reason of its own"
        await until(pilot, lambda: "mounted on /srv/fresh" in detail(app), "its detail")
        assert "wipefs" not in detail(app)

        await shell(LET_GO)
        await until(pilot, lambda: codes(app, a) == {"filesystem"}, "an umount")
        await until(pilot, lambda: codes(app, b) == {"swap-signature"}, "a swapoff")
        await until(pilot, lambda: codes(app, c) == set(), "the end of a loop device")
        await until(pilot, lambda: codes(app, d) == {"filesystem"}, "the end of a mount namespace")
        await until(pilot, lambda: "mounted" not in detail(app), "its detail")
        await shell(NOTHING)
        await until(pilot, lambda: not any(codes(app, serial) for serial in (a, b, c, d)), "blank disks")

        run = asyncio.create_task(asyncio.to_thread(partial(lab_runs.raidtui, lab, *replay)))
        await until(pilot, lambda: "held" in codes(app, e), "a run")
        assert (done := await run).returncode == 0, done.stdout + done.stderr
        await until(pilot, lambda: reasons(app, e) == (), "the end of a run")

    async def whole() -> None:
        async with app.run_test(size=(200, 50)) as pilot:
            await talk(pilot)

    asyncio.run(whole())
