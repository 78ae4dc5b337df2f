"""Planning of tuning: settings around the steps of a layer, and their restoration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from raidtui.base.text import plural
from raidtui.model.plan import Names
from raidtui.model.problem import Problem, fail
from raidtui.model.scenario import Node, RoleRef
from raidtui.stack.layer import Draft, Layer, Part, Planned
from raidtui.stack.tuning.apply import echo
from raidtui.stack.tuning.spec import (
    TUNING_NO_DEVICE,
    TUNING_TWICE,
    DeviceQueue,
    Setting,
    SettingOfDevice,
    Settings,
    Tuning,
)


class _Group(NamedTuple):
    """Settings of one step."""

    of: str
    """Tuned devices: `3 disks of @data`, `the server`."""
    settings: tuple[tuple[Part | None, Setting], ...]
    """Device and setting; None for the server."""


def tuning_in(spec: Any) -> Tuning | None:
    """Return the tuning in the options of a layer; None if the layer has none, or none is given."""
    found: Tuning | None = getattr(spec, "tuning", None)
    return found


def with_tuning(node: Node, roles: Mapping[str, tuple[Part, ...]], own: Planned, names: Names) -> Planned:
    """Return the plan of a layer with the steps of its tuning.

    Server and disks are tuned before the layer is built, its device once it exists. All settings are restored after the
    teardown of the layer, in reverse order. Raises ProblemError (`tuning-no-device`).
    """
    tuning = tuning_in(node.spec)
    if tuning is None:
        return own
    before = list(_disks(node, tuning, roles))
    if settings := tuple(tuning.server_settings()):
        before.insert(0, _Group("the server", tuple((None, setting) for setting in settings)))
    early, late = _device(node, tuning, own)
    if own.renewed and (early or late):
        text = f"the device of this {node.kind} is created again before each cell, without its tuning"
        raise fail(TUNING_NO_DEVICE, text, place=f"{node.place}.tuning.device",
                   remedy='Leave it out, or cold caches and the rewind in the policy.')  # fmt: skip
    steps = [[_step(group, names) for group in groups] for groups in (before, early, late)]
    drafts = [[draft for draft, _ in made] for made in steps]
    first = next((at for at, draft in enumerate(own.build, 1) if draft.creates is not None), len(own.build))
    build = (*drafts[0], *own.build[:first], *drafts[1], *own.build[first:], *drafts[2])
    back = [draft for made in reversed(steps) for _, draft in reversed(made)]
    return own._replace(build=build, teardown=(*own.teardown, *back))


def problems_of(layout: Node, layers: Mapping[str, Layer[Any]]) -> Iterator[Problem]:
    """Yield the reasons why the tuning of a layout is not possible."""
    seen: dict[str, str] = {}
    for node in layout.walk():
        tuning = tuning_in(node.spec)
        if tuning is None:
            continue
        place = f"{node.place}.tuning"
        yield from tuning.problems(node.spec, place)
        yield from _without_device(node, tuning, layers[node.kind], place)
        for setting in tuning.server_settings():
            if setting.file in seen:
                text = f"{setting.words} is a setting of the whole server and already set by {seen[setting.file]}"
                yield TUNING_TWICE.problem(text, place=place, remedy="Give it in one layer.")
            seen[setting.file] = node.place


def _without_device(node: Node, tuning: Tuning, layer: Layer[Any], place: str) -> Iterator[Problem]:
    """Yield tuning of disks or devices that the layer does not have."""
    roles = [source.role for sources in node.inputs.values() for source in sources if isinstance(source, RoleRef)]
    if tuning.disks is not None and not roles:
        yield TUNING_NO_DEVICE.problem(f"no disk is a direct input of this {node.kind}", place=f"{place}.disks",
                                       remedy="Tune the disks in the layer that uses them.")  # fmt: skip
    for index, queue in enumerate(tuning.roles or ()):
        if queue.role.removeprefix("@") not in roles:
            text = f"{queue.role} is not a direct input of this {node.kind}"
            yield TUNING_NO_DEVICE.problem(text, place=f"{place}.roles[{index}].role", remedy="Name an input of it.")
    if tuning.device is not None and (layer.offers != "block" or layer.target_kind(node.spec) != "block"):
        yield TUNING_NO_DEVICE.problem(f"this {node.kind} creates no block device", place=f"{place}.device",
                                       remedy='Tune the disks: "disks", or the device of the layer below.')  # fmt: skip


def _disks(node: Node, tuning: Tuning, roles: Mapping[str, tuple[Part, ...]]) -> Iterator[_Group]:
    """Yield one group for each role."""
    for sources in node.inputs.values():
        for source in sources:
            if isinstance(source, RoleRef) and (settings := tuple(tuning.queue_of(source.role).settings())):
                parts = roles[source.role]
                of = f"{plural(len(parts), 'disk')} of @{source.role}"
                yield _Group(of, tuple((part, setting) for part in parts for setting in settings))


def _device(node: Node, tuning: Tuning, own: Planned) -> tuple[list[_Group], list[_Group]]:
    """Return the groups to set as soon as the device exists, and those to set once it is finished."""
    groups: list[list[_Group]] = []
    for settings in (tuple(tuning.early_settings()), tuple((tuning.device or DeviceQueue()).settings())):
        if settings and not own.offers:
            raise fail(TUNING_NO_DEVICE, f"this {node.kind} creates no block device", place=f"{node.place}.tuning")
        given = tuple((part, setting) for part in own.offers for setting in settings)
        groups.append([_Group(", ".join(part.path for part in own.offers), given)] if given else [])
    early, late = groups
    return early, late


def _step(group: _Group, names: Names) -> tuple[Draft, Draft]:
    """Return the steps that write and restore the settings."""
    created = names.new("tuning")
    settings, commands = [], []
    for part, setting in group.settings:
        ref, path = (part.ref, part.path) if part is not None else ("", "")
        settings.append(SettingOfDevice(ref, setting.file, setting.value))
        commands.append(echo(setting.file, setting.value, path, built=not ref.startswith("disk:")))
    args = Settings(created.uuid, tuple(settings))
    words = ", ".join(dict.fromkeys(setting.words for _, setting in group.settings))
    return (
        Draft("tune.set", f"Tune {group.of}: {words}", args, tuple(commands), creates=created, seconds=0.2),
        Draft("tune.back", f"Put the tuning of {group.of} back", args, seconds=0.2),
    )
