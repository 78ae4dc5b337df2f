"""A command that is run under watch: its exit code, what it wrote, its time and the most memory that it had."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

# A small process between: what Linux says of a child's memory begins with its parent's.
_LAUNCH = """
import json, os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_maxrss], file)
"""


class Watched(NamedTuple):
    code: int | None
    """None where it did not end in time."""
    out: bytes
    err: bytes
    seconds: float
    rss_mib: float


def watched(argv: list[str], env: dict[str, str], cwd: Path, *, stdin: bytes = b"", timeout_s: float = 120.0) -> Watched:
    """Run it to its end; what lasts longer than `timeout_s` is ended with everything that it started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.NamedTemporaryFile() as said:
        began = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, said.name, *argv],
            stdin=subprocess.PIPE, stdout=out, stderr=err, env=env, cwd=cwd, start_new_session=True,
        )  # fmt: skip
        try:
            child.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        seconds = time.monotonic() - began
        text = Path(said.name).read_text()
        code, rss_kib = json.loads(text) if text else (None, 0)
        out.seek(0)
        err.seek(0)
        return Watched(code, out.read(1 << 26), err.read(1 << 26), seconds, rss_kib / 1024)
