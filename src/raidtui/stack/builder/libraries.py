"""blivet and libblockdev as the builder uses them: no scan, no filter of their own, no settling. Only the child imports it.

Constructing `blivet.Blivet()` would list every disk of the server and hide all devices from LVM (`filter=["r|.*|"]`), so it
is never done: devices are made from the nodes that a step names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gi

gi.require_version("BlockDev", "3.0")

import blivet  # noqa: E402
from blivet import storage_log, udev  # noqa: E402
from blivet.devicelibs import lvm as lvm_library  # noqa: E402
from blivet.devices import StorageDevice  # noqa: E402
from blivet.flags import flags  # noqa: E402
from blivet.formats import get_format  # noqa: E402
from blivet.static_data import lvs_info, pvs_info, vgs_info  # noqa: E402
from gi.repository import BlockDev  # noqa: E402

from raidtui.base import proc  # noqa: E402
from raidtui.stack.builder.telling import tell  # noqa: E402

flags.ibft = False
flags.lvm_metadata_backup = False
flags.lvm_devices_file = False
# blivet walks its stack for each method that it logs, and that log goes nowhere.
storage_log.function_name_and_depth = lambda: ("", 0)
# The runner waits for the nodes that it needs; `udevadm settle` would wait for everybody's events.
udev.settle = lambda *_, **__: None
# Every LVM command of raidtui names its devices itself; blivet's own reports would read every disk of the server.
lvm_library._set_global_config = lambda: None
for _reports in (pvs_info, vgs_info, lvs_info):
    type(_reports).cache = property(lambda _: {})

if BlockDev.get_plugin_soname(BlockDev.Plugin.LVM) not in (None, "libbd_lvm.so.3"):
    # libblockdev-lvm-dbus3 replaces this plugin by one with other features.
    _others = [name for name in BlockDev.get_available_plugin_names() if name != "lvm"]
    _lvm = BlockDev.PluginSpec(BlockDev.Plugin.LVM, "libbd_lvm.so.3")
    BlockDev.reinit([*BlockDev.plugin_specs_from_names(_others), _lvm], True, None)


class Node(StorageDevice):
    """A block device that is there, by the path that a step gave; blivet would derive the path from the name."""

    _type = "node"

    def __init__(self, path: str, kind: str | None = None, *, exists: bool = False, **options: Any) -> None:
        """Make a device with a format of this kind to be created on it, or (`exists`) one that was found there."""
        self._node_path = path
        super().__init__(Path(path).name, fmt=get_format(kind, device=path, exists=exists, **options), exists=True)

    @property
    def path(self) -> str:
        return self._node_path


def ready() -> None:
    """Do nothing: whoever calls it waits until this module is loaded."""


def extra(options: Mapping[str, str]) -> list[Any]:
    """Return options for a command of libblockdev, which appends them to its argv."""
    return [BlockDev.ExtraArg.new(name, value) for name, value in options.items()]


def program(argv: Sequence[str], answer: str | None = None) -> None:
    """Run a command that neither library has, with blivet's own log line. Raises OSError, or RuntimeError with its message.

    `answer` has a line for each question that it is known to ask; others get none, which LVM takes for no.
    """
    tell(*argv)
    path = proc.find_tool(argv[0])
    if path is None:
        raise FileNotFoundError(f"{argv[0]} is not installed")
    given = None if answer is None else f"{answer}\n".encode()
    ran = proc.run([path, *argv[1:]], input_bytes=given, check=False, watched=False)
    if ran.code != 0:
        raise RuntimeError(_last_lines(ran.error_text or ran.text) or f"{argv[0]} ended with {ran.code}")


def _last_lines(text: str) -> str:
    """Return a tool's error text without warnings: those about destroyed content are expected of a conversion."""
    lines = [line.strip() for line in text.splitlines()]
    wrong = [line for line in lines if not line.startswith(("WARNING:", "THIS WILL DESTROY CONTENT"))]
    return " ".join(wrong or lines)[-400:]


__all__ = ["BlockDev", "Node", "blivet", "extra", "get_format", "program", "ready", "tell"]
