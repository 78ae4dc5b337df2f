"""`kinds` and `preview`: what Compose shows, from the command line.

`RAIDTUI_WRITE_GOLDEN=1 pytest tests/cli/test_composing_commands.py` writes the pages anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import made
import msgspec
import pytest

from raidtui.cli import scenarios
from raidtui.cli.plan import preview_lines
from raidtui.cli.screen import console
from raidtui.engine.compose.preview import preview
from raidtui.model.describe import Field, Kind, Kinds, Preset, Preview, PreviewRequest

if TYPE_CHECKING:
    from conftest import Engine

FOLDER = Path(__file__).with_name("golden")
LEVEL = Field("level", "choice", "raid0 stripes, raid1 mirrors.", required=True, choices=("raid0", "raid1"))
CHUNK = Field("chunk", "size", "How much of one member follows in a row.", examples=("64KiB", "1MiB"))
WHERE = Field("where", "object", "What each must be like.", default={}, fields=(Field("model", "text", "Of the model."),))
DEPTH = Field("iodepth", "integer", "Operations that each job keeps in flight.", default=1, least=1, most=4096)
SHARE = Field("rwmixread", "integer", made.HOSTILE, least=0, most=100, unit="%")
KINDS = Kinds(
    "raidtui.kinds/1",
    (Kind("md", "md array", "Linux software RAID (md(4)).", (LEVEL, CHUNK, WHERE), "block"),),
    (Kind("fio", "fio workload", "The flexible I/O tester.", (DEPTH, SHARE)),),
    Kind("role", "role", "Disks by a name.", (WHERE,)),
    Kind("host", "host", "Hosts by a name.", ()),
    Kind("policy", "policy", "How it is run.", ()),
    (Preset("seq-write", "T1Q32 4M sequential write", "fio", {"rw": "write", "bs": "4MiB"}),),
)
SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "t",
    "roles": {"data": {"count": 3}},
    "layouts": {"raid5": {"md": {"level": "raid5", "on": "@data"}}, "raid9": {"md": {"level": "raid9", "on": "@data"}}},
    "workloads": {"small": {"fio": {"rw": "randwrite", "bs": "4KiB", "runtime": "60s"}}},
}


def seen(**changes: Any) -> Preview:
    disks = [made.disk(number) for number in (1, 2, 3)]
    found = preview(PreviewRequest(json.dumps({**SCENARIO, **changes})), disks)
    # Where fio is installed is this machine's own affair.
    few = tuple(msgspec.structs.replace(view, command=("fio", "--rw=randwrite")) for view in found.workloads)
    return msgspec.structs.replace(found, workloads=few)


def _print(lines: Any) -> None:
    print("\n".join(lines))


PAGES: dict[str, Callable[[], None]] = {
    "kinds": lambda: scenarios.show(KINDS, console(width=80)),
    "kinds-md": lambda: scenarios.show_kind(*scenarios.chosen(KINDS, "md"), console(width=80)),
    "kinds-fio": lambda: scenarios.show_kind(*scenarios.chosen(KINDS, "fio"), console(width=80)),
    "preview": lambda: _print(preview_lines(seen(layouts={"raid5": SCENARIO["layouts"]["raid5"]}))),
    "preview-unfinished": lambda: _print(preview_lines(seen())),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_it_was(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    PAGES[page]()
    found = capsys.readouterr().out
    golden = FOLDER / f"{page}.80.txt"
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def test_kinds_as_json_are_what_the_engine_said(engine: Engine) -> None:
    engine.answers(describe={"result": KINDS})
    assert msgspec.json.decode(engine.run("kinds", "--json").out, type=Kinds) == KINDS
    assert msgspec.json.decode(engine.run("kinds", "md", "--json").out, type=Kind) == KINDS.layers[0]


def test_an_unknown_kind_is_refused_and_the_known_ones_are_named(engine: Engine) -> None:
    engine.answers(describe={"result": KINDS})
    said = engine.run("kinds", "raid")
    assert said.code == 2
    assert "Known: md, fio, role, host, policy" in said.err


def test_a_preview_asks_for_the_scenario_as_it_is_and_the_disks_that_were_named(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps(SCENARIO))
    engine.answers(preview={"result": seen()})
    said = engine.run("preview", str(file), "--bind", "data=A,B", "--json")
    assert said.requests[-1]["params"]["bind"] == {"data": ["A", "B"]}
    assert json.loads(said.requests[-1]["params"]["document"]) == SCENARIO
    assert msgspec.json.decode(said.out, type=Preview) == seen()
    assert said.code == 2


def test_a_preview_without_problems_exits_with_0(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps(SCENARIO))
    engine.answers(preview={"result": seen(layouts={"raid5": SCENARIO["layouts"]["raid5"]})})
    assert engine.run("preview", str(file)).code == 0
