"""Layouts for disks that are only described: the engine's own planner judges them, in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from raidtui.engine.compose.preview import preview
from raidtui.front.design.adapt import adapted, scenario_in
from raidtui.front.design.assumptions import ASSUMED, assumed
from raidtui.front.design.designed import Asked, Design, design
from raidtui.front.design.guide import PURPOSES, Answers, asked_for, guided
from raidtui.front.files import document
from raidtui.model.disk_text import imaginary_disks, parse_disks, recording_of
from raidtui.model.problem import ProblemError

LARGE = "12x20TB hdd at 350 EUR, 3x3.2TB nvme at 400 EUR"


class Here:
    """An engine in this process, with the described disks."""

    def __init__(self, text: str) -> None:
        self.groups = parse_disks(text)
        self.disks = imaginary_disks(self.groups)

    def call(self, _: str, request: Any, __: Any) -> Any:
        return preview(request, [disk for group in self.disks for disk in group])


def designed(text: str, *assume: str) -> Design:
    here = Here(text)
    return design(here, asked_for(here.groups, here.disks, assumed(assume)))  # type: ignore[arg-type]


def by_name(found: Design) -> dict[str, Any]:
    return {one.name: one for one in found.layouts}


@pytest.mark.parametrize(("text", "words"), [
    ("12x20TB", "COUNTxSIZE KIND"), ("12x20TB tape", "no kind of disk"), ("0x20TB hdd", "no disks"), ("", "no disks"),
    ("2x20XB hdd", "not a size"), ("2x1TB hdd at 3 EUR, 2x1TB ssd at 3 USD", "EUR and USD"), ("2000x1TB hdd", "more than"),
])  # fmt: skip
def test_what_describes_no_disks_is_refused(text: str, words: str) -> None:
    with pytest.raises(ProblemError) as refused:
        parse_disks(text)
    assert refused.value.problems[0].code == "disk-text"
    assert words in refused.value.problems[0].message


def test_disks_are_described_by_count_size_kind_sectors_and_price() -> None:
    hdd, ssd = parse_disks("12 x 20tb HDD 4Kn at 350€, 2x960GB ssd")
    assert (hdd.quantity, hdd.size.bytes, hdd.kind, hdd.native) == (12, 20 * 10**12, "hdd", True)
    assert (hdd.price, hdd.currency) == (350, "EUR")
    assert (ssd.quantity, ssd.price) == (2, None)
    disks = [disk for group in imaginary_disks((hdd, ssd)) for disk in group]
    assert len({disk.id for disk in disks} | {disk.name for disk in disks}) == 28
    assert {disk.logical_sector_bytes for disk in disks[:12]} == {4096}


def test_capacity_failures_and_costs_are_the_planners() -> None:
    found = by_name(designed(LARGE))
    raid6 = found["raid6-xfs"]
    assert raid6.view.may_fail == 2
    assert 0.96 * 200e12 < raid6.view.size_bytes < 200e12, "ten of twelve disks, less what xfs keeps"
    assert raid6.price == 12 * 350
    assert raid6.price_per_tb == pytest.approx(4200 / (raid6.view.size_bytes / 1e12), abs=0.01)
    assert found["raidz2-special"].price == 12 * 350 + 3 * 400
    assert "raidz2-special" in found, "three special disks survive as much as raidz2"


def test_ceilings_follow_from_the_assumptions_and_the_cost_of_a_write() -> None:
    found = by_name(designed("12x20TB hdd", "hdd.read=100MB,hdd.write=60MB", "hdd.read_iops=100", "hdd.write_iops=100"))
    raid10, raid6 = found["raid10-xfs"].ceilings, found["raid6-xfs"].ceilings
    assert raid10.read_bytes_per_s == 12 * 100e6
    assert raid10.write_bytes_per_s == pytest.approx(12 * 60e6 / 2)
    assert raid10.write_iops == pytest.approx(12 * 100 / 2)
    assert raid6.write_iops == pytest.approx(12 * 100 / 6), "three reads and three writes for each"
    raidz2 = found["raidz2"].ceilings
    assert raidz2.read_iops == pytest.approx(12 * 100 / 10), "each read takes ten disks: the whole record is verified"


def test_assumptions_are_printed_with_their_source_and_say_what_was_changed() -> None:
    assert all(speed.source for speed in ASSUMED.values())
    changed = assumed(["hdd.read=280MB,hdd.write_iops=90"])["hdd"]
    assert (changed.read_bytes_per_s, changed.write_iops) == (280e6, 90)
    assert changed.source.endswith("given with --assume: read, write_iops")
    for word in ("hdd.read", "tape.read=1MB", "hdd.read=fast", "hdd.read_iops=0"):
        with pytest.raises(ProblemError):
            assumed([word])


def test_what_makes_no_sense_is_left_out_with_the_reason() -> None:
    left = {one.name: one.why for one in designed("12x20TB hdd").left_out}
    assert "22 hours" in left["raid5-xfs, raidz1"]
    assert "survives no failure" in left["raid0"]
    assert "raid5-xfs" in by_name(designed("4x1.92TB ssd"))


@pytest.mark.parametrize("text", ["1x2TB ssd", "2x4TB hdd", "3x4TB ssd", "7x8TB hdd, 1x1TB nvme", "13x20TB hdd, 2x1TB nvme",
                                  "24x7.68TB nvme", "36x22TB hdd 4Kn, 4x3.2TB nvme 4Kn"])  # fmt: skip
def test_every_choice_can_be_planned_or_says_why_not(text: str) -> None:
    found = designed(text)
    assert found.layouts
    assert found.seconds is not None, "the scenario has a plan"
    assert all(one.why for one in (*found.layouts, *found.left_out))


def test_a_scenario_of_other_disks_is_adapted() -> None:
    here = Here("8x20TB hdd, 3x3.2TB nvme")
    fitting = adapted(scenario_in(document("hdd-pool-with-special")), here.groups, here.disks)
    assert {role: given["count"] for role, given in fitting.scenario["roles"].items()} == {"data": 8, "fast": 3}
    asked = Asked(here.groups, here.disks, fitting.scenario, fitting.bind, {}, assumed([]), fitting.left_out)
    assert len(design(here, asked).layouts) == 5  # type: ignore[arg-type]
    without = adapted(scenario_in(document("hdd-pool-with-special")), here.groups[:1], here.disks[:1])
    assert set(without.scenario["layouts"]) == {"raidz2"}
    assert len(without.left_out) == 4


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("text", ["12x20TB hdd, 3x3.2TB nvme", "6x3.84TB nvme"])
def test_the_guide_finds_layouts_that_survive_what_was_asked(purpose: str, text: str) -> None:
    here = Here(text)
    found = guided(here, Answers(purpose, 2, here.groups, here.disks, assumed([])))  # type: ignore[arg-type]
    assert found.layouts
    assert all((one.view.may_fail or 0) >= 2 for one in found.layouts)
    assert set(found.scenario["layouts"]) == {one.name for one in found.layouts}
    assert found.seconds is not None
    assert found.notes[0].startswith(f"Purpose {purpose}: ")


def test_the_guide_says_when_nothing_survives_as_much() -> None:
    here = Here("2x20TB hdd")
    with pytest.raises(ProblemError) as refused:
        guided(here, Answers("backup", 3, here.groups, here.disks, assumed([])))  # type: ignore[arg-type]
    assert refused.value.problems[0].code == "guide-none"


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("pyudev", "gi", "blivet", "libzfs_core", "parted", "dasbus", "psutil", "rtslib_fb"):
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
import json
from raidtui.engine import server
from raidtui.engine.methods import METHODS
from raidtui.engine.simulated import serve
from raidtui.engine.simulated.disks import simulated_server
from raidtui.model.convert import plain
from raidtui.model.describe import PreviewRequest
server.use(simulated_server(sys.argv[1]))
found = METHODS["preview"].do(PreviewRequest(open(sys.argv[2]).read()), lambda: False)
print(json.dumps([[view.name, view.size_bytes] for view in found.layouts]))
"""


def test_no_storage_library_is_needed(tmp_path: Any) -> None:
    here = Here("12x20TB hdd")
    (tmp_path / "disks.json").write_bytes(msgspec.json.encode(recording_of("12", here.disks)))
    (tmp_path / "scenario.json").write_text(json.dumps(asked_for(here.groups, here.disks, assumed([])).scenario))
    words = [sys.executable, "-c", BLOCKED, str(tmp_path / "disks.json"), str(tmp_path / "scenario.json")]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert dict(json.loads(ran.stdout))["raid6-xfs"] > 190e12
