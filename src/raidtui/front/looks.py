"""How much of a disk was read before it is called blank, in words: samples miss what lies between them."""

from __future__ import annotations

from raidtui.model.disk import Look
from raidtui.model.plan import Plan
from raidtui.model.units import size_text


def look_line(look: Look) -> str:
    """How much of a blank disk was read, and what that may have missed."""
    if look.allocated_bytes == 0:
        return f"blank: the disk has nothing allocated, and {look.places} places read agree"
    if look.gap_bytes == 0:
        what = "all that the disk has allocated" if look.allocated_bytes is not None else "all of it"
        return f"blank: {what} was read"
    of = "" if look.allocated_bytes is None else f" of the {size_text(look.allocated_bytes)} that the disk has allocated"
    return f"blank at {look.places} places read{of}; data in one piece of up to {size_text(look.gap_bytes)} may be missed"


def looks_line(plan: Plan) -> str:
    """The same for all disks that a plan erases: the fewest places, and the largest piece that may have been missed."""
    looks = [plan.looks[id_] for id_ in plan.erases if id_ in plan.looks]
    if not looks:
        return ""
    gap = max(look.gap_bytes for look in looks)
    each = "each disk" if len(looks) > 1 else "the disk"
    if gap == 0:
        return f"Everything that {each} may keep data in was read and is blank."
    return (
        f"At least {min(look.places for look in looks)} places of {each} were read and are blank. Data in one piece of up "
        f"to {size_text(gap)} may have been missed, and would be lost."
    )
