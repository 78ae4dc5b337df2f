"""md arrays as devices of blivet. Runs in the builder's process alone."""

from __future__ import annotations

from blivet.devices import MDRaidArrayDevice
from blivet.errors import MDRaidError
from blivet.size import Size

from raidtui.stack.builder.libraries import BlockDev, Node, extra
from raidtui.stack.md.plan import create_extra, node_path
from raidtui.stack.md.spec import MdArray


class Array(MDRaidArrayDevice):
    """An array with everything for which blivet has no option: policy, journal, layout, bitmap, UUID, assume-clean."""

    def __init__(self, array: MdArray, members: list[Node], options: dict[str, str], *, exists: bool = False) -> None:
        self._options, self._bitmap, self.node = options, array.bitmap, node_path(array.name)
        chunk = Size(array.chunk_bytes) if array.chunk_bytes and not exists else None
        super().__init__(array.name, level=array.level, parents=members, total_devices=len(members),
                         member_devices=len(array.members), metadata_version=array.metadata, chunk_size=chunk,
                         uuid=array.uuid, exists=exists)  # fmt: skip

    @property
    def path(self) -> str:
        return self.node

    @property
    def status(self) -> bool:
        """True once it exists: blivet would ask udev, which may know nothing yet of an array whose mdadm was killed."""
        return bool(self.exists)

    @property
    def is_disk(self) -> bool:
        """False: blivet would take an array of whole disks for a disk, and its teardown would do nothing."""
        return False

    def _validate_raid_level(self, level: object, parent_diff: int = 0) -> None:
        """Accept every number of members: mdadm makes a raid10 of two or three, and blivet asks for four (`rules.py`)."""

    def _create(self) -> None:
        paths = [member.path for member in self.parents]
        try:
            BlockDev.md.create(self.path, str(self.level), paths, len(paths) - self.member_devices,
                               version=self.metadata_version, bitmap=self._bitmap, chunk_size=int(self._chunk_size),
                               extra=extra(self._options))  # fmt: skip
        except BlockDev.MDRaidError as error:
            raise MDRaidError(error) from error

    def _post_create(self) -> None:
        """Do nothing more: blivet would sleep, settle a dozen times and run pvs; the runner reads the array back."""
        self.exists = True


def create(array: MdArray, members: list[str], spares: list[str], journal: str | None) -> None:
    """Create an array on exactly these devices."""
    nodes = [Node(path, "mdmember") for path in (*members, *spares)]
    Array(array, nodes, create_extra(array, journal)).create()


def stop(array: MdArray, path: str) -> None:
    """Stop the array at a path."""
    running = Array(array, [], {}, exists=True)
    running.node = path
    running.teardown()


def erase(path: str) -> None:
    """Erase the superblock of a member."""
    Node(path, "mdmember", exists=True).format.destroy()
