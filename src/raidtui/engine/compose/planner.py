"""Plan the ordered steps of a run from a scenario and its binding. Pure: no step is decided later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from raidtui.base.text import plural
from raidtui.engine.compose import preconditioning
from raidtui.engine.compose.cautions import of_data, of_memory, of_role
from raidtui.engine.compose.ceilings import ceilings
from raidtui.engine.compose.host_roles import ROLE_HOST, group_of, hosted_roles, names_on
from raidtui.engine.compose.hosts import mtu_warnings
from raidtui.engine.compose.layout import Hosts, disk_part, plan_layout, plan_on_hosts
from raidtui.engine.compose.ordering import Block, blocks_of, workloads_of
from raidtui.engine.compose.own_steps import fill_step, links_step, loaded_by
from raidtui.engine.compose.reading import chosen, keeps_nothing, over_rdma, reductions, silent, stacking
from raidtui.engine.compose.sweeps import by_sweep, sweep_plans
from raidtui.engine.compose.targets import as_run, memory_for, unfit
from raidtui.engine.compose.write_amplification import data_roles, expected
from raidtui.engine.lasting.kept import kept_layout
from raidtui.engine.lasting.names import the_layout
from raidtui.engine.run.passes import MOST_PASSES, QUICK_PASSES
from raidtui.engine.step_args import CellRun, Cooldown, Recheck
from raidtui.load.catalog import engines
from raidtui.model.convert import plain
from raidtui.model.disk import Disk, fingerprint, host_of, on_host
from raidtui.model.plan import KEEP, CellPlan, Keep, Kept, Names, Options, Phase, Plan, Step, block_name, plan_digest
from raidtui.model.problem import Problem, ProblemError, fail
from raidtui.model.scenario import Load, Node, Scenario
from raidtui.model.units import duration_text
from raidtui.stack.blank import DisksToBlank
from raidtui.stack.layer import Draft, Planned, PlannedTarget

QUICK_COOLDOWN_S: Final = 1.0
SECTOR: Final = 512
"""Logical sector of what stands on no disk."""
ZERO_BYTES_PER_S: Final = 2e8
"""A guess for estimates only, for a disk without discard."""


def make_plan(
    scenario: Scenario,
    binding: Mapping[str, tuple[Disk, ...]],
    options: Options,
    *,
    token: str,
    boot_id: str,
    hosts: Hosts = MappingProxyType({}),
) -> Plan:
    """The plan of one run. The same arguments give the same plan. Raises ProblemError for what cannot fit these disks.

    `binding`: disks by role; those of another host by host and role, under the names that they have in plans
    (`model.disk.on_host`).
    """
    boots = {"": boot_id, **{host.ref: host.boot_id for found in hosts.values() for host in found}}
    prints = {
        role: tuple(fingerprint(d, boots[host], host) for d in disks)
        for role, disks in binding.items() for host in (host_of(role),)
    }  # fmt: skip
    digest = plan_digest(scenario.given, prints, options, hosts)
    planner = _Planner(scenario, binding, options, token, digest, hosts)
    planner.whole()
    return Plan(
        digest=digest,
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
        ceilings={one.name: one.given for one in planner.bare.values()},
        sweeps=tuple(sweep_plans(planner.cells, planner.steps)),
        hosts=dict(hosts),
        kept=planner.kept,
    )


def used_roles(scenario: Scenario, options: Options) -> dict[str, Any]:
    """The roles that the chosen layouts mention: the others need no disks."""
    layouts, _ = chosen(scenario, options)
    used = {role for name in layouts for role in scenario.layouts[name].roles()}
    return {name: role for name, role in scenario.roles.items() if name in used}


class _Planner:
    """Collects steps in order."""

    def __init__(
        self, scenario: Scenario, binding: Mapping[str, tuple[Disk, ...]], options: Options, token: str, seed: str,
        hosts: Hosts,
    ) -> None:  # fmt: skip
        self.scenario = scenario
        self.seed = seed
        self.hosts = hosts
        self.policy = scenario.policy
        self.options = options
        self.parts = {role: tuple(map(disk_part, disks)) for role, disks in binding.items()}
        self.of_roles = hosted_roles(scenario.roles, scenario.hosts)
        # Of several hosts that build the same, the first one has the figures.
        first = {role: names_on(role, self.of_roles, hosts)[:1] for role in self.of_roles}
        self.parts |= {role: self.parts[name] for role, names in first.items() for name in names if name in self.parts}
        self.disks = {disk.id: disk for disks in binding.values() for disk in disks}
        self.host_of = {disk.id: host_of(role) for role, disks in binding.items() for disk in disks}
        self.names = Names(token)
        self.layouts, loads = chosen(scenario, options)
        self.workloads = [] if options.keep is not None else loads
        added = ceilings(scenario, self.layouts, self.workloads, self.parts)
        self.bare = {one.name: one for one in added.layouts}
        """Ceilings, measured before the scenario's own layouts."""
        self.nodes = {**{name: one.node for name, one in self.bare.items()}, **scenario.layouts}
        self.token = token
        self.kept: Kept | None = None
        self.steps: list[Step] = []
        self.cells: list[CellPlan] = []
        self.warnings: list[str] = [text for role, disks in binding.items() for text in of_role(role, disks)]
        self.warnings += dict.fromkeys(text for name in self.layouts for text in stacking(scenario.layouts[name]))
        self.warnings += [*self._unsaid(), *added.warnings, *mtu_warnings(hosts)]
        self._place: dict[str, Any] = {"phase": "prepare", "block": ""}

    def whole(self) -> None:
        """Plan every step, from admission to the last blank disk."""
        self._add(Draft("admit", f"Check and lock {plural(len(self.disks), 'disk')}", seconds=2.0))
        if self.options.keep is not None:
            self._keep(self.options.keep)
            return
        if count := sum(map(len, self.hosts.values())):
            rdma = any(over_rdma(self.nodes[name]) for name in self.layouts)
            self._add(links_step(count, rdma=rdma, rates=self.policy.ceilings))
        blocks = list(blocks_of([*self.bare, *self.layouts], self.policy, self.seed))
        planned = self._planned(blocks)
        needing = (block for block, plan in zip(blocks, planned, strict=True) if plan.needs_zero)
        zeroed = {disk for block in needing for disk in self._disks_of(block.layout)}
        every = {block.layout: plan for block, plan in zip(blocks, planned, strict=True)}
        self._refuse_unfit(every)
        made = {name: plan for name, plan in every.items() if name in self.layouts}
        self.warnings += self._kept_in_memory(made)
        if zeroed:
            self._blank(sorted(zeroed), "Bring {} to zeroes and read them back")
        for block, plan in zip(blocks, planned, strict=True):
            self._block(block, plan)
        self._at("finish")
        for host in dict.fromkeys(("", *self.host_of.values())):
            self._add(Draft("release", "Check that every disk is blank and free", seconds=2.0).by(host))

    def _keep(self, keep: Keep) -> None:
        """Plan one layout that is built for good."""
        layout = the_layout(self.layouts)
        disks = self._disks_of(layout)
        self._refuse_hosts(disks, layout, "kept for good there")
        made = kept_layout(self.nodes[layout], self.parts, self.policy, keep, token=self.token)
        self.kept = made.kept
        self._at("build", block_name(layout, 1))
        self._add(Draft("recheck", f"{layout}: check its disks once more", Recheck(disks), seconds=1.0))
        for draft in made.build:
            self._add(draft, erases=disks)
        self._at("keep", block_name(layout, 1))
        self._add(Draft(KEEP, f"Keep {keep.name}: from here on nothing of it is taken down"))
        for draft in made.keep:
            self._add(draft)
        self._at("teardown", block_name(layout, 1))
        for draft in made.teardown:
            self._add(draft._replace(seconds=0.0, writes_bytes=0))
        self._blank(disks, "Make {} blank again", if_written=True)
        # What happens only if the build fails is in no estimate.
        self.steps[-1] = msgspec.structs.replace(self.steps[-1], seconds=0.0, writes_bytes=0)

    def _planned(self, blocks: Sequence[Block]) -> list[Planned]:
        """The layouts in the order of their blocks. Raises ProblemError with what is wrong with any of them."""
        planned: list[Planned] = []
        problems: dict[Problem, None] = {}
        for block in blocks:
            try:
                planned.append(self._plan(self.nodes[block.layout]))
            except ProblemError as error:
                problems |= dict.fromkeys(error.problems)
        if problems:
            raise ProblemError(*problems)
        return planned

    def _plan(self, node: Node) -> Planned:
        group = group_of(node, self.scenario.roles, self.scenario.hosts)
        if not group:
            return plan_layout(node, self.parts, self.names, self.policy, self.hosts)
        own = {host.ref: {role: self.parts[on_host(host.ref, role)] for role in node.roles()} for host in self.hosts[group]}
        return plan_on_hosts(node, own, self.names, self.policy)

    def _refuse_unfit(self, planned: Mapping[str, Planned]) -> None:
        """Raise ProblemError with every workload that cannot run on a layout: once each, however many targets there are."""
        problems: dict[Problem, None] = {}
        for layout, made in planned.items():
            sector = max((self.disks[disk].logical_sector_bytes for disk in self._disks_of(layout)), default=SECTOR)
            for workload in (one for one in self.workloads if self._meets(layout, one)):
                given = self.scenario.workloads[workload]
                found = (
                    list(unfit(layout, self._load(layout, workload, target), given, target, made.offers, sector))
                    for target in made.targets
                )
                problems |= dict.fromkeys(next(filter(None, found), ()))
        if problems:
            raise ProblemError(*problems)

    def _block(self, block: Block, planned: Planned) -> None:
        name, disks = block.layout, self._disks_of(block.layout)
        self._at("build", block.name)
        for host, own in self._by_host(disks):
            self._add(Draft("recheck", f"{name}: check its disks once more", Recheck(own), seconds=1.0).by(host))
        if disks:
            self._precondition(disks)
        for draft in planned.build:
            self._add(draft, erases=disks)
        met = [workload for workload in self.workloads if self._meets(name, workload)]
        if planned.filled:
            self._fill_once(name, met, planned, disks)
        self._at("measure", block.name)
        for number in block.rounds:
            for workload in workloads_of(met, self.policy, self.seed, block, number):
                for target in planned.targets:
                    self._cell(block, workload, number, target, disks, planned)
        self._at("teardown", block.name)
        for draft in planned.teardown:
            self._add(draft)
        if disks:
            self._blank(disks, "Make {} blank again", if_written=True)

    def _meets(self, layout: str, workload: str) -> bool:
        return workload in self.bare[layout].workloads if layout in self.bare else self.policy.meets(layout, workload)

    def _cell(
        self,
        block: Block,
        workload: str,
        number: int,
        target: PlannedTarget,
        disks: tuple[str, ...],
        planned: Planned,
    ) -> None:
        layout = block.layout
        load = self._load(layout, workload, target)
        engine, kind, size_bytes = engines()[load.kind], target.kind, target.size_bytes
        cell = CellPlan(
            "/".join(filter(None, (layout, target.part, workload, str(number), "again" if block.again else ""))),
            layout, workload, number, target.part, size_bytes, self._data_disks(layout, target),
            expected(self.nodes[layout], self.scenario.roles, engine.pattern(load.spec)), block.again, load.sweep,
        )  # fmt: skip
        self.cells.append(cell)
        shown = ", ".join(target.paths)
        erased = tuple(d for d in disks if not target.part or d == target.part)
        options: dict[str, Any] = plain(load.spec)
        region = engine.region_bytes(load.spec, size_bytes, kind=kind)
        # A directory is empty: there is nothing to read unless it is written before.
        fill = engine.reads(load.spec) and (self.policy.prefill or kind == "directory")
        in_vain = keeps_nothing(self.nodes[layout])
        for draft in planned.reset:
            self._add(draft._replace(title=f"{cell.id}: {draft.title}"), cell=cell.id)
        if fill and not in_vain and (kind == "directory" or not planned.filled):
            self._add(fill_step(f"{cell.id}: ", load, target), erases=erased, cell=cell.id)
        for draft in planned.before_cell:
            self._add(draft._replace(title=f"{cell.id}: {draft.title}"), cell=cell.id)
        cooldown_s = min(self.policy.cooldown.seconds, QUICK_COOLDOWN_S if self.options.quick else 1e9)
        if cooldown_s:
            self._add(Draft("cooldown", f"{cell.id}: rest", Cooldown(cooldown_s), seconds=cooldown_s), cell=cell.id)
        estimate = engine.estimate(load.spec, size_bytes, kind=kind)
        node, given = self.nodes[layout], self.scenario.given.get("policy", {})
        args = CellRun(
            target.refs, load.kind, size_bytes, kind, options, target.on, target.part, target.counted,
            fill or in_vain,
            tuple(one.kind for one in node.walk()), reductions(node), given.get("caches", ""), region * target.regions,
        )  # fmt: skip
        if target.on and engine.from_hosts:
            command, files = engine.hosted(load.spec, target.on, size_bytes=size_bytes, kind=kind)
        else:
            command, files = engine.command(load.spec, target.paths, size_bytes=size_bytes, kind=kind), {}
        title, most = f"{cell.id}: measure {shown}{loaded_by(target)}", 1
        writes: int | None = estimate.max_written_bytes
        if self.policy.steady:
            most = QUICK_PASSES if self.options.quick else MOST_PASSES
            title += f", up to {most} passes of about {duration_text(estimate.seconds)} until it is steady"
            args = msgspec.structs.replace(args, passes=most)
        self._add(
            Draft("measure", title, args, (command,), writes_bytes=None if writes is None else writes * most,
                  seconds=estimate.seconds * most + 1, files=files),
            erases=erased, cell=cell.id,
        )  # fmt: skip

    def _fill_once(self, layout: str, workloads: Sequence[str], planned: Planned, disks: tuple[str, ...]) -> None:
        """Fill the largest region that a workload reads, and do what follows it. Files are laid out by the cells."""
        (target,) = planned.targets
        loads = [self._load(layout, workload, target) for workload in workloads]
        reading = [load for load in loads if engines()[load.kind].reads(load.spec)]
        if reading and self.policy.prefill and target.kind == "block":
            largest = max(reading, key=lambda load: engines()[load.kind].region_bytes(load.spec, target.size_bytes))
            self._add(fill_step(f"{layout}: ", largest, target), erases=disks)
        for draft in planned.filled:
            self._add(draft)

    def _load(self, layout: str, workload: str, target: PlannedTarget) -> Load:
        load, node = self.scenario.workloads[workload], self.nodes[layout]
        return as_run(load, node, self.policy, target, quick=self.options.quick)

    def _kept_in_memory(self, planned: Mapping[str, Planned]) -> Iterator[str]:
        """Workloads whose reads a layer may answer from memory, by layout."""
        found: dict[tuple[str, str], int] = {}
        for layout, made in planned.items():
            for workload in (one for one in self.workloads if self.policy.meets(layout, one)):
                for target in made.targets:
                    load = self._load(layout, workload, target)
                    most = memory_for(self.scenario.layouts[layout], self.policy, load, target)
                    if most is not None:
                        found[layout, workload] = most
        return of_memory(found, self.scenario.workloads)

    def _unsaid(self) -> Iterator[str]:
        """Warn about workloads that do not state the compressibility of the data they write to reducing layouts."""
        layouts, loads = self.scenario.layouts, self.scenario.workloads
        reducing = {name: how for name in self.layouts if (how := reductions(layouts[name]))}
        met = [name for name in self.workloads if any(self.policy.meets(layout, name) for layout in reducing)]
        return of_data(reducing, by_sweep(silent({name: loads[name] for name in met}), loads))

    def _data_disks(self, layout: str, target: PlannedTarget) -> tuple[str, ...]:
        """Return the disks that keep the data of a target; if it is a single disk of the layout, that disk."""
        if any(self.host_of[disk] for disk in self._disks_of(layout)):
            return ()  # nothing of them is seen here
        roles = data_roles(self.nodes[layout], self.scenario.roles)
        disks = tuple(disk for role in roles for part in self.parts[role] for disk in part.disks)
        return (target.part,) if target.part else disks

    def _disks_of(self, layout: str) -> tuple[str, ...]:
        """Return the disks of a layout, on every host that builds it."""
        roles = self.nodes[layout].roles()
        names = [name for role in roles for name in names_on(role, self.of_roles, self.hosts)]
        return tuple(disk for name in names for part in self.parts[name] for disk in part.disks)

    def _refuse_hosts(self, disks: Sequence[str], place: str, what: str) -> None:
        """Raise ProblemError if one of these disks is another host's: it cannot be `what`."""
        if host := next(filter(None, (self.host_of[disk] for disk in disks)), ""):
            raise fail(ROLE_HOST, f"disks of {host} cannot be {what}", place=place, remedy=ROLE_HOST.way_out)

    def _by_host(self, disks: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each host with those of these disks that it has: empty for the storage server."""
        for host in dict.fromkeys(self.host_of[disk] for disk in disks):
            yield host, tuple(disk for disk in disks if self.host_of[disk] == host)

    def _blank(self, disks: Sequence[str], title: str, *, if_written: bool = False) -> None:
        """One step for all disks of a host: they are written at the same time."""
        for host, own in self._by_host(disks):
            slow = [self.disks[disk].size_bytes for disk in own if not self.disks[disk].discard]
            args = DisksToBlank(tuple(f"disk:{disk}" for disk in own), if_written)
            seconds = 2.0 + max(slow, default=0) / ZERO_BYTES_PER_S
            words = title.format(plural(len(own), "disk"))
            draft = Draft("disks.blank", words, args, writes_bytes=sum(slow), seconds=seconds)
            self._add(draft.by(host), erases=own)

    def _precondition(self, disks: tuple[str, ...]) -> None:
        """Purge and write them, where the policy asks for it."""
        if times := self.policy.precondition_times:
            self._refuse_hosts(disks, "policy.precondition", "written before a layout is built")
            self._blank(disks, "Purge {}")
            found = [self.disks[disk] for disk in disks]
            draft = preconditioning.draft(found, self.policy.precondition, times, quick=self.options.quick)
            self._add(draft, erases=disks)

    def _at(self, phase: Phase, block: str = "") -> None:
        self._place = {"phase": phase, "block": block}

    def _add(self, draft: Draft, *, erases: tuple[str, ...] = (), cell: str = "") -> None:
        self.steps.append(
            Step(
                id=f"{len(self.steps) + 1:03d}",
                action=draft.action,
                title=draft.title,
                cell=cell,
                args=msgspec.to_builtins(draft.args),
                commands=draft.commands,
                undo=draft.undo,
                creates=draft.creates,
                erases=erases,
                writes_bytes=draft.writes_bytes,
                seconds=draft.seconds,
                host=draft.host,
                files=dict(draft.files),
                takes=draft.takes,
                **self._place,
            )
        )


def _total(values: Iterator[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
