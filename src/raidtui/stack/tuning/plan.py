"""The steps of a layer's tuning, around the layer's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from raidtui.base.text import plural
from raidtui.model.plan import Names
from raidtui.model.problem import Problem, fail
from raidtui.model.scenario import Node, RoleRef
from raidtui.stack.layer import Draft, Layer, Part, Planned
from raidtui.stack.tuning.kernel import echo
from raidtui.stack.tuning.spec import DeviceQueue, Setting, Tuning, refusal


class _Group(NamedTuple):
    """Settings that are set in one step."""

    of: str
    """`3 disks of @data`, `the server`"""
    settings: tuple[tuple[Part | None, Setting], ...]
    """The device that it is of; None for the server's own."""


def tuning_of(node: Node) -> Tuning | None:
    found: Tuning | None = getattr(node.spec, "tuning", None)
    return found


def with_tuning(node: Node, roles: Mapping[str, tuple[Part, ...]], own: Planned, names: Names) -> Planned:
    """What a layer adds to a plan, with its tuning.

    Server and disks are set before it is built, its device once it is there. All is put back when the layer is gone, the
    last first. Raises ProblemError (`tuning-no-device`).
    """
    tuning = tuning_of(node)
    if tuning is None:
        return own
    before = [*_server(tuning), *_disks(node, tuning, roles)]
    early, late = _device(node, tuning, own)
    if own.before_cell and (early or late):
        text = f"with cold caches the device of this {node.kind} is made anew before each cell, and its tuning is gone"
        raise fail("tuning-no-device", text, place=f"{node.place}.tuning.device",
                   remedy='Leave it out, or set "caches": "warm" in the policy.')  # fmt: skip
    steps = [[_step(group, names) for group in groups] for groups in (before, early, late)]
    drafts = [[draft for draft, _ in made] for made in steps]
    first = next((at for at, draft in enumerate(own.build, 1) if draft.creates is not None), len(own.build))
    build = (*drafts[0], *own.build[:first], *drafts[1], *own.build[first:], *drafts[2])
    back = [draft for made in reversed(steps) for _, draft in reversed(made)]
    return own._replace(build=build, teardown=(*own.teardown, *back))


def problems_of(layout: Node, layers: Mapping[str, Layer[Any]]) -> Iterator[Problem]:
    """Why the tuning of a layout's layers cannot be."""
    seen: dict[str, str] = {}
    for node in layout.walk():
        tuning = tuning_of(node)
        if tuning is None:
            continue
        place = f"{node.place}.tuning"
        yield from tuning.problems(node.spec, place)
        yield from _of_nothing(node, tuning, layers[node.kind], place)
        for setting in tuning.server_settings():
            if setting.file in seen:
                text = f"{setting.words} is of the whole server, and {seen[setting.file]} sets it already"
                yield refusal("tuning-twice", text, place, "Say it in one layer.")
            seen[setting.file] = node.place


def _of_nothing(node: Node, tuning: Tuning, layer: Layer[Any], place: str) -> Iterator[Problem]:
    """Tuning of what this layer does not have."""
    roles = [source.role for sources in node.inputs.values() for source in sources if isinstance(source, RoleRef)]
    if tuning.disks is not None and not roles:
        yield refusal("tuning-no-device", f"no disk goes into this {node.kind} directly", f"{place}.disks",
                      "Tune the disks in the layer that stands on them.")  # fmt: skip
    for index, queue in enumerate(tuning.roles or ()):
        if queue.role.removeprefix("@") not in roles:
            text = f"{queue.role} does not go into this {node.kind} directly"
            yield refusal("tuning-no-device", text, f"{place}.roles[{index}].role", "Name a role that does.")
    if tuning.device is not None and (layer.offers != "block" or layer.target_kind(node.spec) != "block"):
        yield refusal("tuning-no-device", f"this {node.kind} makes no block device", f"{place}.device",
                      'Tune the disks: "disks", or the device of the layer below.')  # fmt: skip


def _server(tuning: Tuning) -> Iterator[_Group]:
    if settings := tuple(tuning.server_settings()):
        yield _Group("the server", tuple((None, setting) for setting in settings))


def _disks(node: Node, tuning: Tuning, roles: Mapping[str, tuple[Part, ...]]) -> Iterator[_Group]:
    """A step for each role."""
    for sources in node.inputs.values():
        for source in sources:
            if isinstance(source, RoleRef) and (settings := tuple(tuning.queue_of(source.role).settings())):
                parts = roles[source.role]
                of = f"{plural(len(parts), 'disk')} of @{source.role}"
                yield _Group(of, tuple((part, setting) for part in parts for setting in settings))


def _device(node: Node, tuning: Tuning, own: Planned) -> tuple[list[_Group], list[_Group]]:
    """What is set as soon as the layer's device is there, and what once it is finished."""
    groups: list[list[_Group]] = []
    for settings in (tuple(tuning.early_settings()), tuple((tuning.device or DeviceQueue()).settings())):
        if settings and own.offers is None:
            raise fail("tuning-no-device", f"this {node.kind} makes no block device", place=f"{node.place}.tuning")
        given = tuple((own.offers, setting) for setting in settings)
        groups.append([_Group(own.offers.path, given)] if given and own.offers else [])
    early, late = groups
    return early, late


def _step(group: _Group, names: Names) -> tuple[Draft, Draft]:
    """Setting, and putting back."""
    created = names.new("tuning")
    settings = [
        {"ref": part.ref if part else "", "file": setting.file, "value": setting.value} for part, setting in group.settings
    ]
    commands = tuple(
        echo(setting.file, setting.value, part.path if part else "", built=part is not None and not _is_disk(part))
        for part, setting in group.settings
    )
    args: dict[str, Any] = {"uuid": created.uuid, "settings": settings}
    words = ", ".join(dict.fromkeys(setting.words for _, setting in group.settings))
    return (
        Draft("tune.set", f"Tune {group.of}: {words}", args, commands, creates=created, seconds=0.2),
        Draft("tune.back", f"Put the tuning of {group.of} back", args, seconds=0.2),
    )


def _is_disk(part: Part) -> bool:
    return part.ref.startswith("disk:")
