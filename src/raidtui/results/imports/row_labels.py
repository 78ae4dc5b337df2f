"""What a row of a plain table was measured of: the layout and the workload that its cells name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from raidtui.model.table import Asked, Subject
from raidtui.results.imports.cells import NOTHING, Row
from raidtui.results.imports.table_columns import Columns, block_bytes_of, whole
from raidtui.results.imports.tables import Building, stem
from raidtui.results.labels import read_label

DISKS: Final = re.compile(r"(?:disk|drive|device|ssd|hdd|nvme)s?", re.IGNORECASE)
_BUILDS: Final = re.compile(
    r"^`?(?:sudo\s+)?(?:/\S*/)?(?:mdadm|lvcreate|lvconvert|vgcreate|pvcreate|zpool|zfs|mkfs|mke2fs|cryptsetup)[\s.]"
)
"""Commands that make a layout; all others run a workload."""
_RUNS: Final = re.compile(r"^`?(?:sudo\s+)?(?:/\S*/)?(?:fio|dd|iozone|vdbench)\s")
_NUMBERED: Final = re.compile(r"(.*\w)\s*#\d+")


def cell_of(row: Row, index: int) -> str:
    """Its text; nothing where the row is shorter."""
    return row.cells[index] if index < len(row.cells) else ""


def said_in(index: int, rows: Sequence[Row]) -> list[str]:
    """What a column says, without its heading in the first row and signs for nothing."""
    return [cell for row in rows[1:] if (cell := cell_of(row, index)).lower() not in NOTHING]


def is_command(text: str) -> bool:
    """Whether a cell is what somebody typed to build or to measure."""
    return _BUILDS.search(text) is not None or _RUNS.search(text) is not None


def measures(text: str) -> bool:
    """Whether a cell is a command that runs a workload."""
    return _RUNS.search(text) is not None


class RowLabels:
    """Layouts and workloads of one table of a file, added to the whole as its rows name them."""

    def __init__(self, making: Building, columns: Columns, name: str, default_layout: str) -> None:
        self._making, self._columns, self._name = making, columns, name
        self._default_layout = default_layout
        self._apart: Sequence[int] = ()

    def tell_apart(self, columns: Sequence[int]) -> None:
        """Names layouts by these columns too."""
        self._apart = columns

    def layout(self, row: Row, corner: str) -> str:
        """The layout that a row names, else the corner of its table, else the file."""
        columns = self.layout_columns()
        text = " ".join(filter(None, (cell_of(row, i) for i in columns)))
        model = next((cell_of(row, i) for i in self._columns.of("model")), "") or self._numbered(text, columns)
        layout = text or corner or self._default_layout or stem(self._name)
        return self.layout_key(layout, model, row)

    def layout_columns(self) -> list[int]:
        """The columns that name layouts."""
        named = self._columns.of("layout", "setting")
        named += self._apart
        return named or (self._columns.of("unknown") if self._columns.of("workload") else [])

    def layout_key(self, text: str, model: str = "", built: Row | None = None) -> str:
        """The layout of this name. `built` is a row that may have the command that made it."""
        if self._making.several and not text.startswith(stem(self._name)):
            text = f"{stem(self._name)} {text}"
        command = self._command(built, builds=True) if built is not None else ""
        place = f"{self._name}:{built.line}" if built is not None and command else ""
        return self._making.layout(text, Subject(like=model[:400], command=command, place=place))

    def workload(self, row: Row, labels: Sequence[int], label: str = "") -> str:
        """The label with what columns beside it say of it."""
        heading = {role: next(iter(self._columns.of(role)), None) for role in ("block", "iodepth", "numjobs", "fsync")}
        parts = {role: cell_of(row, index) for role, index in heading.items() if index is not None}
        text = label or " ".join(filter(None, (cell_of(row, i) for i in labels)))
        said = read_label(text)
        block = said.block_bytes or block_bytes_of(parts.get("block", ""), heading["block"], self._columns)
        command = self._command(row, builds=False)
        extra = [f"bs={parts['block']}" if said.block_bytes is None and parts.get("block") else "",
                 f"qd={parts['iodepth']}" if said.iodepth is None and parts.get("iodepth") else "",
                 f"jobs={parts['numjobs']}" if said.numjobs is None and parts.get("numjobs") else ""]  # fmt: skip
        key = " ".join(filter(None, (text, *extra))) or "workload"
        asked = Asked(
            pattern=said.pattern, random=said.random, block_bytes=block, read_percent=said.read_percent,
            iodepth=said.iodepth or whole(parts.get("iodepth")), numjobs=said.numjobs or whole(parts.get("numjobs")),
            fsync=said.fsync if said.fsync is not None else whole(parts.get("fsync")),
            random_percent=said.random_percent, command=command,
            place=f"{self._name}:{row.line}" if command else "",
        )  # fmt: skip
        known = self._making.workloads.get(key)
        if known is not None and command and known.command != command:
            asked = msgspec.structs.replace(asked, label=key)
            key = f"{key} ({self._name}:{row.line})"
        return self._making.workload(key, asked)

    def _numbered(self, text: str, columns: Sequence[int]) -> str:
        """The model of `P4510 #2` in a column of disks, where nothing else tells it."""
        disks = len(columns) == 1 and DISKS.fullmatch(self._columns.headings[columns[0]].text)
        match = _NUMBERED.fullmatch(text) if disks else None
        return match.group(1) if match is not None else ""

    def _command(self, row: Row, *, builds: bool) -> str:
        """The first command of a row that builds a layout, or the first that does not."""
        cells = (cell_of(row, i).strip("`")[:4000] for i in self._columns.of("command"))
        return next((cell for cell in cells if cell and bool(_BUILDS.search(cell)) == builds), "")
