"""Inventory of the disks, with every reason why one is not free.

`scan()` lists them, `watch()` tells when one comes or goes, `REASONS` explains every reason. Nothing here writes to a disk.
"""

from raidtui.inventory.blocks import boot_id, machine_id
from raidtui.inventory.reasons import CONTENT, REASONS
from raidtui.inventory.scan import Examined, Ownership, examine, kernel_names, present, scan, search, unmoved
from raidtui.inventory.signatures import Signature
from raidtui.inventory.watch import Change, watch

__all__ = [
    "CONTENT",
    "REASONS",
    "Change",
    "Examined",
    "Ownership",
    "Signature",
    "boot_id",
    "examine",
    "kernel_names",
    "machine_id",
    "present",
    "scan",
    "search",
    "unmoved",
    "watch",
]
