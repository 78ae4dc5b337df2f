"""Attacks of a hostile engine: a table, and random damage to a valid conversation."""

# ruff: noqa: E501

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made
from watched import Watched, watched

from raidtui.model.protocol import PROTOCOL, Check, Checkup, Recovered, RecoveredRun, RunInfo, RunList

MIB = 1 << 20
MOST_RSS_MIB = 100
HELLO = {"type": "hello", "protocol": PROTOCOL, "version": "0.1.0", "host": "stor1", "root": True, "boot_id": "b"}
ERASE = "S64GNE0R100001,S64GNE0R100002"
COMMANDS: dict[str, list[str]] = {
    "disks": ["disks"],
    "disks-json": ["disks", "--json"],
    "watch": ["disks", "--watch"],
    "runs": ["runs"],
    "runs-json": ["runs", "--json"],
    "plan": ["plan", "tiny.json"],
    "plan-json": ["plan", "tiny.json", "--json"],
    "doctor": ["doctor"],
    "schema": ["schema", "scenario"],
    "explain": ["explain", "bug"],
    "cancel": ["cancel"],
    "recover": ["recover"],
    "attach": ["attach", made.RUN],
    "attach-json": ["attach", made.RUN, "--json"],
    "replay": ["replay", "tiny.json", "--erase", ERASE],
    "show": ["show", made.RUN],
}
METHODS = {"disks-json": "disks", "watch": "watch-disks", "runs-json": "runs", "plan-json": "plan", "attach": "follow",
           "attach-json": "follow", "replay": "follow", "show": "result"}  # fmt: skip
_INFO = RunInfo(made.RUN, "tiny", "finished", "2026-01-31T12:00:00.000Z", (made.print_of(1),), 0, "done", 2, 2)


class Attack(NamedTuple):
    """One engine, and the command that meets it."""

    name: str
    command: str
    plan: dict[str, Any]
    """Script of one attack, read by `hostile_engine.py`."""


def hello(**changes: Any) -> list[Any]:
    return [line({**HELLO, **changes}), 1]


def line(message: Any) -> str:
    return json.dumps(message) + "\n"


def result(value: Any) -> list[Any]:
    return [line({"type": "result", "id": "{ID}", "result": value}).replace('"{ID}"', "{ID}"), 1]


def event(value: Any, times: int = 1) -> list[Any]:
    return [line({"type": "event", "id": "{ID}", "event": value}).replace('"{ID}"', "{ID}"), times]


def valid() -> dict[str, list[Any]]:
    """Answers of an honest engine, by method."""
    records = made.plain(made.records())
    return {
        "disks": [result(made.plain(made.disk_list()))],
        "watch-disks": [event(made.plain(made.disk_list())), result(None)],
        "runs": [result(made.plain(RunList("raidtui.runs/1", (_INFO,))))],
        "plan": [result(made.plain(made.plan()))],
        "doctor": [result(made.plain(Checkup("raidtui.doctor/1", "stor1", (Check("fio", ok=True, found="3.39"),))))],
        "schema": [result({"title": "raidtui scenario"})],
        "explain": [result({"code": "bug", "title": "a", "meaning": "b", "way_out": "c"})],
        "cancel": [result(made.plain(_INFO))],
        "recover": [result(made.plain(Recovered((RecoveredRun(made.RUN, 0, ("stopped md",)),))))],
        "start": [result({"run": made.RUN})],
        "follow": [*(event(record) for record in records), result(None)],
        "result": [result(made.plain(made.result()))],
    }


def _says(*chunks: list[Any], **more: Any) -> dict[str, Any]:
    """An engine that greets, and answers everything with these chunks."""
    return {"start": [hello()], "answers": {**valid(), "*": list(chunks)}, "end": "serve", **more}


def _answers(method: str, *chunks: list[Any]) -> dict[str, Any]:
    return {"start": [hello()], "answers": {**valid(), method: list(chunks)}, "end": "serve"}


def _raw(text: str) -> list[Any]:
    return [f'{{"type":"result","id":{{ID}},"result":{text}}}\n', 1]


def _long(unit: str, bytes_: int, before: str = "[", after: str = "]") -> list[list[Any]]:
    """An answer that repeats something up to a length; small in the file, long on the pipe."""
    times = bytes_ // len(unit)
    last = unit.rstrip(",")
    return [['{"type":"result","id":{ID},"result":' + before, 1], [unit, times], [last + after + "}\n", 1]]


_SMALL_DISK = '{"id":"","name":"","size_bytes":1,"serial":"","wwid":"","model":""},'
_SMALL_RUN = '{"run":"","scenario":"","state":"","started":"","disks":[]},'
_SMALL_CHECK = '{"name":"","ok":true,"found":""},'
_DISKS = '{"schema":"","host":"","boot_id":"","disks":['
_RUNS = '{"schema":"","runs":['
_CHECKS = '{"schema":"","host":"","checks":['
_SMALL_PROBLEM = '{"code":"","message":""},'


def _disk(**changes: Any) -> dict[str, Any]:
    found = made.plain(made.disk_list())
    found["disks"][0] |= changes
    return found


def _records(*changes: tuple[int, str, Any]) -> list[Any]:
    records = made.plain(made.records())
    for index, key, value in changes:
        records[index][key] = value
    return [*(event(record) for record in records), result(None)]


EVIL = "EVIL\x1b[31m\x1b]0;x\x07\u202e\u2066\x9b2J\x7f[/dev/sda][red]\ud83d"


def table() -> list[Attack]:
    """Every attack that somebody thought of."""
    found = [
        Attack("not JSON", "disks", _answers("disks", ["{ID} is not JSON\n", 1])),
        Attack("bad UTF-8 in a text", "disks", _answers("disks", _raw('{"schema":"\xff\xfe","host":"","boot_id":"","disks":[]}'))),
        Attack("surrogate", "disks", _answers("disks", _raw('{"schema":"\\ud800","host":"","boot_id":"","disks":[]}'))),
        Attack("NaN", "disks", _answers("disks", _raw("NaN"))),
        Attack("1e400", "plan", _answers("plan", result({**made.plain(made.plan()), "seconds": "X"}))),
        Attack("nested 10 000 deep", "schema", _answers("schema", _raw("[" * 10_000 + "]" * 10_000))),
        Attack("nested 900 deep", "schema", _answers("schema", _raw("[" * 900 + "]" * 900))),
        Attack("nested objects", "schema", _answers("schema", _raw('{"a":' * 900 + "1" + "}" * 900))),
        Attack("missing fields", "disks", _answers("disks", result({"schema": "x"}))),
        Attack("null", "disks", _answers("disks", result(None))),
        Attack("a list", "runs", _answers("runs", result([]))),
        Attack("a number", "plan", _answers("plan", result(1))),
        Attack("endless line", "disks", _answers("disks", ["x" * 1000, 1 << 20])),
        Attack("1 GB line", "disks", _answers("disks", *_long(" ", 1 << 30))),
        Attack("endless hello", "disks", {"start": [["x" * 1000, 1 << 20]], "end": "exit"}),
        Attack("endless banner", "disks", {"start": [["hello there\n", 1 << 24]], "end": "exit"}),
        Attack("long hello", "disks", {"start": [hello(host="x" * 70_000)], "end": "serve", "answers": {}}),
        Attack("hello of wrong types", "disks", {"start": [hello(protocol="1", root=3)], "end": "hang"}),
        Attack("hello without fields", "disks", {"start": [['{"type":"hello"}\n', 1]], "end": "hang"}),
        Attack("hello of another protocol", "disks", {"start": [hello(protocol=-(10**18))], "end": "hang"}),
        Attack("hello with 10**30", "disks", {"start": [hello(protocol=10**30)], "end": "hang"}),
        Attack("answer before hello", "disks", {"start": [result({})], "end": "hang"}),
        Attack("second hello", "disks", _answers("disks", hello(), *valid()["disks"])),
        Attack("flood of hellos", "disks", _answers("disks", [line(HELLO), 100_000])),
        Attack("flood on stderr", "disks", {**_says(), "stderr": [["e" * 1000, 200_000]]}),
        Attack("lines on stderr", "disks", {**_says(), "stderr": [["error \x1b[31m\x9b\n", 1_000_000]]}),
        Attack("flood of strays", "disks", _answers("disks", ['{"type":"result","id":-5,"result":1}\n', 1_000_000])),
        Attack("huge ids", "disks", _answers("disks", ['{"type":"result","id":' + "9" * 300 + ',"result":1}\n', 1], *valid()["disks"])),
        Attack("some strays", "disks", _answers("disks", ['{"type":"result","id":7777,"result":1}\n', 9], *valid()["disks"])),
        Attack("event after result", "disks", _answers("disks", *valid()["disks"], event(1, 1000))),
        Attack("events to a call", "disks", _answers("disks", event(1, 1_000_000))),
        Attack("flood of events", "watch", _answers("watch-disks", event(made.plain(made.disk_list()), 3000), result(None))),
        Attack("flood of large events", "attach", _answers("follow", *_flood_of_large(), result(None))),
        Attack("flood of cells", "attach", _answers("follow", *_flood_of_cells(), result(None))),
        Attack("unknown type", "disks", _answers("disks", ['{"type":"zzz","id":1}\n', 1])),
        Attack("duplicate keys", "disks", _answers("disks", ['{"type":"hello","type":"result","id":1,"result":1}\n', 1])),
        Attack("failure without problems", "disks", _answers("disks", ['{"type":"failure","id":{ID},"problems":[]}\n', 1])),
        Attack("failure of nobody", "disks", _answers("disks", ['{"type":"failure","id":0,"problems":[]}\n', 1])),
        Attack("failure with exit 0", "replay", _answers("plan", _failure(exit=0))),
        Attack("failure with exit 77", "disks", _answers("disks", _failure(exit=77))),
        Attack("failure with exit 10**20", "disks", _answers("disks", _failure(exit=10**20))),
        Attack("failure in colours", "disks", _answers("disks", _failure(message=EVIL, remedy=EVIL, code=EVIL, place=EVIL, exit=3))),
        Attack("many problems", "disks", _answers("disks", ['{"type":"failure","id":{ID},"problems":[', 1],
               [_SMALL_PROBLEM, 600_000], [_SMALL_PROBLEM[:-1] + "]}\n", 1])),
        Attack("a million disks", "disks", _answers("disks", *_long(_SMALL_DISK, 15 * MIB, _DISKS, "]}"))),
        Attack("a million disks as JSON", "disks-json", _answers("disks", *_long(_SMALL_DISK, 15 * MIB, _DISKS, "]}"))),
        Attack("many disks", "disks", _answers("disks", *_long(_SMALL_DISK, 3 * MIB, _DISKS, "]}"))),
        Attack("many disks as JSON", "disks-json", _answers("disks", *_long(_SMALL_DISK, 3 * MIB, _DISKS, "]}"))),
        Attack("many runs", "runs", _answers("runs", *_long(_SMALL_RUN, 3 * MIB, _RUNS, "]}"))),
        Attack("many runs as JSON", "runs-json", _answers("runs", *_long(_SMALL_RUN, 3 * MIB, _RUNS, "]}"))),
        Attack("many checks", "doctor", _answers("doctor", *_long(_SMALL_CHECK, 3 * MIB, _CHECKS, "]}"))),
        Attack("as many disks as are taken", "disks", _answers("disks", *_many(_SMALL_DISK, 9998, _DISKS))),
        Attack("as many disks, as JSON", "disks-json", _answers("disks", *_many(_SMALL_DISK, 9998, _DISKS))),
        Attack("as many runs as are taken", "runs", _answers("runs", *_many(_SMALL_RUN, 9998, _RUNS))),
        Attack("as many runs, as JSON", "runs-json", _answers("runs", *_many(_SMALL_RUN, 9998, _RUNS))),
        Attack("as many checks as are taken", "doctor", _answers("doctor", *_many(_SMALL_CHECK, 998, _CHECKS))),
        Attack("many steps", "plan", _answers("plan", *_many_steps(40_000))),
        Attack("many steps as JSON", "plan-json", _answers("plan", *_many_steps(40_000))),
        Attack("a run of many steps", "attach", _answers("follow", *_run_of_many_steps(40_000), result(None))),
        Attack("too many steps", "plan", _answers("plan", *_many_steps(160_000))),
        Attack("empty lists", "schema", _answers("schema", *_long("[],", 15 * MIB))),
        Attack("empty objects", "schema", _answers("schema", *_long("{},", MIB))),
        Attack("a long text", "schema", _answers("schema", *_long("x", 15 * MIB, '"', '"'))),
        Attack("a text of a MiB", "schema", _answers("schema", *_long("\xe3\x81\x82", MIB - 10, '"', '"'))),
        Attack("long texts", "schema", _answers("schema", *_long('"' + "\\u0007" * 100_000 + '",', 15 * MIB))),
        Attack("many numbers", "schema", _answers("schema", *_long("1234567,", 3 * MIB))),
        Attack("spaces", "schema", _answers("schema", *_long(" ", 15 * MIB, "[1", "]"))),
        Attack("records out of order", "attach", _answers("follow", *_records((5, "seq", 1)))),
        Attack("the same record", "attach", _answers("follow", event(made.plain(made.records())[0], 100_000))),
        Attack("unknown event", "attach", _answers("follow", *_records((3, "event", {"kind": "exploded"})))),
        Attack("record of the year 10**18", "attach", _answers("follow", *_records((3, "at_s", 1e18)))),
        Attack("negative time", "attach", _answers("follow", *_records((3, "at_s", -1e18)))),
        Attack("1e308", "attach", _answers("follow", *_records((3, "at_s", 1e308)))),
        Attack("run that ended with 1000", "attach", _answers("follow", event({**_last(), "seq": 1, "event": {"kind": "run-finished", "exit": 1000, "outcome": ""}}))),
        Attack("follow ends early", "attach", _answers("follow", result(None))),
        Attack("negative size", "disks", _answers("disks", result(_disk(size_bytes=-1)))),
        Attack("huge size", "disks", _answers("disks", result(_disk(size_bytes=10**30)))),
        Attack("large size", "disks", _answers("disks", result(_disk(size_bytes=10**23)))),
        Attack("no sector size", "disks", _answers("disks", result(_disk(logical_sector_bytes=0, temperature_c=1e29)))),
        Attack("result is no result", "show", _answers("result", result({}))),
        Attack("pieces without end", "show", _answers("result", ['{"type":"event","id":{ID},"event":"' + "AAAA" * 10_000 + '"}\n', 10_000])),
        Attack("pieces that are too few", "show", _answers("result", event("AAAA"), result({"schema": "", "size_bytes": 4}))),
        Attack("pieces that are no base64", "show", _answers("result", event("!"), result(None))),
        Attack("dies at once", "disks", {"end": "exit", "exit": 3}),
        Attack("dies after hello", "disks", {"start": [hello()], "end": "exit", "exit": 0}),
        Attack("torn line", "disks", {"start": [hello(), ['{"type":"res', 1]], "end": "exit"}),
        Attack("run with a path", "replay", _answers("start", result({"run": "../../etc/passwd"}))),
        Attack("plan for another disk", "replay", _answers("plan", result({**made.plain(made.plan()), "erases": ["OTHER"]}))),
    ]  # fmt: skip
    for command, method in ({name: METHODS.get(name, name) for name in COMMANDS}).items():
        found.append(Attack(f"colours in {command}", command, _answers(method, *(_evil(chunk) for chunk in valid()[method]))))
    return found


def _many(unit: str, times: int, before: str) -> list[list[Any]]:
    return _long(unit, len(unit) * times, before, "]}")


_STEP = '{"id":"","action":"","title":"","phase":"build"},'


def _steps_of(text: str, times: int) -> list[list[Any]]:
    """The message with a plan whose first step is there many times over."""
    message = json.loads(text.replace('"id": {ID}', '"id": 0'))
    plan = message["result"] if message["type"] == "result" else message["event"]["event"]["plan"]
    plan["steps"] = "@@@"
    head, tail = line(message).replace('"id": 0', '"id": {ID}').split('"@@@"')
    return [[head + "[", 1], [_STEP, times], [_STEP[:-1] + "]" + tail, 1]]


def _many_steps(times: int) -> list[list[Any]]:
    return _steps_of(valid()["plan"][0][0], times)


def _run_of_many_steps(times: int) -> list[list[Any]]:
    return _steps_of(valid()["follow"][0][0], times)


def _last() -> dict[str, Any]:
    return made.plain(made.records())[-1]


def _failure(**changes: Any) -> list[Any]:
    problem = {"code": "x", "message": "m", "exit": 2, **changes}
    return [line({"type": "failure", "id": "{ID}", "problems": [problem]}).replace('"{ID}"', "{ID}"), 1]


def _flood_of_large() -> list[list[Any]]:
    head = '{"type":"event","id":{ID},"event":{"seq":{N},"at_s":1,"wall":"","event":{"kind":"noted","text":"'
    return [[head + "x" * 1_000_000 + '"}}}\n', 200]]


def _flood_of_cells() -> list[list[Any]]:
    cell = {"id": "a", "layout": "b", "workload": "c", "round": 1, "valid": False, "reasons": ["r" * 100_000]}
    record = {"seq": "{N}", "at_s": 1.0, "wall": "", "event": {"kind": "cell-done", "cell": cell}}
    return [[event(record)[0].replace('"{N}"', "{N}"), 2000]]


def _evil(chunk: list[Any]) -> list[Any]:
    """The chunk with something that a terminal would obey in every text."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item if key in ("type", "kind", "schema") else changed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [changed(item) for item in value]
        return f"{value}\x1b[31m\x07\u202e\u2066\x9b2J[red]" if isinstance(value, str) else value

    message = json.loads(chunk[0].replace('"id": {ID}', '"id": 0'))
    return [line(changed(message)).replace('"id": 0', '"id": {ID}'), chunk[1]]


_VALUES = ("null", "true", "-1", "0", "1e29", "1e308", "-1e29", "9" * 19, "9" * 24, "9" * 30, "1.5", '""', '"\\u001b[31m\\u202e"',
           '"' + "x" * 100_000 + '"', "[]", "{}", "[[]]", "[" * 100 + "]" * 100, '"\\ud800"', "NaN", "'", '"\xff"')  # fmt: skip


def damaged(seed: int) -> Attack:
    """A valid conversation with one to three random changes, always the same ones for a seed."""
    pick = random.Random(seed)
    command = pick.choice(list(COMMANDS))
    answers = valid()
    greeting = hello()
    method = METHODS.get(command, command)
    for _ in range(pick.choice((1, 1, 1, 2, 3))):
        if pick.random() < 0.1:
            greeting = [_damage(pick, greeting[0]), 1]
            continue
        # `replay` asks for more than one thing.
        wanted = pick.choice(("plan", "start", "follow", "result")) if command in ("replay",) else method
        chunks = answers[wanted]
        at = pick.randrange(len(chunks))
        if pick.random() < 0.15:
            chunks = _reordered(pick, chunks, at)
        else:
            chunks = [*chunks[:at], [_damage(pick, chunks[at][0]), 1], *chunks[at + 1 :]]
        answers[wanted] = chunks
    return Attack(f"seed {seed}", command, {"start": [greeting], "answers": answers, "end": "serve"})


def _reordered(pick: random.Random, chunks: list[Any], at: int) -> list[Any]:
    how = pick.randrange(4)
    if how == 0:
        return [*chunks[:at], [chunks[at][0], pick.choice((2, 50))], *chunks[at + 1 :]]
    if how == 1:
        return [*chunks[:at], *chunks[at + 1 :], result(None)]
    if how == 2:
        mixed = list(chunks)
        pick.shuffle(mixed)
        return [*mixed, result(None)]
    return [*chunks[:at], [chunks[at][0].replace("{ID}", pick.choice(("0", "-1", "999", "99999999999999999999"))), 1],
            *chunks[at + 1 :], result(None)]  # fmt: skip


def _damage(pick: random.Random, text: str) -> str:
    how = pick.randrange(7)
    at = pick.randrange(len(text))
    if how == 0:  # a byte
        return text[:at] + chr(pick.randrange(256)) + text[at + 1 :]
    if how == 1:  # a piece is gone
        return text[:at] + text[at + pick.randrange(1, 40) :].rstrip("\n") + "\n"
    if how == 2:  # a piece is there twice
        return text[:at] + text[max(0, at - pick.randrange(1, 40)) :].rstrip("\n") + "\n"
    if how == 3:  # bytes in between
        return text[:at] + "".join(chr(pick.randrange(256)) for _ in range(pick.randrange(1, 30))) + text[at:]
    # another value somewhere
    try:
        message = json.loads(text.replace('"id": {ID}', '"id": 0'))
    except ValueError:  # it was damaged before
        return text[:at]
    places = list(_places(message))
    holder, key = pick.choice(places)
    if how == 4 and isinstance(holder, dict):
        del holder[key]
        made_ = line(message)
    else:
        holder[key] = "@@@"
        made_ = line(message).replace('"@@@"', pick.choice(_VALUES))
    return made_.replace('"id": 0', '"id": {ID}')


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _places(item)


def meet(attack: Attack, folder: Path, timeout_s: float = 120.0) -> Watched:
    """Run the command against the engine, as an operator would, over what stands where ssh is."""
    (folder / "bin").mkdir(exist_ok=True)
    ssh = folder / "bin" / "ssh"
    fake = Path(__file__).with_name("hostile_engine.py")
    ssh.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{fake}"\n')
    ssh.chmod(0o755)
    (folder / "engine.json").write_text(json.dumps(attack.plan))
    (folder / "tiny.json").write_text(json.dumps(made.SCENARIO))
    env = {
        **os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOSTILE_ENGINE": str(folder / "engine.json"),
        "XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1", "COLUMNS": "80",
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
    }  # fmt: skip
    argv = [sys.executable, "-m", "raidtui", "--on", "stor1", *COMMANDS[attack.command]]
    return watched(argv, env, folder, timeout_s=timeout_s)


def faults(seen: Watched, *, valid_bug: bool = False) -> list[str]:
    """List the faults of a command that met a hostile engine."""
    found = []
    said = seen.err.decode("utf-8", "backslashreplace")
    shown = seen.out.decode("utf-8", "backslashreplace") + said
    if seen.code is None:
        found.append(f"it did not end within {seen.seconds:.0f} s")
    if seen.code == 1 and not valid_bug:
        found.append("exit code 1")
    if seen.code is not None and seen.code < 0:
        found.append(f"it was ended by signal {-seen.code}")
    if "Traceback" in shown or "raidtui made a mistake" in shown or "Exception in thread" in shown:
        found.append("a traceback")
    if seen.rss_mib > MOST_RSS_MIB:
        found.append(f"{seen.rss_mib:.0f} MiB of memory")
    if bad := sorted({c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066"}):
        found.append(f"characters that a terminal obeys: {bad!r}")
    if seen.code == 2 and not said.strip():
        found.append("nothing was said")
    return found


