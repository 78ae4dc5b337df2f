"""No disk slowed down because it was hot."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.watch.temperature import Heat

HOT = Meaning(
    "hot-disk",
    "caution",
    "A disk was too hot",
    "From its warning temperature on a disk slows itself down to cool: the number is that of its cooling.",
    "Give it more air, rest between cells (cooldown in the policy), and run the cell again (--layout, --workload).",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    before, after = evidence.heat
    for name, use in evidence.members.items():
        then, now = before.get(name, Heat()), after.get(name, Heat())
        highest = use.temperature_max_c
        if now.slowed_s is not None and then.slowed_s is not None and now.slowed_s > then.slowed_s:
            slowed = f"disk {use.disk} was slowed down by heat, or beyond its limit, for {now.slowed_s - then.slowed_s} s"
            yield HOT.mark(slowed, about=use.disk)
        elif highest is not None and now.limit_c is not None and highest >= now.limit_c:
            reached = f"disk {use.disk} reached {highest:.0f} °C, and warns from {now.limit_c:.0f} °C on"
            yield HOT.mark(reached, about=use.disk)
        elif now.too_hot:
            yield HOT.mark(f"disk {use.disk} says that it is too hot", about=use.disk)


CHECK = Check(find, (HOT,), rank=40)
