"""Physical volumes, groups and volumes of LVM as devices and formats of blivet. Runs in the builder's process alone.

Each command names the devices of its group (`--devices`), so that it sees no other. blivet's own commands would force
(`pvremove --force --force`, `vgremove --force`) and answer every question with yes; those of raidtui do not.
"""

from __future__ import annotations

from typing import Any

from blivet.devices import LVMLogicalVolumeDevice, LVMVolumeGroupDevice
from blivet.errors import LVMError, PhysicalVolumeError
from blivet.formats.lvmpv import LVMPhysicalVolume
from blivet.size import Size

from raidtui.model.plan import Argv
from raidtui.stack.builder.libraries import BlockDev, Node, extra, program
from raidtui.stack.lvm.commands import activate_argv, flat, limits, pv_extra, vg_extra
from raidtui.stack.lvm.group import LvmGroup, PhysicalVolume

_ENOUGH = Size("1 EiB")
"""Free space that blivet is told, so that it never refuses: LVM does."""


class Label(LVMPhysicalVolume):
    """A physical volume with a planned UUID and alignment."""

    def __init__(self, path: str, pv: PhysicalVolume | None = None, paths: tuple[str, ...] = ()) -> None:
        """Make a label to be created, or (without `pv`) one that exists."""
        super().__init__(device=path, exists=pv is None, data_alignment=Size(pv.align_bytes if pv else 0))
        self._options = pv_extra(pv, paths) if pv else {}
        self._paths = paths

    @property
    def status(self) -> bool:
        """False: blivet would refuse to remove a label while a folder of its group's name exists."""
        return False

    def _create(self, **_: Any) -> None:
        try:
            BlockDev.lvm.pvcreate(self.device, data_alignment=self.data_alignment, extra=extra(self._options))
        except BlockDev.LVMError as error:
            raise PhysicalVolumeError(error) from error


class Group(LVMVolumeGroupDevice):
    """A group over exactly these physical volumes."""

    def __init__(self, vg: LvmGroup, paths: tuple[str, ...], *, exists: bool = False) -> None:
        nodes = [Node(path) for path in paths]
        for node in nodes:
            node.format = Label(node.path)
        self._paths = paths
        super().__init__(vg.name, parents=nodes, pe_size=Size(vg.extent_bytes), exists=exists, pv_count=len(nodes))

    @property
    def free_space(self) -> Size:
        return _ENOUGH

    @property
    def status(self) -> bool:
        """True, so that a teardown always deactivates it."""
        return bool(self.exists)

    def _create(self) -> None:
        try:
            BlockDev.lvm.vgcreate(self.name, list(self._paths), self.pe_size, extra=extra(vg_extra(self._paths)))
        except BlockDev.LVMError as error:
            raise LVMError(error) from error

    def _post_create(self) -> None:
        self.exists = True

    def _teardown(self, recursive: bool | None = None) -> None:
        program(activate_argv(self.name, "n", self._paths))

    def _pre_destroy(self) -> None:
        """Do nothing: the volumes are inactive and removed."""

    def _destroy(self) -> None:
        program(("lvm", "vgremove", self.name, *flat(limits(self._paths))))


class Volume(LVMLogicalVolumeDevice):
    """A volume that a command of LVM creates or converts, with all options that blivet does not have."""

    def __init__(self, group: Group, name: str, size_bytes: int, argv: Argv, answer: str | None) -> None:
        # Without `pvs` and type blivet takes it for a linear volume and checks no physical volume: LVM itself does.
        super().__init__(name, parents=[group], size=Size(size_bytes))
        self._argv, self._answer = argv, answer

    def _create(self) -> None:
        program(self._argv, self._answer)

    def _pre_create(self) -> None:
        """Do nothing: blivet would shrink the volume to the free space that it believes the group to have."""

    def _post_create(self) -> None:
        self.exists = True


def create_label(pv: PhysicalVolume, path: str, paths: tuple[str, ...]) -> None:
    """Create one physical volume."""
    node = Node(path)
    node.format = Label(path, pv, paths)
    node.format.create()


def create_group(vg: LvmGroup, paths: tuple[str, ...]) -> None:
    """Create the group on its physical volumes."""
    Group(vg, paths).create()


def create_volume(vg: LvmGroup, paths: tuple[str, ...], argv: Argv, answer: str | None = None) -> None:
    """Create a volume, a pool or a cache, or convert one, by a command of LVM (`commands.py`, `cache.py`, `pool.py`)."""
    Volume(Group(vg, paths, exists=True), vg.volume.name, vg.volume.size_bytes, argv, answer).create()


def activate(vg: LvmGroup, paths: tuple[str, ...], state: str) -> None:
    """Activate (`y`) or deactivate (`n`) all volumes of the group."""
    if state == "n":
        Group(vg, paths, exists=True).teardown()
    else:
        program(activate_argv(vg.name, state, paths))


def remove_volumes(vg: LvmGroup, paths: tuple[str, ...]) -> None:
    """Remove all volumes. LVM asks whether those of a pool go as well: all of them are in the run's own group."""
    program(("lvm", "lvremove", vg.name, *flat(limits(paths))), answer="y")


def remove_group(vg: LvmGroup, paths: tuple[str, ...]) -> None:
    """Remove the group, which has no volumes any more."""
    Group(vg, paths, exists=True).destroy()


def remove_labels(paths: tuple[str, ...]) -> None:
    """Remove physical volumes, all by one command."""
    program(("lvm", "pvremove", *paths, *flat(limits(paths))))
