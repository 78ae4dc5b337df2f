"""The connection to an export: its controller and its namespaces in sysfs, found by NQN and UUID alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.base.files import read_int, read_text
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.calls import bounded
from raidtui.stack.nodes import SYS_BLOCK, users_of
from raidtui.stack.nvmeof.spec import Export, Namespace

CONTROLLERS: Final = Path("/sys/class/nvme")
BUSY_PATIENCE_S: Final = 15.0
_PAUSE_S: Final = 0.05

NOT_THERE: Final = Refusal(
    "nvmeof-not-there",
    "The exported device does not appear",
    "The connection was made, and the kernel shows no block device with the UUID of the namespace.",
    "Look at the kernel's messages (dmesg), then run it again.",
)
BUSY: Final = Refusal(
    "nvmeof-busy",
    "The exported device is in use",
    "The connection cannot be ended because something uses a device that came over it. The message names the users.",
    "End that use. When the cause is gone, `raidtui recover` removes the rest; it may be run any number of times.",
)


def controllers(export: Export) -> list[Path]:
    """Return the folders of the controllers that are connected to the export."""
    return [path for path in sorted(CONTROLLERS.glob("nvme*")) if read_text(path / "subsysnqn") == export.nqn]


def node_of(namespace: Namespace) -> str | None:
    """Return the kernel name of the block device; the hidden ones of its paths (`nvme1c1n1`) have the same UUID."""
    nodes = (path for path in SYS_BLOCK.glob("nvme*n*") if "c" not in path.name and "p" not in path.name)
    return next((path.name for path in nodes if read_text(path / "uuid") == namespace.uuid), None)


def the_node(namespace: Namespace) -> str:
    """Return the kernel name. Raises ProblemError (`nvmeof-not-there`)."""
    if (node := node_of(namespace)) is None:
        raise fail(NOT_THERE, f"there is no block device with the UUID {namespace.uuid}", place=namespace.ref,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return node


def await_nodes(export: Export, limit_s: float) -> None:
    """Wait until every namespace is a block device of its planned size. Raises ProblemError (`nvmeof-not-there`)."""
    until = time.monotonic() + limit_s
    for namespace in export.namespaces:
        while (node := node_of(namespace)) is None or size_bytes(node) != namespace.size_bytes:
            if time.monotonic() > until:
                the_node(namespace)
                return  # its size is compared when it is read back
            time.sleep(_PAUSE_S)


def size_bytes(node: str) -> int:
    return 512 * (read_int(SYS_BLOCK / node / "size") or 0)


def read(export: Export) -> dict[str, Any]:
    """Return the connection as sysfs shows it. Raises ProblemError (`nvmeof-not-there`)."""
    found = controllers(export)
    nodes = [the_node(one) for one in export.namespaces]
    one = found[0] if found else CONTROLLERS / "none"
    return {
        "controllers": len(found),
        "state": read_text(one / "state"),
        "transport": read_text(one / "transport"),
        "host_nqn": read_text(one / "hostnqn"),
        # The kernel counts the admin queue too, and queue sizes from zero.
        "queues": (read_int(one / "queue_count") or 0) - 1,
        "queue_size": (read_int(one / "sqsize") or 0) + 1,
        "devices": nodes,
        "sizes_bytes": [size_bytes(node) for node in nodes],
        "sectors_bytes": [read_int(SYS_BLOCK / node / "queue/logical_block_size") for node in nodes],
    }


def asked(export: Export) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    found: dict[str, Any] = {
        "controllers": 1,
        "state": "live",
        "transport": export.transport,
        "host_nqn": export.host_nqn,
        "queue_size": export.queue_size,
        "sizes_bytes": [one.size_bytes for one in export.namespaces],
        "sectors_bytes": [one.sector_bytes for one in export.namespaces],
    }
    return found if export.queues is None else {**found, "queues": export.queues}


def _users(export: Export) -> Iterator[str]:
    for namespace in export.namespaces:
        if node := node_of(namespace):
            yield from users_of(node)


def disconnect(export: Export) -> list[str]:
    """End the connection, and return the names of the controllers that were removed.

    Waits while udev has a device open: the kernel would remove one that is in use. Raises ProblemError (`nvmeof-busy`).
    """
    until = time.monotonic() + BUSY_PATIENCE_S
    while (found := controllers(export)) and (users := list(_users(export))):
        if time.monotonic() > until:
            raise fail(BUSY, f"the connection cannot be ended: {'; '.join(users)}", place=export.name,
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.3)
    for folder in found:
        with suppress(FileNotFoundError):
            bounded(lambda folder=folder: (folder / "delete_controller").write_text("1"),  # type: ignore[misc]
                    f"disconnecting {folder.name}", to_the_end=True)  # fmt: skip
    return [folder.name for folder in found]
