"""Build raidtui's package for Debian 13 and Ubuntu 24.04 into a folder, without root: python scripts/make_deb.py dist

raidtui and the libraries that one of the two has not, or in an older version, go into /usr/lib/raidtui and come first
there; what both have is a dependency. Those of the engine are dependencies too, so that the package makes a storage
server. pip downloads what is not installed here.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution, version
from itertools import product
from pathlib import Path

from raidtui import __version__
from raidtui.lab.host import PIP_INSTALL
from raidtui.lab.recipe import WHEELS
from raidtui.load.catalog import engines
from raidtui.model.packages import named_in
from raidtui.stack.builder.process import PACKAGES
from raidtui.stack.catalog import all_layers

ROOT = Path(__file__).resolve().parent.parent
BROUGHT = ("textual", "markdown-it-py", "mdit-py-plugins", "mdurl", "linkify-it-py", "uc-micro-py", "platformdirs", "rich")
"""Pure libraries of the screens in the versions that are installed here."""
COMPILED = ("msgspec",)
"""Libraries with machine code, in the versions that are installed here."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
NEEDED = (f"python3 (>= {PYTHONS[0]})", "python3 (<< 3.15)", "python3-pyudev", "python3-pygments",
          "python3-typing-extensions", "python3-xlsxwriter", "openssh-client")  # fmt: skip
ENGINE = ("python3-dasbus", "python3-psutil", "gdisk")
WANTED = ("smartmontools",)
"""Packages whose tools no layer and no workload names."""
WRAPPER = '#!/bin/sh\nexec /usr/bin/python3 -I /usr/lib/raidtui/raidtui/__main__.py "$@"\n'
SCRIPTS = {
    # Compiled once: a user who cannot write there would compile at every start.
    "postinst": "#!/bin/sh\n/usr/bin/python3 -I -m compileall -q /usr/lib/raidtui >/dev/null || :\n",
    "prerm": "#!/bin/sh\nset -e\nfind /usr/lib/raidtui -type d -name __pycache__ -prune -exec rm -rf {} +\n",
}
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/raidtui",
    "zsh": "usr/share/zsh/vendor-completions/_raidtui",
    "fish": "usr/share/fish/vendor_completions.d/raidtui.fish",
}


def main(folder: Path) -> Path:
    """Build the package, and return its path."""
    with tempfile.TemporaryDirectory() as found:
        tree = Path(found)
        package = tree / "usr/lib/raidtui/raidtui"
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "src/raidtui", package, ignore=ignore)
        for kind in ("scenarios", "themes"):
            shutil.copytree(ROOT / kind, package / "shipped" / kind, ignore=ignore)
        for name in BROUGHT:
            _bring(name, package / "shipped/own/any")
        for wheel in WHEELS:
            _download(wheel, package / "shipped/own/any")
        for name in COMPILED:
            for machine, python in product(MACHINES, PYTHONS):
                _download(f"{name}=={version(name)}", package / "shipped/own" / machine, (machine, python))
        _write(tree / "usr/bin/raidtui", WRAPPER.encode(), 0o755)
        for shell, path in COMPLETIONS.items():
            _write(tree / path, _raidtui("completion", shell))
        _write(tree / "usr/share/man/man1/raidtui.1.gz", gzip.compress(_raidtui("man"), mtime=0))
        shutil.copytree(ROOT / "docs", tree / "usr/share/doc/raidtui", ignore=ignore)
        _write(tree / "usr/share/doc/raidtui/copyright", (ROOT / "LICENSE").read_bytes())
        _write(tree / "DEBIAN/control", control(sum(f.stat().st_size for f in tree.rglob("*") if f.is_file())).encode())
        for name, script in SCRIPTS.items():
            _write(tree / "DEBIAN" / name, script.encode())
        programs = {tree / "usr/bin/raidtui", *(tree / "DEBIAN" / name for name in SCRIPTS)}
        for path in tree.rglob("*"):
            path.chmod(0o755 if path.is_dir() or path in programs else 0o644)
        tree.chmod(0o755)
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"raidtui_{__version__}_all.deb"
        words = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(made)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return made


def control(size_bytes: int) -> str:
    """Return the control file. Tools that layers and workloads name are recommended; those of contrib are suggested."""
    tools = [tool for one in (*all_layers().values(), *engines().values()) for tool in one.tools]
    named = dict.fromkeys(name for tool in tools for name in named_in(tool.remedy))
    depends = dict.fromkeys((*NEEDED, *PACKAGES.split(), *ENGINE))
    contrib = [name for name in named if "zfs" in name or name == "iozone3"]
    recommends = [name for name in (*named, *WANTED) if name not in depends and name not in contrib]
    return (
        f"Package: raidtui\nVersion: {__version__}\nArchitecture: all\nMaintainer: raidtui\nSection: admin\n"
        f"Priority: optional\nInstalled-Size: {size_bytes >> 10}\nDepends: {', '.join(depends)}\n"
        f"Recommends: {', '.join(recommends)}\n"
        f"Suggests: {', '.join(dict.fromkeys((*contrib, 'python3-pyzfs')))}\n"
        "Description: compose, build, measure and compare Linux storage layouts\n"
        " A terminal tool with screens and commands. A scenario is one file; its layouts are built on disks that\n"
        " the operator names, measured with fio, judged, and taken down again.\n"
    )


def _bring(name: str, target: Path) -> None:
    """Copy the modules of an installed distribution, if it is installed and has no machine code."""
    try:
        files = distribution(name).files or []
    except ModuleNotFoundError:
        return
    modules = {path.parts[0] for path in files if path.suffix == ".py" and ".." not in path.parts}
    if any(path.suffix == ".so" for path in files):
        raise SystemExit(f"{name} has machine code and cannot be packed for all processors")
    for module in modules:
        source = Path(str(distribution(name).locate_file(module)))
        if source.is_dir():
            shutil.copytree(source, target / module, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / module)


def _download(wanted: str, target: Path, kind: tuple[str, str] | None = None) -> None:
    """Add a library from the package index to the folder: a pure one, or that for a kind of machine and a Python."""
    words = [sys.executable, *PIP_INSTALL]
    if kind is not None:
        machine, python = kind
        platforms = (f"--platform={name}_{machine}" for name in ("manylinux2014", "manylinux_2_28"))
        words += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}", *platforms]
    with tempfile.TemporaryDirectory() as found:
        subprocess.run([*words, "--target", found, wanted], check=True)
        shutil.copytree(found, target, ignore=shutil.ignore_patterns("*.pyi", "bin"), dirs_exist_ok=True)


def _raidtui(*words: str) -> bytes:
    return subprocess.run([sys.executable, "-m", "raidtui", *words], check=True, stdout=subprocess.PIPE).stdout


def _write(path: Path, data: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
