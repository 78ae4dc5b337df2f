"""Attacks of a hostile client on `raidtui engine`: a table, and random damage to valid requests."""

# ruff: noqa: E501

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

MIB = 1 << 20
MOST_RSS_MIB = 100
"""Beyond what the engine has when it answers one small request."""
SENTINEL = 4242
# A small process between: what Linux says of a child's memory begins with its parent's.
_LAUNCH = """
import json, os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(os.environ["SAID"]), json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]).encode())
"""
# Root's runs are in one place of the machine, and `recover` is a valid request: this engine has a place of its own.
_ENGINE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import raidtui.base.paths as paths
folder = Path(sys.argv[2])
paths.state_folder = lambda: paths.private_folder(folder / "state")
from raidtui.engine.serve import serve
sys.exit(serve())
"""

Chunks = list[tuple[bytes, int]]


class Met(NamedTuple):
    code: int | None
    err: str
    replies: list[dict[str, Any]]
    """Without what stands in them, of those that are long."""
    answer_s: float | None
    """From the last byte sent to the answer to an honest request after it all; None where there was none."""
    rss_mib: float


def request(number: Any, method: Any, params: Any = None) -> bytes:
    return json.dumps({"type": "request", "id": number, "method": method, "params": params or {}}).encode() + b"\n"


def honest() -> bytes:
    return request(SENTINEL, "explain", {"code": "bug"})


def meet(chunks: Chunks, folder: Path, *, patience_s: float = 120.0) -> Met:
    """Send it all and then one honest request; read until that is answered, end the conversation."""
    said_read, said_write = os.pipe()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"),
           "XDG_CACHE_HOME": str(folder / "cache"), "SAID": str(said_write), "LC_ALL": "C.UTF-8"}  # fmt: skip
    source = Path(__file__).parents[2] / "src"
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, sys.executable, "-c", _ENGINE, str(source), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, env=env, pass_fds=[said_write],
            start_new_session=True,
        )  # fmt: skip
        os.close(said_write)
        watchdog = threading.Timer(patience_s, os.killpg, (child.pid, signal.SIGKILL))
        watchdog.start()
        assert child.stdin
        assert child.stdout
        sent_at: list[float] = []

        def send() -> None:
            try:
                for data, times in [*chunks, (honest(), 1)]:
                    for _ in range(times):
                        child.stdin.write(data)
                child.stdin.flush()
            except OSError:
                pass
            sent_at.append(time.monotonic())

        sender = threading.Thread(target=send)
        sender.start()
        replies, answer_s = [], None
        for line in child.stdout:
            reply = json.loads(line)
            if reply["type"] == "result" and reply["id"] == SENTINEL:
                sender.join()
                answer_s = time.monotonic() - sent_at[0]
                with contextlib.suppress(OSError):
                    child.stdin.close()
                continue
            replies.append(reply if len(line) < 4096 else {"type": reply["type"], "id": reply.get("id")})
        sender.join()
        with contextlib.suppress(OSError):
            child.stdin.close()
        child.wait()
        watchdog.cancel()
        text = os.read(said_read, 100)
        os.close(said_read)
        code, rss_kib = json.loads(text) if text else (None, 0)
        err.seek(0)
        return Met(code, err.read().decode("utf-8", "backslashreplace"), replies, answer_s, rss_kib / 1024)


def faults(met: Met, base_mib: float) -> list[str]:
    """List the faults of an engine that met a hostile client."""
    found = []
    if met.code != 0:
        found.append(f"exit code {met.code}")
    if "Traceback" in met.err or "Exception" in met.err:
        found.append(f"a traceback: {met.err[-600:]}")
    if met.answer_s is None or met.answer_s > 10:
        found.append(f"an honest request was answered after {met.answer_s} s")
    if met.rss_mib > base_mib + MOST_RSS_MIB:
        found.append(f"{met.rss_mib:.0f} MiB of memory, {base_mib:.0f} of them for nothing")
    codes = {problem["code"] for reply in met.replies for problem in reply.get("problems", ())}
    if "bug" in codes:
        found.append(f"a bug: {next(r for r in met.replies if 'bug' in str(r))}")
    return found


SCENARIO = {
    "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 2}},
    "layouts": {"raid1": {"md": {"level": "raid1", "on": "@data"}}},
    "workloads": {"w": {"fio": {"rw": "write", "bs": "1MiB", "iodepth": 8, "runtime": "60s"}}},
}  # fmt: skip
PLAN = {"document": json.dumps(SCENARIO), "bind": {"data": ["S1", "S2"]}}
START = {"plan": PLAN, "digest": "1f3a" * 16, "token": "abcd1234", "erase": ["S1", "S2"]}
RUNS = ["../..", "/etc", "/", ".", "", "\x00", "x" * 4096, "20260131-120000-abcd123\n", "20260131-120000-../../..", "%2e%2e",
        "20260131-120000-abcd1234"]  # fmt: skip


def one(number: Any, method: Any, params: Any = None) -> Chunks:
    return [(request(number, method, params), 1)]


def many(requests: Iterable[bytes]) -> Chunks:
    return [(b"".join(requests), 1)]


def _document(text: bytes, times: int, before: bytes = b"", after: bytes = b"") -> Chunks:
    head = b'{"type":"request","id":1,"method":"plan","params":{"document":"'
    return [(head + before, 1), (text, times), (after + b'"}}\n', 1)]


def table() -> dict[str, Chunks]:
    """Every attack that somebody thought of."""
    return {
        "not JSON": [(b"hello\n", 1)],
        "empty lines": [(b"\n", 1000)],
        "bad UTF-8": [(b'{"type":"request","id":1,"method":"\xff\xfe","params":{}}\n', 1)],
        "bad UTF-8 in params": [(b'{"type":"request","id":1,"method":"explain","params":{"code":"\xff"}}\n', 1)],
        "surrogate": [(b'{"type":"request","id":1,"method":"explain","params":{"code":"\\ud800"}}\n', 1)],
        "nested 10 000 deep": [(b'{"type":"request","id":1,"method":"plan","params":{"document":' + b"[" * 10_000 + b"]" * 10_000 + b"}}\n", 1)],
        "nested 900 deep": [(b'{"type":"request","id":1,"method":"plan","params":{"document":' + b"[" * 900 + b"]" * 900 + b"}}\n", 1)],
        "deep document": _document(b"[", 100_000),
        "1 GB line": [(b"x" * MIB, 1024), (b"\n", 1)],
        "1 GB request": [(b'{"type":"request","id":1,"method":"plan","params":{"document":"', 1), (b"x" * MIB, 1024), (b'"}}\n', 1)],
        "unknown method": one(1, "erase-everything"),
        "method of 1 MB": one(1, "x" * MIB),
        "method is a number": one(1, 5),
        "no id": [(b'{"type":"request","method":"disks"}\n', 1)],
        "negative id": one(-1, "disks"),
        "id 10**40": one(10**40, "explain"),
        "id is a text": one("1", "explain"),
        "the same id": many(request(7, "runs") for _ in range(20)),
        "params is a list": one(1, "plan", [1]),
        "params of wrong types": many(request(n, m, {"run": 5, "document": [], "code": {}, "of": None}) for n, m in enumerate(["plan", "follow", "result", "cancel", "recover", "explain", "schema", "start", "preview"], 1)),
        "unknown params": one(1, "disks", {"force": True}),
        "10**30": one(1, "follow", {"run": "", "after": 10**30}),
        "negative after": one(1, "follow", {"run": RUNS[-1], "after": -(10**15)}),
        "run ids": many(request(n, method, {"run": run}) for n, (run, method) in enumerate(((r, m) for r in RUNS for m in ("follow", "result", "cancel", "recover") if r or m != "recover"), 1)),
        "forged consent": one(1, "start", START),
        "digests": many(request(n, "start", {**START, "digest": digest}) for n, digest in enumerate(["", "0" * 64, "x" * MIB, "\x00"], 1)),
        "tokens": many(request(n, "start", {**START, "token": token}) for n, token in enumerate(["", "../../..", "/tmp/x", "a b", "\x00", "x" * 4096, "ABCDEFGH"], 1)),
        "a document of lists": _document(b"[],", 300_000, b"[", b"1]"),
        "a large document of lists": _document(b"[],", 2_500_000, b"[", b"1]"),
        "a large document of objects": _document(b"{},", 2_500_000, b"[", b"1]"),
        "a large result": _document(b"[],", 2_500_000, b'{\\"schema\\":\\"raidtui.result/1\\",\\"cells\\":[', b"1]}"),
        "a document of wide characters": [(b'{"type":"request","id":1,"method":"plan","params":{"document":"' + "\U0001f600".encode(), 1), (b"x", 7 * MIB), (b'"}}\n', 1)],
        "eight such documents": [(b"".join(request(n, "plan", {"document": "[" + "[]," * 300_000 + "1]"}) for n in range(1, 9)), 1)],
        "many values": [(b'{"type":"request","id":1,"method":"plan","params":{"document":[', 1), (b"[],", 2_500_000), (b"1]}}\n", 1)],
        "a thousand at once": many(request(n, "explain", {"code": "bug"}) for n in range(1, 1001)),
        "a thousand that last": many(request(n, "watch-disks") for n in range(1, 1001)),
        "hello": [(b'{"type":"hello","protocol":1}\n', 1)],
        "duplicate keys": [(b'{"type":"request","id":1,"id":2,"method":"explain","method":"runs","params":{}}\n', 1)],
        "preview of nothing": one(1, "preview", {"document": "x" * 1000}),
    }  # fmt: skip


def valid(number: int) -> list[bytes]:
    return [request(number, "disks"), request(number, "runs"), request(number, "doctor"), request(number, "explain", {"code": "bug"}),
            request(number, "schema", {"of": "scenario"}), request(number, "plan", PLAN), request(number, "start", START),
            request(number, "follow", {"run": RUNS[-1], "after": 0}), request(number, "cancel", {"run": RUNS[-1]}),
            request(number, "recover", {"run": RUNS[-1], "without": ["S1"]}), request(number, "result", {"run": ""}),
            request(number, "preview", {"document": json.dumps(SCENARIO)}), request(number, "describe")]  # fmt: skip


_VALUES = ("null", "true", "-1", "0", "1e300", "9" * 30, '""', '"../../.."', '"\\u0000"', '"' + "x" * 10_000 + '"', "[]", "{}",
           "[" * 100 + "]" * 100, '"\\ud800"', "NaN", '"\xff"', '"x"', '["a"]', "5", '{"a":1}', "false", "[[],[]]", '[{"a":[]}]', '"80%"', '"64KiB"', "1", "2", "3.5", '"@data"', '["S1","S1"]')  # fmt: skip


def damaged(seed: int) -> bytes:
    """A valid request with one to three random changes, always the same ones for a seed."""
    pick = random.Random(seed)
    text = pick.choice(valid(seed + 1)).decode()
    for _ in range(pick.choice((1, 1, 2, 3))):
        at = pick.randrange(len(text))
        how = pick.choice((0, 1, 2, *[3] * 12))  # what is no JSON never gets far
        if how == 0:
            text = text[:at] + chr(pick.randrange(256)) + text[at + 1 :]
        elif how == 1:
            text = text[:at] + text[at + pick.randrange(1, 40) :]
        elif how == 2:
            text = text[:at] + "".join(chr(pick.randrange(256)) for _ in range(pick.randrange(1, 30))) + text[at:]
        else:
            try:
                message = json.loads(text)
                part = message["params"] if pick.random() < 0.8 else message
                holder, key = pick.choice(list(_places(part)) or list(_places(message)))
            except (ValueError, IndexError, KeyError, TypeError):
                continue
            holder[key] = "@@@"
            text = json.dumps(message).replace('"@@@"', pick.choice(_VALUES))
    return text.rstrip("\n").encode("latin-1", "replace") + b"\n"


def _places(value: Any) -> Iterable[tuple[Any, Any]]:
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    for key, item in items:
        yield value, key
        yield from _places(item)
