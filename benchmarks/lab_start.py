"""Measure the start of the lab: building the image if necessary, a cold boot, a start from the saved machine.

    python benchmarks/lab_start.py [--disks 6x8G] [--rounds 3] [--build]

`--build` builds the image anew in a folder of its own, which takes minutes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time

from raidtui.lab import image
from raidtui.lab.control import Lab
from raidtui.lab.disks import DEFAULT_SPEC, parse_spec
from raidtui.lab.host import silent
from raidtui.lab.state import DEFAULT_CPUS


def seconds_up(spec: str, *, cold: bool) -> float:
    """From nothing to an engine's interpreter that has answered."""
    lab = Lab(f"bench-{os.getpid()}")
    try:
        began = time.monotonic()
        lab.up(parse_spec(spec), silent, cold=cold)
        lab.run(["/usr/local/bin/raidtui", "--version"])
        return time.monotonic() - began
    finally:
        lab.down()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--disks", default=DEFAULT_SPEC)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", action="store_true")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="raidtui-bench-", dir="/var/tmp") as folder:
        if args.build:
            os.environ["XDG_CACHE_HOME"] = folder
        folder_of_image = image.ensure_image(lambda line: print(line, file=sys.stderr, flush=True))
        built = image.info(folder_of_image)
        assert built is not None
        print(f"image: built in {built.build_seconds:.0f} s{'' if args.build else ' (earlier)'}, kernel {built.kernel}")
        began = time.monotonic()
        _, accel = image.ensure_snapshot(folder_of_image, DEFAULT_CPUS, silent)
        print(f"first boot and snapshot: {time.monotonic() - began:.1f} s ({accel}; 0 where it was there)")
        for cold, what in ((True, "cold boot"), (False, "snapshot")):
            times = [seconds_up(args.disks, cold=cold) for _ in range(args.rounds)]
            shown = ", ".join(f"{value:.1f}" for value in times)
            print(f"{what} to ready with {args.disks}: median {statistics.median(times):.1f} s ({shown})")


if __name__ == "__main__":
    main()
