"""SMART data of a disk as labels and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.base.text import clean
from raidtui.model.smart import Smart


def smart_rows(found: Smart, *, wear: bool = True) -> Iterator[tuple[str, str]]:
    """Yield label and words of what is known; a value that deserves a look ends with `!`. `wear`: with the wear."""
    if found.problem:
        yield "SMART", f"not read: {clean(found.problem, 300)}"
        return
    if found.passed is not None:
        yield "SMART", "passed" if found.passed else "FAILED: the disk expects to fail !"
    if found.power_on_hours is not None:
        yield "powered on", _hours(found.power_on_hours)
    if wear and found.wear_percent is not None:
        yield "wear", f"{found.wear_percent:g} % of the rated endurance"
    if found.spare_percent is not None:
        yield "spare left", f"{found.spare_percent:g} %"
    errors = (("uncorrected", found.media_errors), ("reallocated", found.reallocated), ("pending", found.pending))
    known = [f"{count:,} {what}" for what, count in errors if count is not None]
    if known:
        yield "errors", ", ".join(known) + (" !" if found.media_errors or found.pending else "")
    if found.self_test:
        yield "self-test", clean(found.self_test, 200) + (" !" if found.self_test_failed else "")


def _hours(hours: int) -> str:
    """`26,280 h (3.0 years)`."""
    years = f" ({hours / 8766:.1f} years)" if hours >= 8766 else ""
    return f"{hours:,} h{years}"
