"""What people call layers that have another name in scenarios."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_FILESYSTEMS: Final = ("btrfs", "ext4", "f2fs", "xfs")
_LEVELS: Final = ("raid0", "raid1", "raid4", "raid5", "raid6", "raid10")

CALLED: Final = MappingProxyType(
    {"mdadm": "md", "mdraid": "md", "raid": "md", "zfs": "zpool", "pool": "zpool", "fs": "filesystem", "lv": "lvm",
     "disks": "disk", "raw": "disk", "dm-cache": 'lvm with "cache"', "lvmcache": 'lvm with "cache"',
     "dm-writecache": 'lvm with "writecache"', "vdo": 'lvm with "vdo"', "thin": 'lvm with "thin"'}
    | {kind: f'filesystem with "type": "{kind}"' for kind in _FILESYSTEMS}
    | {level: f'md with "level": "{level}"' for level in _LEVELS}
)  # fmt: skip
"""Their name → what to write instead."""
