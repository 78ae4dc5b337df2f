"""The server as it is at the start of a run: what a reader of the result must know to believe it."""

from __future__ import annotations

import importlib.metadata
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from raidtui import __version__
from raidtui.base.files import read_text
from raidtui.base.proc import ToolError, find_tool, run
from raidtui.base.text import clean
from raidtui.inventory import machine_id
from raidtui.inventory.interfaces import interfaces, rdma_ports
from raidtui.load.catalog import engines
from raidtui.model.result import Machine
from raidtui.stack.catalog import all_layers

_LIBRARIES: Final = ("blivet", "psutil", "pyzfs")


def describe() -> Machine:
    """Read it from /proc, /sys and the tools themselves. What cannot be read is left out."""
    return Machine(
        host=os.uname().nodename,
        kernel=os.uname().release,
        distribution=_distribution(),
        cpu_model=_cpu_model(),
        cpus=os.cpu_count() or 0,
        memory_bytes=memory_bytes(),
        numa_nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        governor=read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        mitigations=_mitigations(),
        tools={"raidtui": __version__, **tool_versions()},
        machine_id=machine_id(),
        networks=interfaces(),
        rdma=rdma_ports(),
    )


def memory_bytes() -> int:
    """Return the physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def tool_versions() -> dict[str, str]:
    """Versions of the measuring and building tools that are installed."""
    needed = [engine.tools for engine in engines().values()] + [layer.tools for layer in all_layers().values()]
    versions = {tool.known_as or tool.name: tool_version(tool.version_argv) for tools in needed for tool in tools}
    return {name: version for name, version in {**versions, **library_versions()}.items() if version}


def library_versions() -> dict[str, str]:
    """Return the versions of the optional Python libraries that are installed, without importing them."""
    found = {}
    for name in _LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def tool_version(argv: tuple[str, ...]) -> str | None:
    """The first version number that a tool prints of itself, or None."""
    path = argv[0] if argv[0].startswith("/") else find_tool(argv[0])
    if path is None:
        return None
    try:
        finished = run((path, *argv[1:]), timeout_s=20, check=False)
    except ToolError:
        return None
    match = re.search(r"\d+\.\d+[\w.()+~-]*", finished.text + finished.error_text)
    return clean(match.group(), 40) if match else None


def _distribution() -> str:
    match = re.search(r'^PRETTY_NAME="?(.*?)"?$', read_text("/etc/os-release") or "", re.MULTILINE)
    return clean(match.group(1), 80) if match else ""


def _cpu_model() -> str:
    match = re.search(r"^model name\s*:\s*(.*)$", read_text("/proc/cpuinfo") or "", re.MULTILINE)
    return clean(match.group(1), 80) if match else os.uname().machine


def _mitigations() -> dict[str, str]:
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    if not folder.is_dir():
        return {}
    return {file.name: clean(read_text(file) or "", 120) for file in sorted(folder.iterdir())}
