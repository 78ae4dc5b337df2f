"""Names of disks below /dev/disk/by-id: they stay the same after a reboot, in another slot, and beside other disks."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from raidtui.model.disk import Disk

FOLDER: Final = Path("/dev/disk/by-id")
_BEST: Final = ("wwn-", "nvme-eui.", "nvme-uuid.", "nvme-nvme.", "nvme-", "scsi-3", "virtio-", "scsi-", "ata-")
"""Prefixes of udev's names, the most certain identity first."""


def by_id_path(disk: Disk, folder: Path | None = FOLDER) -> str:
    """Return the best name that udev has for a disk; without one or a folder, the name that udev's rules give it."""
    try:
        links = sorted(path.name for path in folder.iterdir()) if folder is not None else []
    except OSError:
        links = []
    own = [link for link in links if folder is not None and os.path.realpath(folder / link) == disk.path]
    best = min(own, key=_rank, default=None)
    return str((folder or FOLDER) / best) if best is not None else str(FOLDER / _by_rule(disk))


def _rank(link: str) -> tuple[int, str]:
    return next((at for at, prefix in enumerate(_BEST) if link.startswith(prefix)), len(_BEST)), link


def _by_rule(disk: Disk) -> str:
    """Return the name by 60-persistent-storage.rules of systemd."""
    if disk.transport == "nvme" and disk.wwid:
        return f"nvme-{disk.wwid}"
    if disk.wwid.startswith("naa."):
        return f"wwn-0x{disk.wwid.removeprefix('naa.')}"
    if disk.transport == "virtio":
        return f"virtio-{disk.serial[:20]}"
    words = re.sub(r"[^A-Za-z0-9#+.:=@_-]", "_", f"{disk.model}_{disk.serial}")
    return f"{'ata' if disk.transport == 'sata' else disk.transport or 'scsi'}-{words}"
