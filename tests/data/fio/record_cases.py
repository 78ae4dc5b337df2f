"""Record what fio reports of every workload of `tests/fio_cases.py`: one file per version of fio.

`python record_cases.py FOLDER` runs them with this machine's fio on files in FOLDER; `python record_cases.py RESULT…` takes
the reports of results that tests/test_lab_fio_options.py leaves. Histograms and means of samples are left out.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import fio_cases
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio.engine import FioEngine

LEFT_OUT = {"bins", "iops_samples", "bw_samples", "job options", "global options", "disk_util"}
FOLDER = Path(__file__).parent


def lean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: lean(one) for key, one in value.items() if key not in LEFT_OUT}
    return [lean(one) for one in value] if isinstance(value, list) else value


def of_results(paths: list[Path]) -> Iterator[tuple[str, Any]]:
    for path in paths:
        for cell in json.loads(path.read_bytes())["cells"]:
            yield cell["workload"], cell["report"]


def of_files(folder: Path) -> Iterator[tuple[str, Any]]:
    engine, disk = FioEngine(block_only=False), folder / "disk"
    disk.write_bytes(b"")
    os.truncate(disk, fio_cases.TARGET_BYTES)
    for name, options in fio_cases.CASES.items():
        spec, kind = fio_cases.spec_of(options), fio_cases.target_of(options).kind
        with tempfile.TemporaryDirectory(dir=folder) as files, tempfile.TemporaryDirectory(dir=folder) as work:
            fd = os.open(files, os.O_RDONLY) if kind == "directory" else os.open(disk, os.O_RDWR)
            target = Target((TargetDevice(fd, name, fio_cases.TARGET_BYTES),), kind)
            around: dict[str, Any] = {"folder": Path(work), "live": lambda sample: None, "stop": threading.Event()}
            if engine.reads(spec):
                engine.prefill(spec, target, **around)
            yield name, json.loads(bytes(engine.run(spec, target, **around).raw or b"null"))
            os.close(fd)


def main(paths: list[Path]) -> None:
    found = dict(of_files(paths[0]) if paths[0].is_dir() else of_results(paths))
    version = next(iter(found.values()))["fio version"].removeprefix("fio-")
    data = json.dumps(lean(found), separators=(",", ":"), sort_keys=True).encode()
    (FOLDER / version / "cases.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
