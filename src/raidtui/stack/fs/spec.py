"""The options of a filesystem: a closed, typed list for four types. What is for another type is refused by name."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from raidtui.model.convert import Operand
from raidtui.model.units import Size
from raidtui.stack.tuning.spec import Tuning

Type = Literal["xfs", "ext4", "btrfs", "f2fs"]
Profile = Literal["single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"]

KIB: Final = 1 << 10
MIB: Final = 1 << 20
COPIES: Final[dict[str, int]] = {"single": 1, "dup": 2, "raid0": 1, "raid1": 2, "raid1c3": 3, "raid1c4": 4, "raid10": 2}
"""Number of copies of each block in btrfs, by profile."""
PARITY: Final[dict[str, int]] = {"raid5": 1, "raid6": 2}
LEAST_DEVICES: Final[dict[str, int]] = {
    "single": 1, "dup": 1, "raid0": 1, "raid1": 2, "raid1c3": 3, "raid1c4": 4, "raid10": 2, "raid5": 2, "raid6": 3,
}  # fmt: skip
MAY_FAIL: Final[dict[str, int]] = {
    "single": 0, "dup": 0, "raid0": 0, "raid1": 1, "raid1c3": 2, "raid1c4": 3, "raid10": 1, "raid5": 1, "raid6": 2,
}  # fmt: skip


SUBVOLUME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}(?!\n)$"
_SUBVOLUME: Final = Meta(
    pattern=SUBVOLUME_PATTERN, examples=["bench"],
    description="A name has letters, digits and . _ + - and begins with a letter or digit; 63 at most.",
)  # fmt: skip


class FilesystemSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A filesystem, mounted where only root may enter: a directory that workloads fill with files."""

    type: Type
    """Type of the filesystem."""
    on: Operand
    """The device it is made on; btrfs takes several."""
    block_size: Annotated[Size, Meta(examples=["4KiB", "1KiB"])] | None = None
    """xfs, ext4: size of its blocks; xfs has up to 64KiB where Linux is 6.12 or newer."""
    geometry: Literal["below", "none"] = "below"
    """xfs, ext4: `below` fits it to chunk and stripe of what it stands on; `none` leaves stripes out of account."""
    stripe_unit: Annotated[Size, Meta(examples=["64KiB", "512KiB"])] | None = None
    """xfs (su), ext4 (stride): what lies in a row on one device below."""
    stripe_width: Annotated[Size, Meta(examples=["192KiB", "2MiB"])] | None = None
    """xfs (su × sw), ext4 (stripe_width): data of one full stripe below."""
    log_size: Annotated[Size, Meta(examples=["256MiB", "1GiB"])] | None = None
    """xfs: size of its log. ext4: of its journal."""
    allocation_groups: Annotated[int, Meta(ge=2, le=65536)] | None = None
    """xfs: how many parts it is divided into, in which it allocates side by side."""
    reflink: bool | None = None
    """xfs: whether files may share blocks."""
    journal: bool | None = None
    """ext4: whether it has one."""
    journal_mode: Literal["ordered", "writeback", "journal"] | None = None
    """ext4 (data=): what of the data goes through the journal, and in which order."""
    lazy_init: bool | None = None
    """ext4: whether inode tables are written in the background after it was mounted, while it is measured."""
    data: Profile | None = None
    """btrfs: how data is spread over its devices."""
    metadata: Profile | None = None
    """btrfs: how metadata is spread over its devices."""
    node_size: Annotated[Size, Meta(examples=["16KiB", "64KiB"])] | None = None
    """btrfs: size of the nodes of its trees."""
    checksum: Literal["crc32c", "xxhash", "sha256", "blake2"] | None = None
    """btrfs: how blocks are checked."""
    compress: Literal["zstd", "lzo", "zlib"] | None = None
    """btrfs: compress what is written."""
    compress_level: Annotated[int, Meta(ge=1, le=15)] | None = None
    """btrfs: how hard (zstd 1 to 15, zlib 1 to 9)."""
    compress_force: bool | None = None
    """btrfs: also what does not look compressible."""
    copy_on_write: bool | None = None
    """btrfs: false overwrites data in place, without checksums and compression (nodatacow)."""
    subvolume: Annotated[str, _SUBVOLUME] | None = None
    """btrfs: a subvolume to make and to mount, so that files are in it and not in the filesystem's top level."""
    overprovision: Annotated[int, Meta(ge=1, le=60, extra={"unit": "%"})] | None = None
    """f2fs: share that is kept free for its cleaning, in percent."""
    fsync_mode: Literal["posix", "strict", "nobarrier"] | None = None
    """f2fs: what an fsync makes durable. `nobarrier` makes nothing durable at all."""
    atime: Literal["noatime", "relatime", "strictatime"] = "noatime"
    """Updates of a file's access time by reads."""
    discard: Literal["none", "online", "async"] = "none"
    """Tell the device of blocks that files gave back: never, with each (`online`), or gathered (`async`, btrfs)."""
    tuning: Tuning | None = None
    """Kernel settings while the filesystem stands."""

    def profile(self, what: Literal["data", "metadata"], devices: int) -> str:
        """btrfs: how it is spread; mkfs.btrfs' own default where nothing is said."""
        default = "single" if what == "data" else "dup" if devices == 1 else "raid1"
        return getattr(self, what) or default

    @property
    def block_bytes(self) -> int:
        """4 KiB unless it says otherwise: smaller devices would make mkfs choose less by itself."""
        return self.block_size.bytes if self.block_size is not None else 4 * KIB


FIELDS_OF: Final[dict[str, frozenset[str]]] = {
    "xfs": frozenset({"block_size", "geometry", "stripe_unit", "stripe_width", "log_size", "allocation_groups", "reflink"}),
    "ext4": frozenset(
        {"block_size", "geometry", "stripe_unit", "stripe_width", "log_size", "journal", "journal_mode", "lazy_init"}
    ),
    "btrfs": frozenset(
        {
            "data", "metadata", "node_size", "checksum", "compress", "compress_level", "compress_force", "copy_on_write",
            "subvolume",
        }
    ),
    "f2fs": frozenset({"overprovision", "fsync_mode"}),
}
"""Options of each type besides type, on, atime and discard."""


class Filesystem(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of all filesystem steps: the whole filesystem."""

    name: str
    uuid: str
    ref: str
    type: str
    devices: tuple[str, ...]
    paths: dict[str, str]
    disks: tuple[str, ...]
    size_bytes: int
    block_bytes: int | None = None
    geometry: str
    stripe_unit: int | None = None
    stripe_width: int | None = None
    log_bytes: int | None = None
    allocation_groups: int | None = None
    reflink: bool | None = None
    journal: bool | None = None
    journal_mode: str | None = None
    lazy_init: bool | None = None
    data: str | None = None
    metadata: str | None = None
    node_bytes: int | None = None
    checksum: str | None = None
    compress: str | None = None
    compress_level: int | None = None
    compress_force: bool | None = None
    copy_on_write: bool | None = None
    subvolume: str | UnsetType = UNSET
    overprovision: int | None = None
    fsync_mode: str | None = None
    atime: str
    discard: str
