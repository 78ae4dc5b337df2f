"""Makes the root folder of the lab's guest: a Debian with every storage tool and the ZFS modules of its kernel."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from raidtui.base import proc
from raidtui.lab import recipe
from raidtui.model.problem import Exit, fail

_LEAN = (
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Acquire::Languages "none"',
    '--aptopt=Acquire::Retries "3"',
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=force-confold",
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale", "info")),
    # The initrd is our own, and Debian's takes a minute to make.
    "--dpkgopt=path-exclude=/etc/kernel/postinst.d/initramfs-tools",
)
_DEFAULT_MIRRORS = ("deb.debian.org", "ftp.debian.org", "cdn-fastly.deb.debian.org", "snapshot.debian.org")


def start_bootstrap(
    root: Path, packages: Sequence[str], log: Path, mirror: Sequence[str], hooks: Sequence[str] = ()
) -> proc.Child:
    """Start to install a Debian into the folder `root`; needs root."""
    # In namespaces of its own: its mounts are never seen outside, and nothing that it started survives it.
    argv = [
        _tool("unshare"), "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--",
        _tool("mmdebstrap"), "--mode=root", "--variant=minbase", "--format=directory", "--architectures=amd64",
        f"--components={recipe.COMPONENTS}", *_LEAN, *hooks,
        f"--include={','.join(packages)}", recipe.SUITE, str(root), *mirror,
    ]  # fmt: skip
    with log.open("wb") as file:
        return proc.spawn(argv, stdout=file, stderr=proc.STDOUT, env=_with_callers_network())


def mirror_lines() -> list[str]:
    """Sources for mmdebstrap: the mirror that this Debian uses, or nothing for mmdebstrap's default."""
    apt = proc.find_tool("apt-get")
    if apt is None:
        return []
    wanted = "$(ORIGIN) $(LABEL) $(REPO_URI)"
    listed = proc.run([apt, "indextargets", "--format", wanted], timeout_s=60, check=False).text.splitlines()
    mirrors = [line.split(" ", 2)[2].rstrip("/") for line in listed if line.startswith("Debian Debian http")]
    if not mirrors or urlsplit(mirrors[0]).hostname in _DEFAULT_MIRRORS:
        return []
    components = recipe.COMPONENTS.replace(",", " ")
    return [f"deb {mirrors[0]} {suite} {components}" for suite in (recipe.SUITE, f"{recipe.SUITE}-updates")]


def single_file_hooks() -> list[str]:
    """mmdebstrap hooks that fetch one file out of a package."""
    return [
        f'--customize-hook=chroot "$1" sh -c "cd /var/tmp && apt-get -q download {package}" && '
        f'dpkg-deb --fsys-tarfile "$1"/var/tmp/{package}_*.deb | tar -x -C "$1" ./{path} && rm "$1"/var/tmp/*.deb'
        for package, path in recipe.SINGLE_FILES
    ]


def wait_bootstrap(child: proc.Child, log: Path, timeout_s: float) -> None:
    """Wait for `start_bootstrap`; a failure quotes the end of its log."""
    code = child.wait(timeout_s)
    if code == 0:
        return
    child.end()
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "W: Failed", "Err:"))]
    raise fail(
        "lab.bootstrap-failed",
        f"installing Debian for the lab failed: {' / '.join((errors or lines)[-4:])}",
        remedy="check that this machine reaches its Debian mirror (`apt-get update`), then try again",
        exit=Exit.BUILD_FAILED,
    )


def kernel_version(root: Path) -> str:
    """The version of the one kernel in `root`."""
    versions = sorted(p.name.removeprefix("vmlinuz-") for p in (root / "boot").glob("vmlinuz-*"))
    if len(versions) != 1:
        raise fail("lab.kernel", f"the lab's root has {len(versions)} kernels instead of one", exit=Exit.BUILD_FAILED)
    return versions[0]


def package_version(root: Path, package: str) -> str:
    """The installed version of a package, without Debian's revision."""
    for record in (root / "var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in record.splitlines() if ": " in line and line[0] != " ")
        if fields.get("Package") == package:
            return fields["Version"].split("-")[0]
    raise fail("lab.package", f"{package} is not in the lab's root", exit=Exit.BUILD_FAILED)


def keep_modules(module_root: Path, kernel: str, kept: Path) -> None:
    """Copy the ZFS modules that were compiled for `kernel` out of the throw-away root, as one step."""
    built = sorted((module_root / "usr/lib/modules" / kernel / "updates/dkms").glob("*.ko*"))
    if not built:
        raise fail("lab.modules", f"no ZFS modules were compiled for the lab's kernel {kernel}", exit=Exit.BUILD_FAILED)
    fresh = kept.with_name(f".{kept.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for module in built:
        shutil.copy2(module, fresh / module.name)
    shutil.rmtree(kept, ignore_errors=True)
    fresh.rename(kept)


def finish(root: Path, kernel: str, modules: Path, public_key: str) -> None:
    """Turn the fresh Debian in `root` into the lab: modules, wheels, our files, and `guest/setup.sh` inside it."""
    shutil.copytree(modules, root / "usr/lib/modules" / kernel / "updates/dkms", dirs_exist_ok=True)
    _install_wheels(root / "usr/local/lib" / recipe.GUEST_PYTHON / "dist-packages")
    shutil.copytree(recipe.GUEST_FOLDER / "root", root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    # However this raidtui was installed: not every way keeps the mode of a file.
    (root / "usr/local/bin/raidtui").chmod(0o755)
    ssh = root / "root/.ssh"
    ssh.mkdir(mode=0o700, parents=True, exist_ok=True)
    (ssh / "authorized_keys").write_text(public_key)
    # Read by the shell inside, because /proc is not mounted there and the script lies outside.
    script = (recipe.GUEST_FOLDER / "setup.sh").read_bytes()
    proc.run([_tool("chroot"), str(root), "/bin/sh", "-s", kernel], timeout_s=300, input_bytes=script)


def _install_wheels(target: Path) -> None:
    """Put the pure-Python packages that Debian lacks into the guest; fetched here, where certificates are trusted."""
    target.mkdir(parents=True, exist_ok=True)
    argv = [_python_with_pip(), "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-input",
            "--disable-pip-version-check", "--root-user-action=ignore", "--target", str(target),
            *recipe.WHEELS]  # fmt: skip
    proc.run(argv, timeout_s=300, env=_with_callers_network())


def _python_with_pip() -> str:
    for python in (sys.executable, "/usr/bin/python3"):
        if proc.run([python, "-c", "import pip"], timeout_s=30, check=False).code == 0:
            return python
    raise fail("lab.no-pip", "no pip to fetch blivet for the lab with", remedy="apt-get install python3-pip")


def _with_callers_network() -> dict[str, str]:
    """The clean environment plus what says how this machine reaches the network."""
    wanted = ("_proxy", "_cert", "_ca_bundle", "ssl_cert_file", "ssl_cert_dir")
    extra = {k: v for k, v in os.environ.items() if k.lower().endswith(wanted) or k.startswith("PIP_") or k == "HOME"}
    return proc.CLEAN_ENV | extra


def _tool(name: str) -> str:
    path = proc.find_tool(name)
    if path is None:
        raise fail("lab.tool-missing", f"{name} is not installed", remedy="raidtui lab up installs what it needs as root")
    return path
