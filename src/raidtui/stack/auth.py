"""Keys of connections: random, made by the target's step, in memory alone (`Context.keys`) until the initiator has it."""

from __future__ import annotations

import base64
import platform
import secrets
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.model.problem import Exit, Problem, Refusal
from raidtui.stack.context import Context

SHOWN: Final = "KEY"
"""Word that stands for a key in commands of plans and journals."""
_KEY_BYTES: Final = 32

NO_AUTH: Final = Refusal(
    "export-no-auth",
    "The kernel has no authentication for NVMe-oF",
    "The kernel was built without CONFIG_NVME_TARGET_AUTH (target) or CONFIG_NVME_HOST_AUTH (initiator).",
    'Use a kernel with them (Debian 13 has both), or leave "auth" out: only the names of hosts are checked then.',
)


def dhchap_key() -> str:
    """Return a new key of NVMe in-band authentication: a secret with its CRC (NVM Express Base, 8.3.5.5.7)."""
    secret = secrets.token_bytes(_KEY_BYTES)
    return f"DHHC-1:00:{base64.b64encode(secret + zlib.crc32(secret).to_bytes(4, 'little')).decode()}:"


def chap_secret() -> str:
    """Return a new secret of iSCSI CHAP, in printable characters."""
    return secrets.token_urlsafe(_KEY_BYTES)


def take_key(context: Context, name: str) -> str:
    """Return a key and forget it; empty without a name, or if there is none."""
    return context.keys.pop(name, "")


def hide(path: Path) -> None:
    """Let only root read a file of the kernel that shows a key: configfs and sysfs let everybody read it."""
    with suppress(OSError):
        path.chmod(0o600)


def kernel_lacks(option: str, place: str) -> Iterator[Problem]:
    """Yield a problem if this kernel was built without an option; nothing if that is not known."""
    text = read_text(f"/boot/config-{platform.release()}")
    if text is not None and f"\n{option}=" not in text:
        yield no_auth(option, place)


def no_auth(option: str, place: str) -> Problem:
    text = f"this kernel ({platform.release()}) was built without {option}"
    return NO_AUTH.problem(text, place=place, remedy=NO_AUTH.way_out, exit=Exit.REFUSED)
