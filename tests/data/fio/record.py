"""Record what the fio of this machine reports: `python record.py FOLDER` writes one file per case, talk included.

Rates are limited, so that histograms and files stay small.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from raidtui.load.fio.command import command
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode

SIZE_BYTES = 16 << 20
SLOW = {"bs": "4KiB", "rate_iops": 150, "runtime": "2s"}
CASES = {
    "mix-two-devices": (2, 0.0, {**SLOW, "rw": "randrw", "iodepth": 4, "numjobs": 2}),
    "ramp-fsync": (1, 0.0, {**SLOW, "rw": "randwrite", "ramp_time": "2s", "fsync": 4}),
    "once-through": (1, 0.0, {"rw": "write", "bs": "1MiB", "iodepth": 8, "time_based": False, "runtime": "60s"}),
    "terminated": (1, 1.5, {**SLOW, "rw": "read", "runtime": "20s"}),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for name, (devices, end_after_s, options) in CASES.items():
            paths = []
            for number in range(devices):
                path = Path(scratch) / f"d{number}"
                path.write_bytes(bytes(SIZE_BYTES))
                paths.append(str(path))
            argv = command(decode(FioSpec, options), paths, size_bytes=SIZE_BYTES)
            before = ["timeout", "-s", "TERM", str(end_after_s)] if end_after_s else []
            (folder / f"{name}.txt").write_bytes(subprocess.run([*before, *argv], stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
