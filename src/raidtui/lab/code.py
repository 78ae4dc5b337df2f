"""Sends the raidtui that runs here into the guest, so that both sides of the pipe are always the same version."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Final

import raidtui
from raidtui.base import proc

GUEST_FOLDER: Final = "/opt/raidtui"
_SKIPPED: Final = ("__pycache__",)


def local_files() -> list[tuple[str, Path]]:
    """What the guest needs: (name under `/opt/raidtui`, file here), in a stable order."""
    package = Path(raidtui.__file__).resolve().parent
    found = [(f"raidtui/{path.relative_to(package)}", path) for path in _files(package)]
    # In a checkout what is shipped lies at the top of the repository, in an installed package inside of it.
    top = package.parents[1]
    if (top / "pyproject.toml").exists():
        for kind in ("scenarios", "themes"):
            found += [(f"raidtui/shipped/{kind}/{path.relative_to(top / kind)}", path) for path in _files(top / kind)]
    return sorted(found)


def pack(files: list[tuple[str, Path]]) -> tuple[str, bytes]:
    """Content hash and a tar of the files, which holds that hash as `.hash`."""
    digest = hashlib.sha256()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, path in files:
            data = path.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode())
            digest.update(data)
            _add(tar, name, data, int(path.stat().st_mtime))
        _add(tar, ".hash", digest.hexdigest().encode(), 0)
    return digest.hexdigest(), buffer.getvalue()


def receive_script() -> str:
    """Shell command for the guest that replaces the code by the tar on its standard input, in one step."""
    return (
        f"set -e; rm -rf {GUEST_FOLDER}.new; mkdir -p {GUEST_FOLDER}.new; tar -xf - -C {GUEST_FOLDER}.new --no-same-owner; "
        f"rm -rf {GUEST_FOLDER}.old; if [ -e {GUEST_FOLDER} ]; then mv {GUEST_FOLDER} {GUEST_FOLDER}.old; fi; "
        f"mv {GUEST_FOLDER}.new {GUEST_FOLDER}; rm -rf {GUEST_FOLDER}.old; sync -f /opt"
    )


def sync(ssh_argv: list[str]) -> bool:
    """Make the guest's raidtui the one that runs here. True when something had to be sent."""
    wanted, tar = pack(local_files())
    there = proc.run([*ssh_argv, f"cat {GUEST_FOLDER}/.hash"], timeout_s=60, check=False)
    if there.text.strip() == wanted:
        return False
    proc.run([*ssh_argv, receive_script()], timeout_s=120, input_bytes=tar)
    return True


def _files(folder: Path) -> list[Path]:
    return [p for p in sorted(folder.rglob("*")) if p.is_file() and not set(_SKIPPED) & set(p.parts)]


def _add(tar: tarfile.TarFile, name: str, data: bytes, mtime: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(data), mtime, 0o644
    tar.addfile(entry, io.BytesIO(data))
