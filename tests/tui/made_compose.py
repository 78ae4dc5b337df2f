"""An engine for the tests of Compose: it describes and previews as the real one does, over disks that a file names.

As a program it stands where ssh would. COMPOSE_ENGINE names a file with a DiskList; when the file changes, the disks have
changed. Every request is appended to COMPOSE_ENGINE.log.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from made import HOSTILE, disk

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import Place
from raidtui.engine.compose.preview import preview
from raidtui.engine.compose.schema import describe
from raidtui.model.convert import decode, encode, plain
from raidtui.model.describe import Kinds, Preview, PreviewRequest
from raidtui.model.disk import Disk
from raidtui.model.protocol import PROTOCOL, DiskList
from raidtui.tui.app import RaidtuiApp
from raidtui.tui.draft import Draft

DISKS = tuple(disk(number) for number in range(1, 7))
IDS = tuple(each.id for each in DISKS)
DOCUMENT: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "write-hole",
    "title": "What closing the RAID5 write hole costs",
    "roles": {"data": {"count": 4, "where": {"transport": "nvme"}}, "journal": {"count": 1, "where": {}}},
    "layouts": {
        "raid5": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}},
        "raid5-journal": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB", "journal": "@journal"}},
        "raid10": {"md": {"level": "raid10", "on": "@data"}},
    },
    "workloads": {
        "fsync-write-4k-t1q1": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 1, "fsync": 1, "runtime": "60s"}},
        "seq-write-4m-q32": {"fio": {"rw": "write", "bs": "4MiB", "iodepth": 32, "runtime": "60s"}},
    },
    "policy": {"rounds": 2},
}
BOUND = Draft(DOCUMENT, {"data": IDS[:4], "journal": IDS[4:5]})


def known() -> Kinds:
    return describe()


def previewed(draft: Draft, disks: tuple[Disk, ...] = DISKS) -> Preview:
    request = PreviewRequest(json.dumps(draft.document), dict(draft.bind))
    return decode(Preview, plain(preview(request, disks)))


class Workshop:
    """The application beside this engine, with the disks that it is to have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "disks.json"
        self.disks(DISKS)

    def disks(self, disks: tuple[Disk, ...]) -> None:
        """These are there from now on."""
        fresh = self.file.with_suffix(".new")
        fresh.write_bytes(encode(DiskList("raidtui.disks/1", "stor1", "boot", disks)))
        fresh.replace(self.file)

    def asked(self, method: str) -> list[dict[str, Any]]:
        """Parameters of every such request."""
        log = Path(f"{self.file}.log")
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [line["params"] for line in lines if line["method"] == method]

    def app(self, draft: Draft | None = None) -> RaidtuiApp:
        env = {**os.environ, "COMPOSE_ENGINE": str(self.file)}
        there = Place("stor1", (sys.executable, __file__), env)
        app = RaidtuiApp(lambda: EngineClient(there), place="stor1", on="stor1", folder=self.folder)
        app.now = lambda: 0.0  # ages in pictures
        if draft is not None:
            app.history.draft = app.history.saved = draft
        return app


def serve() -> None:
    """Answer requests from stdin until it ends."""
    file = Path(os.environ["COMPOSE_ENGINE"])
    lock = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(message), flush=True)

    say({"type": "hello", "protocol": PROTOCOL, "version": "0.1.0", "host": "stor1", "root": True, "boot_id": "b"})
    for line in sys.stdin:
        request = json.loads(line)
        with open(f"{file}.log", "a", encoding="utf-8") as log:
            log.write(json.dumps({"method": request["method"], "params": request["params"]}) + "\n")
        number, method = request["id"], request["method"]
        if method == "watch-disks":
            threading.Thread(target=_watch, args=(file, number, say), daemon=True).start()
        elif method == "describe":
            say({"type": "result", "id": number, "result": plain(describe())})
        elif method == "preview":
            there = msgspec.json.decode(file.read_bytes(), type=DiskList).disks
            answer = preview(decode(PreviewRequest, request["params"]), there)
            say({"type": "result", "id": number, "result": plain(answer)})
        else:
            problem = {"code": "method", "message": f"no {method} here"}
            say({"type": "failure", "id": number, "problems": [problem]})


def _watch(file: Path, number: int, say: Any) -> None:
    before = b""
    while True:
        now = file.read_bytes()
        if now != before:
            say({"type": "event", "id": number, "event": json.loads(now)})
            before = now
        time.sleep(0.03)


__all__ = ["BOUND", "DISKS", "DOCUMENT", "HOSTILE", "IDS", "Workshop", "disk", "known", "previewed"]

if __name__ == "__main__":
    serve()
