"""Every command with --json is run, on a simulated server where it needs one; what it prints fits its published schema.

`RAIDTUI_WRITE_GOLDEN=1 pytest tests/cli/test_schemas.py` writes the list of all keys anew. Scripts rely on these keys: they
may be added to; none may go or get another name.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from raidtui.cli.main import COMMANDS, parser_for
from raidtui.cli.schemas import FILES, PRINTED, printed_schema
from raidtui.engine.simulated.disks import RECORDED_DISKS
from raidtui.lab.disks import DiskSpec, LabDisk
from raidtui.lab.state import LabFiles, LabState
from raidtui.model.convert import plain
from raidtui.model.free import FREE_SCHEMA, Freed
from raidtui.model.recording import read_recording

KEYS = Path(__file__).with_name("golden") / "schema-keys.txt"
NVME = ",".join([disk.id for disk in read_recording(RECORDED_DISKS).disks if disk.transport == "nvme"][:3])
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "simulated",
    "roles": {"data": {"count": 3}},
    "layouts": {"raid5": {"md": {"level": "raid5", "on": "@data"}}, "raid0": {"md": {"level": "raid0", "on": "@data"}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 32, "runtime": "20s"}}},
    "policy": {"ranking": {}, "rounds": 2},
}
CONTRADICTION = "layout,workload,iops,MB/s\nraid5,4k randread,1000,400\nraid0,4k randread,1000,4.1\n"


class Printer:
    """Runs commands, and keeps the documents that they print by the name of their schema."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents: dict[str, list[Any]] = {}

    def run(self, name: str, *words: str, lines: bool = False) -> Any:
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder), "NO_COLOR": "1"}
        argv = [sys.executable, "-m", "raidtui", *words, "--json"]
        out = subprocess.run(argv, cwd=self.folder, env=env, stdout=subprocess.PIPE, check=False, timeout=300).stdout
        found = [json.loads(line) for line in out.splitlines()] if lines else [json.loads(out)]
        self.documents.setdefault(name, []).extend(found)
        return found[0]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("printed")
    (folder / "sim.json").write_text(json.dumps(SCENARIO))
    (folder / "bad.csv").write_text(CONTRADICTION)
    _lab(folder)
    made = Printer(folder)
    on = ("--on", "sim")
    bound = ("sim.json", "--bind", f"data={NVME}")
    made.run("disks", *on, "disks")
    made.run("hosts", *on, "disks", "--host", "clients=root@c1,root@c2")
    made.run("clusters", *on, "disks", "--clusters")
    made.run("smart", *on, "disks", "--smart", NVME.partition(",")[0])
    _freed(made)
    made.run("doctor", *on, "doctor")
    made.run("design", "design", "4x1TB hdd at 9 EUR, 2x1TB nvme at 9 EUR")
    made.run("guide", "guide", "--for", "files", "--survive", "2", "--disks", "6x1TB hdd")
    made.run("plan", *on, "plan", *bound)
    made.run("plan", *on, "plan", *bound, "--layout", "raid0", "--as", "bash")
    made.run("preview", *on, "preview", *bound)
    made.run("preview", *on, "preview", "quick")
    made.run("problems", *on, "plan", "quick")
    made.run("replay-consent", *on, "replay", *bound)
    made.run("replay", *on, "replay", *bound, "--quick", "--erase", NVME, "-o", "one.json", lines=True)
    made.run("attach", *on, "attach", lines=True)
    made.run("build", *on, "build", *bound, "--layout", "raid0", "--erase", NVME, lines=True)
    run = made.run("replay-started", *on, "replay", *bound, "--erase", NVME, "--detach")["run"]
    made.run("cancel", *on, "cancel", run)
    made.run("attach", *on, "attach", run, lines=True)
    _interrupted_run(made, *on, "replay", *bound, "--erase", NVME, "--detach")
    made.run("runs", *on, "runs")
    made.run("recover", *on, "recover")
    made.run("show", "show", "one.json")
    made.run("compare", "compare", "one.json")
    made.run("compare", "compare", "one.json", "one.json")
    made.run("results", "results")
    made.run("results", "results", "--in", str(folder))
    made.run("lint", "lint", "bad.csv")
    made.run("lint", "lint", "one.json", "bad.csv")
    _many_servers(made)
    made.run("explain", *on, "explain")
    made.run("explain", *on, "explain", "consent")
    made.run("kinds", *on, "kinds")
    made.run("kinds", *on, "kinds", "md")
    made.run("scenarios", "scenarios")
    made.run("schema", "schema")
    made.run("lab", "lab", "status")
    return made.documents


def _freed(made: Printer) -> None:
    """Show a disk that can be freed; a simulated one is never erased."""
    disks = json.loads(RECORDED_DISKS.read_text())
    left = next(disk for disk in disks["disks"] if disk["id"] == NVME.partition(",")[0])
    left["reasons"] = [{"code": "md-superblock", "message": "md superblock", "remedy": "mdadm --zero-superblock"}]
    (made.folder / "left.json").write_text(json.dumps(disks))
    made.run("free", "--on", "sim:left.json", "free", left["id"])
    made.documents["freed"] = [plain(Freed(FREE_SCHEMA, left["id"], "discard", 1.0, "/var/lib/raidtui/freed/1"))]


def _many_servers(made: Printer) -> None:
    on, bind, erase = "sim:a,sim:b,sim:few.json", [], []
    (made.folder / "few.json").write_text(RECORDED_DISKS.read_text().replace('"transport": "nvme"', '"transport": "sas"'))
    for name in "ab":
        disks = ",".join(f"{one}-{name}" for one in NVME.split(","))
        bind += ["--bind", f"sim:{name}:data={disks}"]
        erase += ["--erase", f"sim:{name}:{disks}"]
    words = ("--on", on, "replay", "sim.json", *bind, "--quick", "-o", "many")
    made.documents["fleet-consent"] = [_last(made, *words)]
    made.documents["fleet"] = [_last(made, *words, *erase)]
    made.run("compare-servers", "compare", "--servers", *(str(path) for path in (made.folder / "many").iterdir()))


def _last(made: Printer, *words: str) -> Any:
    made.run("line", *words, lines=True)
    return made.documents.pop("line")[-1]


def _lab(folder: Path) -> None:
    """Leave a lab that is stopped."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(folder))
        files = LabFiles("default")
    files.folder.mkdir(parents=True)
    files.save(LabState("default", "image", "kvm", 2222, [LabDisk("RTLAB-1", DiskSpec(8 << 30), 1)], [], 0.0))


def _interrupted_run(made: Printer, *words: str) -> None:
    run = made.run("replay-started", *words)["run"]
    os.kill(int(next(made.folder.rglob(f"{run}/runner.lock")).read_text()), signal.SIGKILL)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if made.run("runs", "--on", "sim", "runs")["runs"][-1]["state"] == "interrupted":
            return
        time.sleep(0.1)
    pytest.fail("the killed run is not shown as interrupted")


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(json.dumps(printed_schema(name)))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_command_with_json_has_a_schema() -> None:
    names = [name for name in COMMANDS if name != "lab" and "--json" in _help(name)]
    assert "compare" in names
    assert set(names) <= {*PRINTED}


def _help(name: str) -> str:
    parser = parser_for([name])
    (commands,) = (action for action in parser._actions if action.dest == "command")
    return str(dict(commands.choices or {})[name].format_help())  # type: ignore[call-overload]


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_fits_its_schema(name: str, printed: dict[str, list[Any]]) -> None:
    check = validator(name)
    assert printed[name]
    for document in printed[name]:
        check.validate(document)


@pytest.mark.parametrize("name", PRINTED)
def test_a_key_that_is_renamed_or_gone_does_not_fit(name: str, printed: dict[str, list[Any]]) -> None:
    check = validator(name)
    definitions = check.schema["$defs"]
    assert all(one["additionalProperties"] is False for one in definitions.values() if "properties" in one)
    document = printed[name][0]
    first = document[0] if isinstance(document, list) else document
    root = next(one for one in definitions.values() if set(first) <= set(one.get("properties", ())))
    for key in first:
        with pytest.raises(jsonschema.ValidationError):
            check.validate(_without(document, key, renamed=f"{key}_"))
        if key in root["required"]:
            with pytest.raises(jsonschema.ValidationError):
                check.validate(_without(document, key))


def _without(document: Any, key: str, renamed: str = "") -> Any:
    """A copy in which a key is renamed or gone: of the document, or of the first one of a list."""
    made = copy.deepcopy(document)
    first = made[0] if isinstance(made, list) else made
    value = first.pop(key)
    if renamed:
        first[renamed] = value
    return made


def test_no_key_goes_or_gets_another_name() -> None:
    where: dict[str, list[str]] = {}
    for name in PRINTED:
        for key in _keys(printed_schema(name)["$defs"]):
            where.setdefault(key, []).append(name)
    found = "".join(f"{key}  ({' '.join(names)})\n" for key, names in sorted(where.items()))
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        KEYS.write_text(found, encoding="utf-8")
    assert found == KEYS.read_text(encoding="utf-8")


def _keys(definitions: dict[str, Any]) -> Iterator[str]:
    """Yield `Definition.key`, with a star where the key is always there."""
    for title, definition in definitions.items():
        for key in definition.get("properties", ()):
            yield f"{title}.{key}{'*' * (key in definition.get('required', ()))}"
        for number, item in enumerate(definition.get("prefixItems", ())):
            yield f"{title}[{number}] {item.get('type', '')}"


def test_schema_lists_all_and_prints_each(capsys: pytest.CaptureFixture[str]) -> None:
    from raidtui.cli.main import main

    assert main(["schema"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert listed == [*FILES, *PRINTED]
    assert main(["schema", "lint"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(printed_schema("lint")))
