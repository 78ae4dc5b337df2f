"""Filesystems as formats of blivet. Runs in the builder's process alone.

Mounting stays with the runner: the mounts are in its own namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blivet.devices import BTRFSSubVolumeDevice, BTRFSVolumeDevice
from blivet.errors import FSError
from blivet.formats import DeviceFormat
from blivet.tasks.fsmkfs import UnimplementedFSMkfs

from raidtui.model.plan import Argv
from raidtui.stack.builder.libraries import BlockDev, Node, get_format, program


class _PlannedMkfs(UnimplementedFSMkfs):
    """mkfs with the planned options: blivet's own would force (`mkfs.xfs -f`), and keep the tool's message to itself."""

    def __init__(self, fs: Any, argv: Argv) -> None:
        super().__init__(fs)
        self._argv = argv

    @property
    def availability_errors(self) -> list[str]:
        return []

    def do_task(self, *_: Any, **__: Any) -> None:
        try:
            program(self._argv)
        except (OSError, RuntimeError) as error:
            raise FSError(error) from error


def make(kind: str, argv: Argv) -> None:
    """Make a filesystem by this command, which ends with the paths of its devices."""
    made = get_format(kind, device=argv[-1])
    made._mkfs = _PlannedMkfs(made, argv)
    # BTRFS.create would do nothing: blivet makes it with a volume, whose command has no UUID.
    DeviceFormat.create(made)


class _MountedVolume(BTRFSVolumeDevice):
    """A btrfs filesystem that the runner mounted; blivet would mount it once more, in a folder of its own."""

    def __init__(self, devices: list[Node], uuid: str, point: str) -> None:
        self._point = point
        super().__init__(None, parents=devices, uuid=uuid, exists=True)

    @contextmanager
    def _do_temp_mount(self, orig: bool = False) -> Iterator[str]:
        yield self._point


def make_subvolume(paths: list[str], uuid: str, point: str, subvolume: str) -> None:
    """Make a subvolume in the filesystem on these devices, whose top level is mounted on `point`."""
    if "btrfs" not in BlockDev.get_available_plugin_names():
        raise RuntimeError("libblockdev has no plugin for btrfs: apt install libblockdev-btrfs3")
    devices = [Node(path, "btrfs", exists=True, vol_uuid=uuid) for path in paths]
    BTRFSSubVolumeDevice(subvolume, parents=[_MountedVolume(devices, uuid, point)]).create()
