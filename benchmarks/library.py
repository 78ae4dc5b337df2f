"""A library of 10 000 results: the first scan beside a plain JSON reader's, then search and comparison from the index.

    python benchmarks/library.py [NUMBER]

Results are made from a real one; every file is different. Memory is the peak of each part in a process of its own.
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REAL = Path(__file__).parent.parent / "tests" / "data" / "results" / "quick-1.result.json.gz"


def make(folder: Path, number: int) -> None:
    """So many files of some 50 KB: four cells each, with samples, series and the tool's report."""
    one = json.loads(gzip.decompress(REAL.read_bytes()))
    one["cells"] = one["cells"][8:12]
    for cell in one["cells"]:
        cell["report"]["jobs"][0].pop("trim", None)
    for index in range(number):
        one["run"] = f"20260101-{index:06d}-abcd1234"
        one["started"] = f"2026-01-01T{index // 3600 % 24:02d}:{index // 60 % 60:02d}:{index % 60:02d}.000Z"
        one["machine"]["host"] = f"stor{index % 40}"
        one["scenario"]["title"] = f"Campaign {index % 100} of the rack"
        for cell in one["cells"]:
            for direction in (cell["summary"].get("read"), cell["summary"].get("write")):
                if direction:
                    direction["iops"] = 1000.0 + index * 7919 % 400
        (folder / f"quick-{one['run']}.result.json").write_text(json.dumps(one, separators=(",", ":")))


def part(name: str, folder: str, index: str) -> None:
    """One part of the work, timed; prints what it took and the peak of memory."""
    from raidtui.results.compare import compare_many
    from raidtui.results.library import Library

    before_mib = _peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    said = ""
    if name == "json":
        said = str(sum(len(json.loads(path.read_bytes())["cells"]) for path in Path(folder).iterdir()))
    else:
        library = Library(Path(folder), Path(index))
        if name in ("scan", "refresh"):
            said = str(library.refresh())
        elif name == "search":
            library.refresh()
            said = f"{len(library.search('stor7 campaign'))} found"
        else:
            library.refresh()
            words = "stor7 campaign" if name == "compare found" else ""
            paths = [known.path for known in library.search(words)]
            found = compare_many(library.extracts(paths))
            said = f"{len(paths)} results, {len(found.rows)} rows"
        library.close()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = f"peak {_peak_mib():6.0f} MiB (+{_peak_mib() - before_mib:.0f})"
    print(f"{name:16} {seconds:7.3f} s  {cpu:7.3f} CPU s  {peak}  {said}", flush=True)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder, index = Path(name) / "results", Path(name) / "index.sqlite"
        folder.mkdir()
        make(folder, number)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{number} results, {size / 1e6:.0f} MB", flush=True)
        for what in ("json", "scan", "refresh", "search", "compare found", "compare all"):
            subprocess.run([sys.executable, __file__, "--part", what, str(folder), str(index)], check=True)
        print(f"index: {index.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        part(*sys.argv[2:5])
    else:
        main()
