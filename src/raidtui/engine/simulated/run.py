"""The runner of a simulated server: the real runner with its journal, blocks, cancel and result, over a fake kernel.

Time is simulated too: a cell of a minute takes `_CELL_S` seconds, and its samples and frames bear the time that it would
have had.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from raidtui import __version__
from raidtui.engine.run import space
from raidtui.engine.run.entry import run
from raidtui.engine.run.journal import wall_clock
from raidtui.engine.run.measuring import device_uses
from raidtui.engine.run.peers import Peers
from raidtui.engine.run.runner import Runner
from raidtui.engine.run.target import Family
from raidtui.engine.simulated.disks import Recorded, recorded
from raidtui.engine.simulated.rates import Rates, rates
from raidtui.engine.step_args import CellRun, common_args, decode_args
from raidtui.engine.validity.evidence import caution
from raidtui.load.catalog import engines
from raidtui.model.convert import decode
from raidtui.model.disk import on_host
from raidtui.model.event import DisksAdmitted, HostSampled, RunStarted
from raidtui.model.frame import SECTOR_BYTES, Frame
from raidtui.model.hosts import HostLoad
from raidtui.model.plan import KEEP, KEPT, Step
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.model.refusals import CANCELLED
from raidtui.model.result import Cell, Machine, marked
from raidtui.stack.action import Outcome
from raidtui.watch.series import SeriesFold, write_amplification

SIMULATED: Final = caution(
    "simulated",
    "The cell was simulated",
    "The run had recorded disks and a fake kernel: a simple model made the numbers. They say nothing about any disk.",
    "Run the scenario on a real server (--on root@HOST) or in the lab (--on lab).",
)

_CELL_S: Final = 1.2
"""Real duration of a simulated cell, in seconds."""
_STEP_S: Final = 0.04
_MOST_TICKS: Final = 60
_NOISE: Final = 0.02
"""Standard deviation of the rates of cells and samples, relative."""
_SLOW: Final = 0.6
"""Share of the usual rates that a slow server has."""
_CORES: Final = 16
_HZ: Final = 100
_LOOPBACK_MTU: Final = 65536


class SimulatedSampler:
    """Frames of simulated devices. Counters grow by the given rates; idle devices keep theirs."""

    def __init__(self, sink: Callable[[Frame], None], devices: Iterable[str]) -> None:
        self._sink = sink
        self._counts = {name: [0.0] * 17 for name in devices}
        self._loopback_bytes = 0.0
        self._busy_ticks = 0.0
        self._idle_ticks = 0.0
        self.at_s = time.monotonic()
        """The simulated time."""

    def watch_md(self, _: Iterable[str]) -> None:
        """Do nothing: there are no arrays."""

    def start(self) -> None:
        """Send the first frame."""
        self.tick()

    def stop(self) -> Frame:
        """Send the last frame."""
        return self.tick()

    def tick(self, *, whole: bool = False) -> Frame:
        """Send a frame; no time passes."""
        return self.advance(0.0, {})

    def advance(
        self, span_s: float, load: dict[str, tuple[float, float, Rates]], loopback_bytes_per_s: float = 0.0
    ) -> Frame:
        """Let `span_s` seconds pass and send a frame. `load`: reads and writes per second, and the workload, by device."""
        self.at_s += span_s
        self._loopback_bytes += loopback_bytes_per_s * span_s
        for name, (reads, writes, workload) in load.items():
            counts, sectors = self._counts.setdefault(name, [0.0] * 17), workload.block_bytes / SECTOR_BYTES
            wait_ms = workload.latency_us / 1000
            busy_ms = span_s * 10 * workload.util_percent
            grown = (reads, 0, reads * sectors, reads * wait_ms, writes, 0, writes * sectors, writes * wait_ms)
            for index, per_s in enumerate(grown):
                counts[index] += per_s * span_s
            counts[9] += busy_ms
            counts[10] += (reads + writes) * wait_ms * span_s
        used = min(1.0, sum(writes + reads for reads, writes, _ in load.values()) / 2e6)
        self._busy_ticks += span_s * _HZ * used
        self._idle_ticks += span_s * _HZ * (1 - used)
        cores = {f"cpu{i}": f"{self._busy_ticks:.0f} 0 0 {self._idle_ticks:.0f} 0 0 0 0" for i in range(_CORES)}
        lines = {name: " ".join(f"{count:.0f}" for count in counts) for name, counts in self._counts.items()}
        moved, packets = round(self._loopback_bytes), round(self._loopback_bytes / _LOOPBACK_MTU)
        networks = {"lo": f"{moved} {packets} 0 0 {moved} {packets} 0 0"}
        frame = Frame(self.at_s, time.time(), span_s or None, True, lines, cpus=cores, networks=networks)
        self._sink(frame)
        return frame


def over_loopback(layout: object) -> bool:
    """Return True if a layer of the layout exports its devices over TCP, to this server itself."""
    if isinstance(layout, list):
        return any(map(over_loopback, layout))
    if not isinstance(layout, dict):
        return False
    nvmeof = layout.get("nvmeof")
    over_tcp = isinstance(nvmeof, dict) and nvmeof.get("transport", "tcp") == "tcp"
    return over_tcp or "iscsi" in layout or any(map(over_loopback, layout.values()))


def run_folder(word: str, folder: str) -> int:
    """Entry of a simulated runner: execute the plan in this run's folder and return the exit code."""
    os.umask(0o077)
    return run(SimulatedRunner(Path(folder), recorded(word)))


class SimulatedRunner(Runner):
    """Executes a plan without touching anything."""

    def __init__(self, folder: Path, simulated: Recorded) -> None:
        super().__init__(folder)
        self._simulated = simulated
        self._disks = {disk.id: disk for disk in simulated.disks}
        self._random = random.Random(self.plan.digest)  # noqa: S311  the same plan has the same numbers

    def _note_start(self) -> None:
        host, machine_id = self._simulated.host, self._simulated.machine_id
        machine = Machine(host, "none (simulated)", cpus=_CORES, machine_id=machine_id, simulated=True)
        self._emit(RunStarted(self.folder.name, self.plan, machine, os.getpid(), __version__))

    def _admit(self) -> bool:
        wanted = {print_.id: print_ for role in self.plan.binding.values() for print_ in role}
        # Simulated hosts have the recorded disks, too.
        own = {disk: self._disks[disk.removeprefix(on_host(print_.host, ""))] for disk, print_ in wanted.items()}
        self._disks = {id_: msgspec.structs.replace(disk, id=id_) for id_, disk in own.items()}
        self.tally.set_disks(tuple(self._disks.values()))
        self._emit(DisksAdmitted(tuple(wanted), {"simulated": True}))
        return True

    def _new_peers(self) -> Peers:
        return Peers(self.folder.name, self.folder, msgspec.structs.replace(self.plan, hosts={}))

    def _new_sampler(self) -> SimulatedSampler:
        self._frames = SimulatedSampler(self._frame, [disk.name for disk in self._disks.values()])
        return self._frames

    def _family(self, step: Step) -> Family:
        args = common_args(step)
        disks = {self._disks[disk].name: "member" for disk in step.erases}
        targets = [self._name_of(ref) for ref in args.refs]
        parents = {name: targets[0] for name in disks if len(targets) == 1 and name != targets[0]}
        return Family({**disks, **dict.fromkeys(targets, "target")}, parents)

    def _name_of(self, ref: str) -> str:
        _, _, name = ref.partition(":")
        return self._disks[name].name if name in self._disks else name

    def _act(self, step: Step) -> Outcome:
        if step.action == "measure":
            cell = self._simulate_cell(step)
            self._cell_done(cell)
            return Outcome("done", {"valid": cell.valid}, step.commands)
        self.watchdog.stop_measuring.wait(_STEP_S)
        self._frames.advance(step.seconds, {})
        if step.action == "disks.blank":
            return Outcome("done", {"blank": list(step.erases)}, step.commands)
        if step.action == KEEP:
            return Outcome(KEPT)
        if step.phase == "teardown":
            return Outcome("undone", {}, step.commands)
        return Outcome("created" if step.creates else "done", {"simulated": True}, step.commands)

    def _simulate_cell(self, step: Step) -> Cell:
        args, plan = decode_args(CellRun, step.args, step.cell), self._cells[step.cell]
        engine = engines()[args.engine]
        spec = decode(engine.spec, args.spec, step.cell)
        disks = [self._disks[disk] for disk in plan.data_disks or step.erases]
        pattern = engine.pattern(spec)
        workload = rates(pattern, disks, plan.expected_write_amplification).scaled(self._noise())
        workload = workload.scaled(_SLOW) if self._simulated.slow else workload
        runtime_s = max(1.0, engine.estimate(spec, args.size_bytes, kind=args.kind).seconds)
        family = self._family(step)
        targets = [name for name, role in family.devices.items() if role == "target"]
        exported = over_loopback(self.plan.scenario["layouts"].get(plan.layout))
        fold = SeriesFold(family.devices)
        self._listen(fold.add)
        self._frames.tick()
        ticks = max(3, min(_MOST_TICKS, int(runtime_s)))
        samples = []
        began, span_s = time.monotonic(), runtime_s / ticks
        for number in range(1, ticks + 1):
            if self.watchdog.stop_measuring.wait(max(0.0, began + _CELL_S * number / ticks - time.monotonic())):
                self._listen(None)
                if self.journal.is_full() and not self.cancel.is_set():
                    raise ProblemError(space.ran_full(space.THIS, self.folder))
                raise fail(CANCELLED, "the run was cancelled", exit=Exit.CANCELLED)
            now = workload.scaled(self._noise())
            load = {disk.name: (now.disk_reads, now.disk_writes, now) for disk in disks}
            load |= {name: (now.reads / len(targets), now.writes / len(targets), now) for name in targets}
            self._frames.advance(span_s, load, (now.reads + now.writes) * now.block_bytes if exported else 0.0)
            sample = now.sample(number * span_s, span_s)
            samples.append(msgspec.structs.replace(sample, bins={}))
            # fio's client tells nothing before its end where other hosts load the target.
            if args.on:
                self._hosts_sampled(args, now, span_s)
            else:
                self._sampled(step, sample, 0)
        self._listen(None)
        series = fold.series()
        summary = workload.summary(runtime_s, pattern.streams)
        written = [use.written_bytes for name, use in series.totals.items() if name not in targets]
        cell = Cell(
            id=plan.id, layout=plan.layout, workload=plan.workload, round=plan.round, part=plan.part, again=plan.again,
            valid=False, summary=summary, samples=tuple(samples),
            devices=device_uses(series, family.devices, {disk.name: disk for disk in disks}, targets),
            networks=series.networks, device_at_s=tuple(series.at_s), cpu_cores_used=series.cores_used_mean,
            write_amplification=write_amplification(written, summary.written_bytes) if written else None,
            expected_write_amplification=plan.expected_write_amplification, data_disks=plan.data_disks,
            command=step.commands[0] if step.commands else (), started=wall_clock(), seconds=runtime_s,
            sweep=plan.sweep,
        )  # fmt: skip
        slow = f", and the server was made slow: {_SLOW:g} of the usual rate" if self._simulated.slow else ""
        return marked(cell, [SIMULATED.mark(f"the numbers were simulated, not measured{slow}")])

    def _hosts_sampled(self, args: CellRun, now: Rates, span_s: float) -> None:
        """Journal the activity of the hosts that load a cell; they share the work evenly."""
        for one in args.on:
            part = now.scaled(self._noise() / len(args.on))
            read, written = part.reads * part.block_bytes, part.writes * part.block_bytes
            load = HostLoad(
                span_s, tuple(f"nvme{number}n1" for number in range(len(one.refs))), part.reads, part.writes, read, written,
                now.util_percent, min(float(_CORES), (part.reads + part.writes) / 2e5), _CORES, {"eth1": (read, written)},
            )  # fmt: skip
            self._emit(HostSampled(one.host, load))

    def _noise(self) -> float:
        return max(0.5, self._random.gauss(1.0, _NOISE))
