"""From three answers to a scenario: purpose, failures to survive, disks. Every choice is kept with its reason."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from raidtui.base.text import plural
from raidtui.client.engine_client import EngineClient
from raidtui.front.design.adapt import Adapted, adapted, scenario_in, with_layouts
from raidtui.front.design.assumptions import Speed
from raidtui.front.design.designed import Asked, Design, Omitted, design
from raidtui.front.design.layouts import DATA, FAST, LeftOut, layouts_for, roles_of, scenario_for
from raidtui.front.files import document
from raidtui.model.disk import Disk
from raidtui.model.disk_text import DiskGroup
from raidtui.model.problem import ProblemError, Refusal, fail

GUIDE_NONE: Final = Refusal(
    "guide-none",
    "No layout fits these answers",
    "No layout of these disks is possible and survives as many failures as asked.",
    "Ask for fewer failures to survive (--survive), or describe more disks (--disks).",
)


class Purpose(NamedTuple):
    """A use of storage, and the shipped scenario that was made for it."""

    words: str
    scenario: str


PURPOSES: Final = {
    "database": Purpose("transactions: small random pages, and a log that must be durable", "database-oltp"),
    "vms": Purpose("many virtual disks that read and write small blocks at once", "vm-store"),
    "backup": Purpose("a few large streams in, large streams back", "backup-target"),
    "files": Purpose("many small files beside large ones", "hdd-pool-with-special"),
}


class Answers(NamedTuple):
    """The answers to the three questions."""

    purpose: str
    survive: int
    groups: tuple[DiskGroup, ...]
    disks: tuple[tuple[Disk, ...], ...]
    speeds: dict[str, Speed]


def guided(engine: EngineClient, answers: Answers) -> Design:
    """Return the design for three answers. Raises ProblemError (`guide-none`)."""
    shipped = scenario_in(document(PURPOSES[answers.purpose].scenario))
    own, notes = _own(answers), [f"Purpose {answers.purpose}: {shipped.get('why', '')} (--for)"]
    found: Design | None = None
    fitting = adapted(shipped, answers.groups, answers.disks, share=False)
    if own.bind[DATA] == fitting.bind.get(DATA):
        notes.append(f"Layouts and workloads are those of the shipped scenario {shipped['name']}.")
        found = _surviving(engine, _asked(answers, fitting, tuple(notes)), answers.survive)
    if found is None or not found.layouts:
        why = "survives that" if found is not None else "stands on the disks with most room"
        text = f"No layout of the shipped scenario {shipped['name']} {why}: these make sense on any such disks, with its "
        notes = [*notes[:1], f"{text}workloads where they fit."]
        left = found.left_out if found is not None else ()
        scenario = {**own.scenario, "workloads": shipped["workloads"]}
        asked = msgspec.structs.replace(own, notes=tuple(notes), scenario=scenario)
        found = _surviving(engine, asked, answers.survive)
        if found.seconds is None:  # a workload that does not fit a layout: general ones fit all
            notes[-1] = f"{text.removesuffix('its ')}general workloads, since its own do not fit all of them."
            found = _surviving(engine, msgspec.structs.replace(own, notes=tuple(notes)), answers.survive)
        found = msgspec.structs.replace(found, left_out=(*found.left_out, *left))
    if not found.layouts:
        reasons = "; ".join(f"{one.name}: {one.why}" for one in found.left_out[:6])
        raise fail(GUIDE_NONE, f"no layout of these disks survives {answers.survive} failures ({reasons})",
                   remedy=GUIDE_NONE.way_out)  # fmt: skip
    name, title = f"guide-{answers.purpose}", f"{shipped.get('title', '')}, for {_words(answers)}"
    return msgspec.structs.replace(found, scenario={**found.scenario, "name": name, "title": title[:200]})


def _words(answers: Answers) -> str:
    return ", ".join(group.words for group in answers.groups)


def _asked(answers: Answers, fitting: Adapted, notes: tuple[str, ...]) -> Asked:
    return Asked(answers.groups, answers.disks, fitting.scenario, fitting.bind, {}, answers.speeds, fitting.left_out,
                 (*notes, *fitting.notes))  # fmt: skip


def _own(answers: Answers) -> Asked:
    """Return the layouts that make sense on these disks, with general workloads."""
    return asked_for(answers.groups, answers.disks, answers.speeds)


def asked_for(
    groups: tuple[DiskGroup, ...], disks: tuple[tuple[Disk, ...], ...], speeds: dict[str, Speed]
) -> Asked:
    """Return everything that a design of the layouts which make sense on these disks is made from."""
    roles = roles_of(groups)
    choices, left = layouts_for(roles)
    title = "Layouts for " + ", ".join(group.words for group in groups)
    ids = {id(group): tuple(disk.id for disk in found) for group, found in zip(groups, disks, strict=True)}
    bind = {DATA: ids[id(roles.data)], **({FAST: ids[id(roles.fast)]} if roles.fast is not None else {})}
    notes = tuple(f"Not used: {group.words}." for group in roles.others)
    scenario = scenario_for("design", title[:200], roles, choices)
    return Asked(groups, disks, scenario, bind, {one.name: one.why for one in choices}, speeds, tuple(left), notes)


def _surviving(engine: EngineClient, asked: Asked, survive: int) -> Design:
    """Return the design with the layouts that survive so many failures alone; without layouts if there are none."""
    try:
        found = design(engine, asked)
    except ProblemError as error:
        omitted = tuple(Omitted(name, error.problems[0].message) for name in asked.scenario["layouts"])
        return Design("", (), (), (), omitted, asked.scenario)
    strong = [one.name for one in found.layouts if (one.view.may_fail or 0) >= survive]
    weak = [LeftOut(one.name, f"survives {plural(one.view.may_fail or 0, 'failure')}, {survive} are asked (--survive)")
            for one in found.layouts if one.name not in strong]  # fmt: skip
    left = tuple(LeftOut(one.name, one.why) for one in found.left_out) + tuple(weak)
    if not strong:
        return msgspec.structs.replace(found, layouts=(), left_out=tuple(Omitted(*one) for one in left))
    if len(strong) == len(asked.scenario["layouts"]):
        return found
    scenario = with_layouts(asked.scenario, strong)
    bind = {role: ids for role, ids in asked.bind.items() if role in scenario["roles"]}
    return design(engine, msgspec.structs.replace(asked, scenario=scenario, bind=bind, left_out=left))
