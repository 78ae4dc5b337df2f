"""What a number depends on beside what was meant to be measured, as facts with names that two cells can share or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from raidtui.model.result import Cell, Result, Tuned

if TYPE_CHECKING:
    from raidtui.results.library.lean import LeanCell, LeanResult, LeanTuned

_READ_BACK = ("level", "chunk_bytes", "layout", "consistency", "bitmap", "journal_mode", "raid_disks", "metadata",
              "initial_sync", "volblocksize", "recordsize", "compression", "ashift", "sync", "stripe_bytes", "stripes",
              "cache_mode", "block_bytes")  # fmt: skip
"""Of what the kernel and the tools said of a layer: what numbers depend on, and names and identities do not."""

_OF_THE_RUN = ("filename", "name", "runtime", "size", "thread", "percentile_list", "group_reporting", "clat_percentiles",
               "exitall_on_error", "allow_file_create", "allow_mounted_write", "status-interval", "directory")  # fmt: skip
"""Options of fio that say where and how it reports, not what is done."""

_POLICY = ("prefill", "order", "cooldown", "caches")

_AS_BUILT = "as built: "
_Facts = tuple[tuple[str, str], ...]


class Confounder(NamedTuple):
    """Something that differs between a row and the baseline, beside what was meant to."""

    fact: str
    here: str
    baseline: str


def machine_facts(result: Result | LeanResult) -> dict[str, str]:
    """The server, its tools and its disks, and how the run was done."""
    machine, policy = result.machine, result.scenario.get("policy")
    facts = {
        "server": machine.host,
        "kernel": machine.kernel,
        "cpu": f"{machine.cpus} × {machine.cpu_model}" if machine.cpu_model else "",
        "memory": f"{machine.memory_bytes / 2**30:.0f} GiB" if machine.memory_bytes else "",
        "governor": machine.governor or "",
        "mitigations": ", ".join(f"{name}: {state}" for name, state in sorted(machine.mitigations.items())),
        "rehearsal": "yes" if result.rehearsal else "no",
        **{f"tool {name}": version for name, version in sorted(machine.tools.items())},
    }
    if isinstance(policy, dict):
        facts |= {f"policy {name}": _text(policy[name]) for name in _POLICY if name in policy}
    if result.disks:
        facts |= {
            "disks": _counted(disk.model or "unknown model" for disk in result.disks),
            "firmware": _counted(disk.firmware for disk in result.disks if disk.firmware),
            "scheduler": _counted(disk.scheduler for disk in result.disks if disk.scheduler),
            "write cache": _counted(disk.write_cache for disk in result.disks if disk.write_cache),
            "link": _counted(f"{d.link.speed_gts} GT/s x{d.link.width}" for d in result.disks if d.link),
        }
    else:
        facts["disks"] = _counted(disk.model or "unknown model" for disks in result.binding.values() for disk in disks)
    return {name: value for name, value in facts.items() if value}


def layout_facts(result: Result | LeanResult, layout: str) -> dict[str, str]:
    """Options of a layout by their place (`md.chunk`), as given, and where they were left out as the kernel reads them."""
    section = result.scenario.get("layouts")
    given = section.get(layout) if isinstance(section, dict) else None
    facts = dict(_flat(given, ""))
    for built in result.layouts:
        if built.layout != layout or built.status != "built":
            continue
        for read in built.read_back.values():
            if isinstance(read, dict):
                facts |= {f"{_AS_BUILT}{key}": _text(read[key]) for key in _READ_BACK if read.get(key) is not None}
        facts |= _tuned(built.tuning)
        if built.initial_sync:
            facts[f"{_AS_BUILT}initial_sync"] = built.initial_sync.split(":")[0].split(" for ")[0]
        break
    return facts


def _tuned(tuning: Mapping[str, Tuned | LeanTuned]) -> dict[str, str]:
    """Settings of the kernel by the name of their file; those of several devices together."""
    values: dict[str, set[str]] = {}
    for what, tuned in tuning.items():
        values.setdefault(_leaf(what), set()).add(tuned.set)
    return {f"{_AS_BUILT}{name}": ", ".join(sorted(found)) for name, found in values.items()}


def _leaf(name: str) -> str:
    """`chunk` of `md.chunk`, `scheduler` of `SERIAL queue/scheduler`."""
    return re.split(r"[./ ]", name)[-1]


def workload_facts(cell: Cell | LeanCell) -> dict[str, str]:
    """What the tool itself says that it ran with."""
    version, options = _said_of_itself(cell.report)
    facts = {f"fio {key}": _text(value) for key, value in options.items() if key not in _OF_THE_RUN}
    return facts | ({"tool fio": _text(version).removeprefix("fio-")} if version else {})


def _said_of_itself(report: Any) -> tuple[object, Mapping[str, Any]]:
    """Version and options in fio's report, whole or lean; nothing in the reports of other tools."""
    if isinstance(report, dict):
        version, options = report.get("fio version"), report.get("global options")
    else:
        version, options = getattr(report, "version", None), getattr(report, "options", None)
    return version, options if isinstance(options, dict) else {}


def confounders(
    here: Mapping[str, str], there: Mapping[str, str], layout: Mapping[str, str], baseline: Mapping[str, str],
    meant: frozenset[str] = frozenset(),
) -> tuple[Confounder, ...]:  # fmt: skip
    """What differs between two rows (facts of the surroundings, then options of the layouts) beside what was meant to.

    A layout is meant to differ in what it is: its layers and their levels; where those are the same, in one option. What
    only one of them has is part of what it is. `meant` names facts that were meant to differ.
    """
    found = []
    if here is not there and here != there:
        found += [Confounder(name, here[name], there[name]) for name in here if name in there and here[name] != there[name]]
    if layout and layout != baseline:
        found += _of_layouts(tuple(layout.items()), tuple(baseline.items()))
    return tuple(one for one in found if one.fact not in meant)


@lru_cache(maxsize=4096)
def _of_layouts(given_here: _Facts, given_there: _Facts) -> list[Confounder]:
    layout, baseline = dict(given_here), dict(given_there)
    common = [name for name in layout if name in baseline and layout[name] != baseline[name]]
    given = [name for name in common if not _built(name)]
    if len(given) == 1 and not _is_kind(given[0]) and _given_names(layout) == _given_names(baseline):
        return []
    # A chunk that was asked for is named once, not again as it was built.
    asked = {_leaf(name) for name in layout if not _built(name)}
    built = [name for name in common if _built(name) and not _follows(name, asked)]
    return [Confounder(name, layout[name], baseline[name]) for name in [*given, *built] if not _is_kind(name)]


def _built(name: str) -> bool:
    return name.startswith(_AS_BUILT)


def _given_names(facts: Mapping[str, str]) -> set[str]:
    return {name for name in facts if not _built(name)}


def _follows(name: str, asked: set[str]) -> bool:
    """What the kernel says of an option that was asked for, or of what the layout is."""
    leaf = name.removeprefix(_AS_BUILT)
    return leaf in asked or leaf.removesuffix("_bytes") in asked or leaf in ("layout", "raid_disks", "metadata")


def _is_kind(name: str) -> bool:
    return name.removeprefix(_AS_BUILT).rpartition(".")[2] in ("level", "type", "mode", "raid", "segtype")


def _flat(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Options by place; what a layer stands on is not one of them, but the layers below are walked."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key != "on" or isinstance(below, (dict, list)):
                yield from _flat(below, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _flat(below, f"{place}[{index}]")
    else:
        yield place, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in sorted(Counter(names).items()))


def given_options(facts: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """What a layout was defined by, without what was read back: equal for layouts that are the same."""
    return frozenset((name, value) for name, value in facts.items() if not _built(name))
