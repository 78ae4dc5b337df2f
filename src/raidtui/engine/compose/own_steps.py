"""Steps that belong to no layer: filling what is read, and measuring the links to other hosts. Pure."""

from __future__ import annotations

from typing import Final

from raidtui.base.text import plural
from raidtui.engine.run.links import ACTION as LINKS
from raidtui.engine.run.links import LinkArgs
from raidtui.engine.step_args import Prefill
from raidtui.load.catalog import engines
from raidtui.load.iperf3 import WARM_UP_S
from raidtui.model.convert import plain
from raidtui.model.scenario import Load
from raidtui.model.units import size_text
from raidtui.stack.layer import Draft, PlannedTarget

FILL_BYTES_PER_S: Final = 1e9
LINK_S: Final = 3
"""Seconds of each test of a link, in whole seconds as iperf3 has them."""


def fill_step(whose: str, load: Load, target: PlannedTarget) -> Draft:
    """The step that writes the region of a workload before it is read."""
    engine, size_bytes, kind = engines()[load.kind], target.size_bytes, target.kind
    region = engine.region_bytes(load.spec, size_bytes, kind=kind)
    title = f"{whose}fill {size_text(region)} of {', '.join(target.paths)}{loaded_by(target)}"
    written = region * target.regions
    args = Prefill(target.refs, load.kind, size_bytes, kind, plain(load.spec), target.on, region)
    if target.on and engine.from_hosts:
        command, files = engine.hosted(load.spec, target.on, size_bytes=size_bytes, kind=kind, fill=True)
    else:
        command, files = engine.prefill_command(load.spec, target.paths, size_bytes=size_bytes, kind=kind), {}
    return Draft("prefill", title, args, (command,), writes_bytes=written, seconds=written / FILL_BYTES_PER_S, files=files)


def links_step(hosts: int, *, rdma: bool, rates: bool) -> Draft:
    """The step that measures the links: each host alone, then all at once, in both directions."""
    seconds = LINK_S if rates else 0
    tests = 2 * (hosts + (hosts > 1)) * (1 + rdma) if seconds else 0
    how = f": each alone, then all at once, {seconds} s each way" if seconds else ": the time that a connection takes"
    if seconds and rdma:
        how += ", then the same over RDMA"
    title = f"Measure the {plural(hosts, 'link')} to the hosts{how}"
    return Draft(LINKS, title, LinkArgs(seconds, rdma and seconds > 0), seconds=1.0 + tests * (seconds + WARM_UP_S + 1))


def loaded_by(target: PlannedTarget) -> str:
    """Return who loads a target, and with what; empty for the storage server."""
    return f" by {', '.join(one.host for one in target.on)}, each with {target.on[0].words}" if target.on else ""
