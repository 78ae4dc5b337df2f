"""From a scenario and its binding to the ordered steps of a run. Pure: touches nothing, and decides nothing later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from raidtui.base.text import plural
from raidtui.engine.binding import resolve
from raidtui.engine.cautions import of_data, of_role
from raidtui.engine.reading import chosen, kind_problems, reductions, silent, stacking
from raidtui.load.catalog import engines
from raidtui.model.convert import plain
from raidtui.model.disk import Disk, fingerprint
from raidtui.model.plan import CellPlan, Names, Options, Phase, Plan, Step, plan_digest
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.scenario import Load, Node, Policy, RoleRef, Scenario
from raidtui.model.units import size_text
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Draft, Part, Planned, PlannedTarget
from raidtui.stack.tuning.plan import with_tuning

FIRST_TARGET_FD: Final = 100
"""Targets are open in the runner under these numbers, so that a plan can show the very argv that will run."""
QUICK_COOLDOWN_S: Final = 1.0
ZERO_BYTES_PER_S: Final = 2e8
"""A guess for estimates only, for a disk without discard."""
FILL_BYTES_PER_S: Final = 1e9


def make_plan(
    scenario: Scenario,
    binding: Mapping[str, tuple[Disk, ...]],
    options: Options,
    *,
    token: str,
    boot_id: str,
) -> Plan:
    """The plan of one run. The same arguments give the same plan. Raises ProblemError for what cannot fit these disks."""
    prints = {role: tuple(fingerprint(d, boot_id) for d in disks) for role, disks in binding.items()}
    planner = _Planner(scenario, binding, options, token)
    planner.whole()
    return Plan(
        digest=plan_digest(scenario.given, prints, options),
        token=token,
        scenario=dict(scenario.given),
        options=options,
        binding=prints,
        steps=tuple(planner.steps),
        cells=tuple(planner.cells),
        erases=tuple(sorted({disk for step in planner.steps for disk in step.erases})),
        seconds=sum(step.seconds for step in planner.steps),
        writes_bytes=_total(step.writes_bytes for step in planner.steps),
        warnings=tuple(planner.warnings),
    )


def used_roles(scenario: Scenario, options: Options) -> dict[str, Any]:
    """The roles that the chosen layouts mention: the others need no disks."""
    layouts, _ = chosen(scenario, options)
    used = {role for name in layouts for role in scenario.layouts[name].roles()}
    return {name: role for name, role in scenario.roles.items() if name in used}


class _Planner:
    """Collects steps in order."""

    def __init__(self, scenario: Scenario, binding: Mapping[str, tuple[Disk, ...]], options: Options, token: str) -> None:
        self.scenario = scenario
        self.policy = scenario.policy
        self.options = options
        self.parts = {role: tuple(map(disk_part, disks)) for role, disks in binding.items()}
        self.disks = {disk.id: disk for disks in binding.values() for disk in disks}
        self.names = Names(token)
        self.layouts, self.workloads = chosen(scenario, options)
        self.steps: list[Step] = []
        self.cells: list[CellPlan] = []
        self.warnings: list[str] = [text for role, disks in binding.items() for text in of_role(role, disks)]
        self.warnings += dict.fromkeys(text for name in self.layouts for text in stacking(scenario.layouts[name]))
        self.warnings += self._unsaid()
        self._place: dict[str, Any] = {"phase": "prepare", "block": ""}

    def whole(self) -> None:
        """Every step, from the gate to the last disk being blank."""
        self._add(Draft("admit", f"Check and lock {plural(len(self.disks), 'disk')}", seconds=2.0))
        blocks = list(self._blocks())
        layouts = self.scenario.layouts
        planned = {block: plan_layout(layouts[name], self.parts, self.names, self.policy) for block, name, _ in blocks}
        zeroed = {disk for block, name, _ in blocks if planned[block].needs_zero for disk in self._disks_of(name)}
        if zeroed:
            self._blank(sorted(zeroed), "Bring {} to zeroes and read them back")
        for block, name, rounds in blocks:
            self._block(block, name, rounds, planned[block])
        self._at("finish")
        self._add(Draft("release", "Check that every disk is blank and free", seconds=2.0))

    def _blocks(self) -> Iterator[tuple[str, str, list[int]]]:
        """(block, layout, rounds) in the order of the policy: a block is one building of a layout."""
        rounds = list(range(1, self.policy.rounds + 1))
        if self.policy.order == "grouped":
            yield from ((f"{name}#1", name, rounds) for name in self.layouts)
        else:
            yield from ((f"{name}#{number}", name, [number]) for number in rounds for name in self.layouts)

    def _block(self, block: str, name: str, rounds: list[int], planned: Planned) -> None:
        disks = self._disks_of(name)
        self._at("build", block)
        self._add(Draft("recheck", f"{name}: check its disks once more", {"disks": list(disks)}, seconds=1.0))
        for draft in planned.build:
            self._add(draft, erases=disks)
        self._at("measure", block)
        for number in rounds:
            for workload in (one for one in self.workloads if self.policy.meets(name, one)):
                for target in planned.targets:
                    self._cell(name, workload, number, target, disks, planned.before_cell)
        self._at("teardown", block)
        for draft in planned.teardown:
            self._add(draft)
        self._blank(disks, "Make {} blank again", if_written=True)

    def _cell(
        self,
        layout: str,
        workload: str,
        number: int,
        target: PlannedTarget,
        disks: tuple[str, ...],
        before: tuple[Draft, ...],
    ) -> None:
        load = self._load(layout, workload, target)
        engine, kind, size_bytes = engines()[load.kind], target.kind, target.size_bytes
        problems = engine.check_target(load.spec, load.place, size_bytes, kind=kind)
        if problems := [*kind_problems(engine, kind, load.place, layout), *problems]:
            raise ProblemError(*problems)
        cell = CellPlan(
            "/".join(filter(None, (layout, target.part, workload, str(number)))),
            layout, workload, number, target.part, size_bytes,
        )  # fmt: skip
        self.cells.append(cell)
        paths = tuple(f"/proc/self/fd/{FIRST_TARGET_FD + i}" for i in range(len(target.refs)))
        shown = ", ".join(target.paths)
        erased = tuple(d for d in disks if not target.part or d == target.part)
        args = {"refs": list(target.refs), "engine": load.kind, "size_bytes": size_bytes, "kind": kind,
                "spec": plain(load.spec)}  # fmt: skip
        region = engine.region_bytes(load.spec, size_bytes, kind=kind)
        # A directory is empty: there is nothing to read unless it is written before.
        fill = engine.reads(load.spec) and (self.policy.prefill or kind == "directory")
        if fill:
            title = f"{cell.id}: fill {size_text(region)} of {shown}"
            written = region * len(target.refs)
            command = engine.prefill_command(load.spec, paths, size_bytes=size_bytes, kind=kind)
            self._add(
                Draft("prefill", title, {**args, "region_bytes": region}, (command,),
                      writes_bytes=written, seconds=written / FILL_BYTES_PER_S),
                erases=erased, cell=cell.id,
            )  # fmt: skip
        for draft in before:
            self._add(draft._replace(title=f"{cell.id}: {draft.title}"), cell=cell.id)
        cooldown_s = min(self.policy.cooldown.seconds, QUICK_COOLDOWN_S if self.options.quick else 1e9)
        if cooldown_s:
            self._add(Draft("cooldown", f"{cell.id}: rest", {"seconds": cooldown_s}, seconds=cooldown_s), cell=cell.id)
        estimate = engine.estimate(load.spec, size_bytes, kind=kind)
        args |= {"part": target.part, "counted": target.counted, "laid_out": fill}
        command = engine.command(load.spec, paths, size_bytes=size_bytes, kind=kind)
        self._add(
            Draft("measure", f"{cell.id}: measure {shown}", args, (command,),
                  writes_bytes=estimate.max_written_bytes, seconds=estimate.seconds + 1),
            erases=erased, cell=cell.id,
        )  # fmt: skip

    def _load(self, layout: str, workload: str, target: PlannedTarget) -> Load:
        load = self.scenario.workloads[workload]
        engine, spec = engines()[load.kind], load.spec
        if reductions(self.scenario.layouts[layout]):
            spec = engine.stated(spec)
        if self.options.quick:
            spec = engine.quick(spec, target.size_bytes, kind=target.kind)
        return load._replace(spec=spec)

    def _unsaid(self) -> Iterator[str]:
        """What is written to layouts that make less of it, where the workloads do not say it."""
        layouts, loads = self.scenario.layouts, self.scenario.workloads
        reducing = {name: how for name in self.layouts if (how := reductions(layouts[name]))}
        met = [name for name in self.workloads if any(self.policy.meets(layout, name) for layout in reducing)]
        return of_data(reducing, silent({name: loads[name] for name in met}))

    def _disks_of(self, layout: str) -> tuple[str, ...]:
        roles = self.scenario.layouts[layout].roles()
        return tuple(disk for role in roles for part in self.parts[role] for disk in part.disks)

    def _blank(self, disks: Sequence[str], title: str, *, if_written: bool = False) -> None:
        """One step for all of them: they are written at the same time."""
        slow = [self.disks[disk].size_bytes for disk in disks if not self.disks[disk].discard]
        args = {"disks": [f"disk:{disk}" for disk in disks], "if_written": if_written}
        seconds = 2.0 + max(slow, default=0) / ZERO_BYTES_PER_S
        title = title.format(plural(len(disks), "disk"))
        self._add(Draft("disks.blank", title, args, writes_bytes=sum(slow), seconds=seconds), erases=tuple(disks))

    def _at(self, phase: Phase, block: str = "") -> None:
        self._place = {"phase": phase, "block": block}

    def _add(self, draft: Draft, *, erases: tuple[str, ...] = (), cell: str = "") -> None:
        self.steps.append(
            Step(
                id=f"{len(self.steps) + 1:03d}",
                action=draft.action,
                title=draft.title,
                cell=cell,
                args=draft.args,
                commands=draft.commands,
                undo=draft.undo,
                creates=draft.creates,
                erases=erases,
                writes_bytes=draft.writes_bytes,
                seconds=draft.seconds,
                **self._place,
            )
        )


def plan_layout(node: Node, roles: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned:
    """The layer and everything below it, as one: built from below, taken down from above."""
    build: list[Draft] = []
    teardown: list[Draft] = []
    parts: dict[str, tuple[Part, ...]] = {}
    needs_zero = False
    for name, sources in node.inputs.items():
        found: list[Part] = []
        for source in sources:
            if isinstance(source, RoleRef):
                found += roles[source.role]
                continue
            below = plan_layout(source, roles, names, policy)
            assert below.offers is not None, "refused when the scenario was read"
            if below.before_cell:
                raise fail("cold-below", f"caches of a {source.kind} cannot be emptied while a {node.kind} stands on it",
                           place=node.place, remedy='Measure it by itself, or set "caches": "warm" in the policy.',
                           exit=Exit.USAGE)  # fmt: skip
            build += below.build
            teardown = [*below.teardown, *teardown]
            needs_zero |= below.needs_zero
            found.append(below.offers)
        parts[name] = tuple(found)
    own = all_layers()[node.kind].plan(node.spec, parts, names, policy)
    own = with_tuning(node, roles, own, names)
    return Planned(
        (*build, *own.build),
        (*own.teardown, *teardown),
        own.targets,
        own.offers,
        needs_zero or own.needs_zero,
        own.before_cell,
    )


def disk_part(disk: Disk) -> Part:
    """A disk as a layer's input."""
    return Part(
        ref=f"disk:{disk.id}",
        path=disk.path,
        size_bytes=disk.size_bytes,
        logical_sector_bytes=disk.logical_sector_bytes,
        disks=(disk.id,),
        discard=disk.discard,
        rotational=bool(disk.rotational),
    )


def _total(values: Iterator[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def refused(plan: Plan, erase: tuple[str, ...], disks: Mapping[str, Disk]) -> list[Problem]:
    """What is wrong with the operator's consent: a disk too few, a disk too many, a name that names nothing."""
    named: set[str] = set()
    problems = []
    for name in erase:
        disk = resolve(name, disks.values())
        if disk is None:
            problems.append(Problem("erase-unknown", f"--erase names {name[:80]!r}, which is no disk here", exit=3))
        else:
            named.add(disk.id)
    for extra in sorted(named - set(plan.erases)):
        problems.append(
            Problem("erase-too-many", f"--erase names {extra}, which this plan does not erase", extra,
                    "Name exactly the disks that the plan erases.", exit=int(Exit.REFUSED))
        )  # fmt: skip
    for missing in sorted(set(plan.erases) - named):
        problems.append(
            Problem("erase-too-few", f"this plan erases {missing}, which --erase does not name", missing,
                    f"--erase {','.join(plan.erases)}", exit=int(Exit.REFUSED))
        )  # fmt: skip
    return problems


__all__ = ["FIRST_TARGET_FD", "disk_part", "make_plan", "plan_layout", "refused", "used_roles"]
