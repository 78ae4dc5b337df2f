"""The connection to an export: its controller and its namespaces in sysfs, found by NQN and UUID alone."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from raidtui.base.files import read_int, read_text
from raidtui.model.problem import ProblemError
from raidtui.stack.auth import no_auth
from raidtui.stack.calls import bounded
from raidtui.stack.nodes import SYS_BLOCK
from raidtui.stack.nvmeof.spec import Export, Namespace

CONTROLLERS: Final = Path("/sys/class/nvme")
OPTIONS: Final = Path("/dev/nvme-fabrics")
"""Has the options of a connection that this kernel knows, as one line."""
SECRET: Final = "dhchap_secret"  # noqa: S105 - the name of a file
"""File of a controller, and option of a connection, with its key."""


def require_auth(export: Export) -> None:
    """Raise ProblemError (`export-no-auth`) if this kernel's initiator cannot authenticate itself."""
    known = read_text(OPTIONS)
    if known is not None and SECRET not in known:
        raise ProblemError(no_auth("CONFIG_NVME_HOST_AUTH", export.name))


def controllers(export: Export) -> list[Path]:
    """Return the folders of the controllers that are connected to the export."""
    return [path for path in sorted(CONTROLLERS.glob("nvme*")) if read_text(path / "subsysnqn") == export.nqn]


def nodes(export: Export) -> list[str | None]:
    return [_node_of(namespace) for namespace in export.devices]


def _node_of(namespace: Namespace) -> str | None:
    # The hidden devices of its paths (`nvme1c1n1`) have the same UUID.
    found = (path for path in SYS_BLOCK.glob("nvme*n*") if "c" not in path.name and "p" not in path.name)
    return next((path.name for path in found if read_text(path / "uuid") == namespace.uuid), None)


def read(export: Export) -> dict[str, Any]:
    """Return the connection as sysfs shows it."""
    found = controllers(export)
    one = found[0] if found else CONTROLLERS / "none"
    return {
        "controllers": len(found),
        "state": read_text(one / "state"),
        "transport": read_text(one / "transport"),
        "host_nqn": read_text(one / "hostnqn"),
        "authenticated": (read_text(one / SECRET) or "").startswith("DHHC-"),
        # The kernel counts the admin queue too, and queue sizes from zero.
        "queues": (read_int(one / "queue_count") or 0) - 1,
        "queue_size": (read_int(one / "sqsize") or 0) + 1,
    }


def asked(export: Export) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    found: dict[str, Any] = {
        "controllers": 1,
        "state": "live",
        "transport": export.transport,
        "host_nqn": export.host_nqn,
        "authenticated": bool(export.key),
        "queue_size": export.queue_size,
    }
    return found if export.queues is None else {**found, "queues": export.queues}


def disconnect(export: Export) -> bool:
    """End the connection; return False if there is none. Raises ProblemError (`stuck`)."""
    found = controllers(export)
    for folder in found:
        with suppress(FileNotFoundError):
            end = partial((folder / "delete_controller").write_text, "1")
            bounded(end, f"disconnecting {folder.name}", to_the_end=True)
    return bool(found)
