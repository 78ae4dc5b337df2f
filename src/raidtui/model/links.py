"""Transfer rates of PCIe links."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.model.disk import Disk


def link_bytes_per_s(disks: Sequence[Disk]) -> float | None:
    """Return the sum of the PCIe links of these disks in one direction; None if one of them is unknown.

    Lanes × GT/s × encoding: 8b/10b up to 5 GT/s, 128b/130b from 8. Only NVMe disks have a link of their own: others share
    their controller's. Namespaces of one controller (the same serial) share its link.
    """
    links = {}
    for disk in disks:
        link = disk.link
        if disk.transport != "nvme" or link is None or link.speed_gts is None or link.width is None:
            return None
        encoding = 0.8 if link.speed_gts <= 5 else 128 / 130
        links[disk.serial or disk.id] = link.speed_gts * 1e9 * link.width * encoding / 8
    return sum(links.values()) if links else None
