"""Pages that people and scripts know by heart, byte for byte, at two widths.

`RAIDTUI_WRITE_GOLDEN=1 pytest tests/cli/test_golden.py` writes them anew; look at the difference before committing it.
"""

import os
from pathlib import Path

import made
import pytest

from raidtui.cli import report, runs, server
from raidtui.cli.plan import plan_lines
from raidtui.cli.screen import console
from raidtui.model.protocol import Check, Checkup, RunInfo, RunList
from raidtui.results.compare import compare

FOLDER = Path(__file__).with_name("golden")

CHECKUP = Checkup(
    "raidtui.doctor/1",
    "stor1",
    (
        Check("fio", True, "3.39", "every measurement"),
        Check("mdadm", True, "4.4 (2024-11-07)", "md arrays"),
        Check("zpool", False, "not installed", "zpool layouts", "apt-get install zfsutils-linux"),
        Check("iozone", True, "not found: fio does the same", "workloads of kind iozone", "apt", optional=True),
    ),
    can_build=("disk", "md", "lvm (without VDO)"),
    cannot_build=("zpool", "bcache"),
)
RUNS = RunList(
    "raidtui.runs/1",
    (
        RunInfo(made.RUN, "tiny", "finished", "2026-01-31T12:00:00Z", (), 0, "done", 2, 2),
        RunInfo("20260131-130000-zzzz1234", "md-local", "running", "2026-01-31T13:00:00Z", (), cells_done=7, cells=78),
    ),
)
REHEARSAL = made.result(rehearsal=True, complete=False)
PAGES = {
    "disks": lambda out: server.show_disks(made.disk_list(), out),
    "doctor": lambda out: server.show_checkup(CHECKUP, out),
    "plan": lambda out: [print(line, file=out.file) for line in plan_lines(made.plan())],
    "runs": lambda out: runs.show(RUNS, out),
    "show": lambda out: report.show_result(made.result(), compare(made.result()), out),
    "rehearsal": lambda out: report.show_result(REHEARSAL, compare(REHEARSAL, "raid1"), out),
}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_it_was(page, width, capsys):
    PAGES[page](console(width=width))
    found = capsys.readouterr().out
    golden = FOLDER / f"{page}.{width}.txt"
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
