"""What a column of a plain table is."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from raidtui.model.table import Metric

Role = Literal[
    "layout", "workload", "block", "iodepth", "numjobs", "fsync", "command", "model", "round", "baseline", "unit", "value",
    "metric", "figure", "share", "ignored", "unread", "setting", "unknown",
]  # fmt: skip
"""What is `ignored` says nothing of what was measured; what is `unread` does, and has no place here: it is noted.
A `setting` is one of the layout: its chunk.
"""


MAPPED_ROLES: Final = (
    "layout", "workload", "iops", "bandwidth", "latency", "share", "block", "iodepth", "numjobs", "fsync", "command",
    "model", "round", "baseline", "ignored",
)  # fmt: skip
"""What a column can be said to be."""


class Heading(NamedTuple):
    """One column. Metric and unit are of a `figure`; `of` of a `share`."""

    role: Role
    text: str
    metric: Metric | None = None
    unit: str = ""
    statistic: str = ""
    direction: str = ""
    of: str = ""
    other: str = ""
    """For a share that names both: the layout whose it is."""
    words: str = ""
    """Of a share that names no layout as 100 %: what it says beside."""
    change: bool = False
    """A share that says how much more or less than the other it is: +5 %, not 105 %."""
    less: bool = False
    """A change without signs, under a word that says it is less: an overhead of 5 % is 95 %."""

    def percent(self, value: float) -> float:
        """What a number of a share is in percent of the other."""
        return round(100 - value if self.less else 100 + value if self.change else value, 6)
