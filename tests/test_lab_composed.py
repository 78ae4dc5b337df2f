"""Layouts composed by hand are built, read back, measured and taken away again, and leave blank disks and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from composed import BUILDS, roles, scenario
from lab_harness import start_lab
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(5400)]

AT_ONCE = 7
"""Layouts of one replay: one that leaves something behind takes no more than these with it."""
NAMES = list(BUILDS)
GROUPS = [tuple(NAMES[first : first + AT_ONCE]) for first in range(0, len(NAMES), AT_ONCE)]
LEFT = (
    "ls -d /sys/block/md* /sys/block/bcache* /sys/fs/bcache/*-* 2>/dev/null;"
    " dmsetup info -c --noheadings -o name 2>/dev/null | grep -v '^No devices';"
    " zpool list -H -o name 2>/dev/null; ls /run/raidtui/mnt 2>/dev/null"
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    spec = [f"1x{size >> 20}M{'' if sector == 512 else f'@{sector}'}" for size, sector in roles().values()]
    lab = start_lab("composed", ",".join(spec))
    try:
        yield lab
    finally:
        lab.down()


def replay(lab: Lab, names: tuple[str, ...], folder: Path) -> tuple[dict[str, Any], str]:
    """What came of a rehearsal of these layouts, and what was said."""
    given = scenario(names, BUILDS)
    serials = {role: serial for role, serial in zip(roles(), lab.serials, strict=True) if role in given["roles"]}
    path, out = folder / "composed.json", folder / "composed.result.json"
    path.write_text(json.dumps(given))
    bound = [word for role, serial in serials.items() for word in ("--bind", f"{role}={serial}")]
    argv = [sys.executable, "-m", "raidtui", "--on", f"lab:{lab.name}", "replay", str(path), *bound, "--quick",
            "--erase", ",".join(serials.values()), "-o", str(out)]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=5000, stdin=subprocess.DEVNULL)
    return json.loads(out.read_text()) if out.exists() else {}, done.stdout + done.stderr


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_layouts_composed_by_hand_are_built_measured_and_gone(lab: Lab, names: tuple[str, ...], tmp_path: Path) -> None:
    result, said = replay(lab, names, tmp_path)
    assert result, said
    assert result["exit"] == 0, said
    built = {one["layout"]: one for one in result["layouts"]}
    cells = {one["layout"]: one for one in result["cells"]}
    for name in names:
        assert (built[name]["status"], built[name]["taken_down"]) == ("built", True), name
        assert cells[name]["valid"], (name, cells[name]["reasons"])
        assert cells[name]["summary"]["read"]["ios"] and cells[name]["summary"]["write"]["ios"], name  # noqa: PT018
        for fact in BUILDS[name].get("read_back", {}).items():
            assert any(fact in entry.items() for entry in built[name]["read_back"].values()), (name, fact)
    assert [serial for serial in lab.serials if not lab.is_zero(serial)] == []
    assert lab.run(LEFT, check=False).text == ""
