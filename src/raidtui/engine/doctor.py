"""Check what this server can build and measure, and name the missing tools with the way to install them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from raidtui.base.paths import state_folder
from raidtui.base.proc import ToolError, find_tool, run
from raidtui.engine.machine import library_versions, tool_version
from raidtui.engine.run.launch import has_systemd
from raidtui.inventory.interfaces import interfaces, rdma_ports
from raidtui.load.catalog import engines
from raidtui.load.iperf3 import IPERF3
from raidtui.load.perftest import PERFTEST
from raidtui.model.network import network_words
from raidtui.model.packages import named_in, remedy_for, translated
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import Check, Checkup
from raidtui.model.tool import KernelModule, Tool
from raidtui.model.units import size_text
from raidtui.stack.builder import process
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Layer

_MIN_FREE_BYTES: Final = 256 << 20
_PSUTIL: Final = (5, 9)
_BLIVET: Final = "blivet"


def checkup() -> Checkup:
    """Return all checks, the basic ones first."""
    layers = all_layers().values()
    checks = (
        _root(), _python(), _udev(), _systemd(), _space(),
        *(_tool(tool) for engine in engines().values() for tool in engine.tools),
        *(check for layer in layers for check in (*map(_tool, layer.tools), *map(_module, layer.modules))),
        *(_modules(layer.title, layer.builder_modules) for layer in layers if layer.builder_modules),
        _psutil(), _network(), _tool(IPERF3), _tool(PERFTEST),
        _builder(", ".join(f"{layer.title}s" for layer in layers if layer.built_by_blivet)),
    )  # fmt: skip
    distribution = _distribution()
    needed = dict.fromkeys(name for check in checks if not check.ok for name in named_in(check.remedy))
    abilities = [(*_ability(layer, {check.name: check for check in checks}), layer.kind) for layer in layers]
    return Checkup(
        "raidtui.doctor/1",
        socket.gethostname(),
        tuple(msgspec.structs.replace(check, remedy=remedy_for(distribution, check.remedy)) for check in checks),
        can_build=tuple(words for can, words, _ in abilities if can),
        cannot_build=tuple(kind for can, _, kind in abilities if not can),
        distribution=distribution,
        packages=translated(distribution, needed),
    )


def _distribution() -> str:
    """Return ID and ID_LIKE of os-release."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        return ""
    return f"{about['ID']} {about.get('ID_LIKE', '')}".strip()


def _ability(layer: Layer[Any], checks: Mapping[str, Check]) -> tuple[bool, str]:
    """Return True if the layer can be built, and its kind with the names of what it lacks."""
    needed = [tool.name for tool in layer.tools if not tool.without]
    needed += [module.name for module in layer.modules if not module.only_for]
    needed += [_name_of(layer.builder_modules)] if layer.builder_modules else []
    needed += [_BLIVET] if layer.built_by_blivet else []
    # One of several that do the same in different ways, such as mkfs.xfs and mkfs.ext4.
    choices = {tool.name: not checks[tool.name].optional for tool in layer.tools if tool.without}
    parts = {module.name: checks[module.name].ok for module in layer.modules if module.only_for}
    can = all(checks[name].ok for name in needed) and (any(choices.values()) or not choices)
    lacking = [name for name, there in (choices | parts).items() if not there]
    return can, f"{layer.kind} (without {', '.join(lacking)})" if lacking else layer.kind


def _root() -> Check:
    root = os.geteuid() == 0
    return Check("root", root, "yes" if root else "no", "looking into disks, building, measuring",
                 "" if root else "Run it with sudo, or name a server: --on root@HOST.")  # fmt: skip


def _python() -> Check:
    return Check("engine's Python", True, f"{sys.executable} {sys.version.split()[0]}")


def _tool(tool: Tool) -> Check:
    version = tool_version(tool.version_argv)
    if tool.path is not None and tool.without:
        version = version or "of an unknown version"
    if version is None:
        found = f"not found: {tool.without}" if tool.without else "not found"
        return Check(tool.name, bool(tool.without), found, tool.needed_for, tool.remedy, optional=bool(tool.without))
    numbers = tuple(map(int, re.findall(r"\d+", version.split("-")[0])))
    ok = not tool.at_least or numbers >= tool.at_least
    wanted = ".".join(map(str, tool.at_least))
    return Check(tool.name, ok, version, tool.needed_for, "" if ok else f"At least {wanted} is needed: {tool.remedy}")


def _builder(needed_for: str) -> Check:
    try:
        process.require()
    except ProblemError as error:
        return Check(_BLIVET, False, error.problems[0].message, needed_for, error.problems[0].remedy)
    return Check(_BLIVET, True, f"{importlib.metadata.version('blivet')}, with libblockdev 3", needed_for)


def _modules(title: str, modules: Mapping[str, str]) -> Check:
    name = _name_of(modules)
    try:
        process.require_modules(modules)
    except ProblemError as error:
        return Check(name, False, error.problems[0].message, f"{title}s", error.problems[0].remedy)
    return Check(name, True, "installed", f"{title}s")


def _name_of(modules: Mapping[str, str]) -> str:
    return ", ".join(modules)


def _psutil() -> Check:
    needed_for, at_least = "CPU of workloads, noisy neighbours, swapping", ".".join(map(str, _PSUTIL))
    version, remedy = library_versions().get("psutil"), "apt install python3-psutil"
    if version is None:
        return Check("psutil", False, "not found: cells do not name what else ran", needed_for, remedy)
    ok = tuple(map(int, re.findall(r"\d+", version))) >= _PSUTIL
    return Check("psutil", ok, version, needed_for, "" if ok else f"At least {at_least} is needed: {remedy}")


def _network() -> Check:
    found = network_words(interfaces(), rdma_ports())
    return Check("network", True, found or "no adapter", "exports, and what a cell's network carried")


def _module(wanted: KernelModule) -> Check:
    loaded = wanted.sign is not None and wanted.sign.exists()
    if not loaded and not _has_module(wanted.module):
        return Check(wanted.name, False, f"no module {wanted.module}", wanted.needed_for, wanted.remedy)
    if wanted.tool and find_tool(wanted.tool) is None:
        return Check(wanted.name, False, f"{wanted.tool} not found", wanted.needed_for, wanted.tool_remedy)
    return Check(wanted.name, True, "loaded" if loaded else "available as a module", wanted.needed_for)


def _has_module(name: str) -> bool:
    """Return True if the kernel has this module: loaded, built in or loadable."""
    modprobe = find_tool("modprobe")
    try:
        return modprobe is not None and run((modprobe, "--dry-run", name), timeout_s=10, check=False).code == 0
    except ToolError:
        return False


def _udev() -> Check:
    ok = Path("/run/udev/data").is_dir()
    return Check("udev", ok, "running" if ok else "not running", "recognising disks",
                 "" if ok else "Start systemd-udevd.")  # fmt: skip


def _systemd() -> Check:
    found = has_systemd()
    return Check("systemd", True, "yes: runs are services of their own" if found else
                 "no: runs are sessions of their own", "runs that outlive the connection")  # fmt: skip


def _space() -> Check:
    try:
        folder = state_folder()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check("space for runs", False, str(error), "journals and results")
    ok = free >= _MIN_FREE_BYTES
    return Check("space for runs", ok, f"{size_text(free)} free in {folder}", "journals and results",
                 "" if ok else f"At least {size_text(_MIN_FREE_BYTES)} should be free.")  # fmt: skip
