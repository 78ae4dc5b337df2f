"""Counters of network interfaces (/proc/net/dev) and of RDMA ports (sysfs), by name, and which of them changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_int
from raidtui.watch.table import Table

_HEAD_LINES: Final = 2
_WORD_BYTES: Final = 4
"""Unit of an RDMA port's data counters (Documentation/ABI/stable/sysfs-class-infiniband)."""
_COLUMNS: Final = (0, 1, 2, 3, 8, 9, 10, 11)
"""Bytes, packets, errors and drops of a line of /proc/net/dev, received and sent."""
_SENT: Final = 8
_FILES: Final = (
    ("counters/port_rcv_data",),
    ("counters/port_rcv_packets", "hw_counters/rcvd_pkts"),
    ("counters/port_rcv_errors", "hw_counters/out_of_sequence", "hw_counters/rx_icrc_encapsulated",
     "hw_counters/out_of_seq_request"),
    ("hw_counters/out_of_buffer",),
    ("counters/port_xmit_data",),
    ("counters/port_xmit_packets", "hw_counters/sent_pkts"),
    ("hw_counters/packet_seq_err", "hw_counters/implied_nak_seq_err", "hw_counters/local_ack_timeout_err",
     "hw_counters/rcvd_seq_err", "hw_counters/send_err"),
    ("counters/port_xmit_discards",),
)  # fmt: skip
"""Files of an RDMA port whose sum is each of `NetCounters`: `counters` are InfiniBand's, `hw_counters` the driver's own
(mlx5's and rxe's names; what a port has not is 0).
"""


class _Port(NamedTuple):
    name: str
    files: tuple[tuple[Path, ...], ...]


class Network:
    """Takes the counters of all interfaces and RDMA ports. What is the same as before is left out."""

    def __init__(self, procfs: Path = Path("/proc"), infiniband: Path = Path("/sys/class/infiniband")) -> None:
        """A kernel without the table has no interfaces."""
        self._infiniband = infiniband
        self._ports: tuple[_Port, ...] = ()
        self._listed = False
        self._before: dict[str, str] = {}
        """Counters of RDMA ports at the last look; the table keeps those of interfaces itself."""
        try:
            self._table: Table | None = net_table(procfs / "net/dev")
        except OSError:
            self._table = None

    def close(self) -> None:
        if self._table is not None:
            self._table.close()

    def news(self, *, whole: bool = False) -> dict[str, str]:
        """Return the counters that changed, as eight numbers by name; empty text for an interface that is gone.

        RDMA devices are listed anew with `whole`. Raises OSError.
        """
        found = {}
        if self._table is not None:
            changes = self._table.read(whole=whole)
            found = {name: counters for name, line in changes.rows.items() if (counters := _short(line))}
            found |= dict.fromkeys(changes.gone, "")
        if whole or not self._listed:
            self._ports, self._listed = tuple(_ports(self._infiniband)), True
        if self._ports or self._before:
            found |= self._rdma(whole=whole)
        return found

    def _rdma(self, *, whole: bool) -> dict[str, str]:
        now = {port.name: counters for port in self._ports if (counters := _counters(port))}
        gone = dict.fromkeys(self._before.keys() - now.keys(), "")
        before, self._before = self._before, now
        return {**gone, **{name: text for name, text in now.items() if whole or text != before.get(name)}}


def sent_bytes(procfs: Path = Path("/proc"), sysfs: Path = Path("/sys/class/net")) -> int | None:
    """Return what the loopback and all interfaces with hardware have sent; None if that cannot be read.

    What stands on others (bonds, bridges, VLANs) would count the same bytes again.
    """
    try:
        lines = (procfs / "net/dev").read_text().splitlines()[_HEAD_LINES:]
    except OSError:
        return None
    counters = {name.strip(): line.split() for name, _, line in (line.partition(":") for line in lines)}
    wanted = [name for name in counters if name == "lo" or (sysfs / name / "device").exists()]
    return sum(int(counters[name][_SENT]) for name in wanted if len(counters[name]) > _SENT)


def net_table(path: Path) -> Table:
    """Return the lines of all interfaces: `  eth0: 914757203   17983    0 …`. Raises OSError."""
    return Table(path, re.compile(r"\s*([^\s:]+):"), skip=_HEAD_LINES)


def _short(line: str) -> str:
    numbers = line.split()
    return " ".join([numbers[column] for column in _COLUMNS]) if len(numbers) > _COLUMNS[-1] else ""


def _ports(infiniband: Path) -> Iterator[_Port]:
    if not infiniband.is_dir():
        return
    for folder in sorted(infiniband.glob("*/ports/*")):
        files = tuple(tuple(path for name in names if (path := folder / name).is_file()) for names in _FILES)
        if any(files):
            yield _Port(f"{folder.parent.parent.name}/{folder.name}", files)


def _counters(port: _Port) -> str:
    """Return the eight numbers of a port; empty if one of its files can no longer be read."""
    numbers = []
    for files in port.files:
        total = 0
        for path in files:
            if (count := read_int(path)) is None:
                return ""
            total += count * _WORD_BYTES if path.name.endswith("_data") else count
        numbers.append(str(total))
    return " ".join(numbers)
