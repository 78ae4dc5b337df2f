"""Every option of fio, and the pairs that people use, measured where nothing is wrong: not one cell is invalid.

Some minutes each. What fio reported here is kept as test data (tests/data/fio/record_cases.py): everyday tests judge that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fio_cases import CASES, OPTIONS, PAIRS, in_directory, workload
from lab_harness import start_lab
from lab_runs import raidtui
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

LAYOUTS: dict[str, dict[str, Any]] = {
    "disk": {"disk": {"on": "@data"}},
    "together": {"disk": {"on": "@data", "mode": "together"}},
    "raid5": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}},
    "zvol": {"zpool": {"vdevs": [{"stripe": "@data"}], "volume": {"size": "80%"}}},
    "xfs": {"filesystem": {"type": "xfs", "on": "@data"}},
    "ext4": {"filesystem": {"type": "ext4", "on": "@data"}},
    "dataset": {"zpool": {"vdevs": [{"stripe": "@data"}], "dataset": {}}},
}
DISKS = {"together": 2, "raid5": 3}
SINGLE = [name for cases in OPTIONS.values() for name in cases]
SYNCED = [name for name in CASES if "sync" in name]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("fio-options", "3x2G")
    try:
        yield lab
    finally:
        lab.down()


def fits(name: str, *, directory: bool) -> bool:
    """True for a case that such a target takes."""
    options = CASES[name]
    if not directory:
        return not in_directory(options)
    return not any(option.startswith("offset") for option in options) and not options.get("size", "").endswith("KiB")


def measured(lab: Lab, tmp_path: Path, layout: str, names: list[str]) -> dict[str, Any]:
    """Cells by workload."""
    scenario, out = tmp_path / "scenario.json", tmp_path / f"{layout}.result.json"
    disks = lab.serials[: DISKS.get(layout, 1)]
    scenario.write_text(json.dumps({
        "schema": "raidtui.scenario/1", "name": "fio-options", "roles": {"data": {"count": len(disks)}},
        "layouts": {layout: LAYOUTS[layout]}, "workloads": {name: {"fio": workload(CASES[name])} for name in names},
        "policy": {"initial_sync": "skip-if-zeroed", "order": "grouped"},
    }))  # fmt: skip
    chosen = ",".join(disks)
    consent = ["--bind", f"data={chosen}", "--erase", chosen]
    done = raidtui(lab, "replay", str(scenario), *consent, "-o", str(out), timeout_s=1500)
    assert out.exists(), done.stdout + done.stderr
    cells = {cell["workload"]: cell for cell in json.loads(out.read_text())["cells"]}
    assert sorted(cells) == sorted(names), done.stdout + done.stderr
    return cells


def invalid(cells: dict[str, Any]) -> dict[str, list[str]]:
    return {name: [mark["sentence"] for mark in cell.get("marks", ())] for name, cell in cells.items() if not cell["valid"]}


@pytest.mark.parametrize("names", [SINGLE, list(PAIRS)], ids=["options", "pairs"])
def test_no_option_makes_a_cell_of_a_disk_invalid(lab: Lab, tmp_path: Path, names: list[str]) -> None:
    cells = measured(lab, tmp_path, "disk", [name for name in names if fits(name, directory=False)])
    assert invalid(cells) == {}
    for name, cell in cells.items():
        if CASES[name].get("fsync") or CASES[name].get("fdatasync"):
            timed = "mean_us" in cell["summary"]["sync"].get("latency", {})
            assert timed == ("--ioengine=libaio" not in cell["command"]), name


@pytest.mark.parametrize("layout", ["together", "raid5", "zvol"])
def test_no_sync_makes_a_cell_of_a_device_invalid(lab: Lab, tmp_path: Path, layout: str) -> None:
    assert invalid(measured(lab, tmp_path, layout, [name for name in SYNCED if fits(name, directory=False)])) == {}


@pytest.mark.parametrize("layout", ["xfs", "ext4", "dataset"])
def test_no_option_makes_a_cell_of_files_invalid(lab: Lab, tmp_path: Path, layout: str) -> None:
    names = CASES if layout == "xfs" else [name for name in CASES if name in SYNCED or in_directory(CASES[name])]
    assert invalid(measured(lab, tmp_path, layout, [name for name in names if fits(name, directory=True)])) == {}
