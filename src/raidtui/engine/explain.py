"""The explanations of all problem codes that this side of the protocol knows."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any, Final

from raidtui.engine.validity import MEANINGS
from raidtui.inventory import REASONS as DISK_REASONS
from raidtui.model.problem import REFUSALS, fail
from raidtui.model.table_reasons import REASONS as TABLE_REASONS
from raidtui.stack.reasons import REASONS as STACK_REASONS

_OWN: Final[dict[str, tuple[str, str, str]]] = {
    "json": (
        "Not plain JSON",
        "The file is not UTF-8 JSON with unique keys and finite numbers, or is too large or too deep.",
        "Correct the place that the message names.",
    ),
    "schema": (
        "Not a scenario",
        "A key, type or value stands where the schema does not allow it.",
        "`raidtui schema scenario` prints what may stand where.",
    ),
    "workload-target": (
        "A workload that cannot load what is measured",
        "Some workloads need files in a directory (pg_test_fsync), which only a layout that ends in a filesystem has; "
        "every layout of a scenario is measured with every workload unless its policy says otherwise.",
        "Put a filesystem on top, or say in the policy which layouts meet `only` which workloads.",
    ),
    "runner": (
        "The run did not begin",
        "The process that works on the disks was started and did not answer in time: the server is very busy, or the "
        "process ended at once.",
        "`raidtui runs` shows whether it began after all; its log, which the message names, says why it did not.",
    ),
    "disk-gone": (
        "A disk is not there any more",
        "It was there when it was planned or admitted, and the kernel does not have it now.",
        "Look at dmesg and at the disk; when it is back, `raidtui recover`, then replay again.",
    ),
    "disk-changed": (
        "Another disk in its place",
        "Where the disk was, there is one of another identity now: it was pulled, swapped or given another name. It was "
        "not touched.",
        "Plan again, on the disks that are there now.",
    ),
    "disk-taken": (
        "Somebody else's data on a disk of the run",
        "A run holds its disks exclusively, which does not stop dd, nor others in the moment in which a layer takes or "
        "gives back a disk. Before the run writes to a disk, it looks for data that it did not put there, and found some. "
        "It does not write to that disk, and does not make it blank.",
        "If nobody needs what is there: `wipefs -a DEVICE`, then `raidtui recover`. If it is somebody's: "
        "`raidtui recover RUN --without DISK`.",
    ),
    "not-blank": (
        "A disk could not be made blank",
        "After everything was taken down, something was still on the disk, or it could not be written or read back.",
        "The message says what and where; look at dmesg, then `raidtui recover`.",
    ),
    "permit-closed": (
        "A disk was given back too early",
        "A step wanted a disk that the run had already given back. This is a bug; nothing was written to it.",
        "Report it with the run's journal.",
    ),
    "result-not-saved": (
        "The result could not be saved",
        "The file system of the run's folder is full, read-only or broken; what was measured is in the journal.",
        "Make space; `raidtui attach RUN` shows what the journal has.",
    ),
    "protocol": (
        "The two sides do not understand each other",
        "The front end asked something that the engine on that server does not know: they are of different versions.",
        "Install the same version on both.",
    ),
    "no-schema": ("No such schema", "There are schemas of scenarios, results and tables.", "raidtui schema scenario"),
    "no-device-below": (
        "Nothing to stand on",
        "A filesystem and a dataset of ZFS are directories with files: no other layer can be made of them.",
        "Put a layer there that makes a block device, such as md, lvm or a zpool with a volume.",
    ),
    "under-sector": (
        "Blocks smaller than a sector",
        "Direct I/O moves whole logical sectors of the device that is measured; the kernel refuses anything else. Some "
        "layers have larger sectors than their disks: those of VDO and of a writecache are of 4 KiB.",
        "Raise the workload's block size, or bind disks with smaller sectors.",
    ),
    "never-met": (
        "Nothing to measure",
        "The policy's `only` keeps some layouts for some workloads, and nothing is left for this one.",
        "Name it in `only` as well, or take it out.",
    ),
    "ranking-grouped": (
        "A ranking of grouped rounds",
        "A ranking looks at the numbers after each round and leaves out what no longer matters, but with grouped rounds "
        "all rounds of a layout are over before the next layout is measured.",
        'Set "order": "interleaved" in the policy, or take its ranking out.',
    ),
    "ranking-rounds": (
        "Too few rounds for a ranking",
        "How far a number can be trusted is known only from how far rounds are apart. A ranking ends by itself when it is "
        "clear; the policy's rounds are the most that it may take.",
        'For example: "rounds": 12.',
    ),
    "ranking-slice": (
        "A slice that a workload does not fit into",
        "With a ranking, each cell is measured for its slice instead of the workload's own runtime.",
        "Make the slice longer.",
    ),
    "unknown-role": (
        "Unknown role",
        "A layout or a --bind names a role that the scenario does not have.",
        "Use one of the roles that the message lists.",
    ),
    "role-twice": (
        "Role used twice",
        "One layout mentions a role twice, but a disk can be in one place only.",
        "Split the role in two.",
    ),
    "role-impossible": (
        "A role that no disk fits",
        "The conditions of a role contradict each other, or no disk is like that.",
        "Take one of the conditions out.",
    ),
    "unknown-name": (
        "Unknown layout or workload",
        "--layout or --workload names something that is not in the scenario.",
        "Use a name that the message lists.",
    ),
    "too-few-disks": (
        "Too few disks",
        "A role wants more free, fitting disks than this server has.",
        "`raidtui disks` says why a disk is not free.",
    ),
    "ambiguous-binding": (
        "More than one choice",
        "More free disks fit a role than it wants; raidtui does not choose for you.",
        "Name them: --bind ROLE=SERIAL,SERIAL.",
    ),
    "no-such-disk": (
        "No such disk",
        "A disk was named that is not on this server, or by a /dev name.",
        "Name disks by serial or WWN: `raidtui disks`.",
    ),
    "wrong-count": (
        "Wrong number of disks",
        "A role was bound to more or fewer disks than its count.",
        "Name exactly its count.",
    ),
    "misfit": ("Disk does not fit its role", "The disk is not what the role's `where` asks for.", "Bind another disk."),
    "disk-twice": ("Disk named twice", "One disk was bound to two roles, or twice to one.", "Name each disk once."),
    "erase-too-few": (
        "Consent is incomplete",
        "--erase must name every disk that the plan erases.",
        "Use the line that `raidtui plan` prints.",
    ),
    "erase-too-many": (
        "Consent names another disk",
        "--erase must name no disk that the plan does not erase.",
        "Use the line that `raidtui plan` prints.",
    ),
    "erase-unknown": (
        "Consent names no disk",
        "--erase names something that is not a disk of this server.",
        "Name disks by serial or WWN: `raidtui disks`.",
    ),
    "plan-changed": (
        "The plan changed",
        "Between showing and starting, scenario, disks or options changed.",
        "Look at the plan again and consent to that one.",
    ),
    "invalid-cell": (
        "A cell is not valid",
        "Something happened while measuring that makes the numbers wrong or doubtful.",
        "Solve what the reason names and run the cell again (--layout, --workload).",
    ),
    "precondition": (
        "The disks could not be preconditioned",
        "Writing them over before the layout is built failed.",
        "See the message of fio, `dmesg` and the disk's SMART log.",
    ),
    "precondition-not-zero": (
        "Preconditioned and skipped at once",
        "An initial sync may be skipped only where all members were proven zero, and preconditioning fills them with data.",
        "Set the policy's `initial_sync` to `wait`, or `precondition` to `none`.",
    ),
    "prefill": (
        "The region could not be written",
        "What is read has to be written before, and that did not come to its end.",
        "Solve what the message names and run the cell again (--layout, --workload).",
    ),
    "target": (
        "The target could not be used",
        "What was built could not be opened as what it should be, or something else holds it.",
        "Look at dmesg, and at what else may use it (lsof, fuser); then run the cell again (--layout, --workload).",
    ),
    "journal-unreadable": (
        "A run's journal is damaged",
        "A line of it is no record, or one of another version of raidtui. What the run made is known from it alone, so "
        "nothing is taken apart, and its disks stay held.",
        "Try the version that wrote it. Otherwise look at what the disks carry, and move the run's folder away.",
    ),
    "not-owed": (
        "The run left nothing on that disk",
        "Only a disk that an interrupted run may have left something on can be left out of its recovery.",
        "Name the run, and one of the disks that `raidtui recover RUN` could not give back.",
    ),
    "leftover-foreign": (
        "Somebody uses what an interrupted run left",
        "An array or a volume of the run carries something that the run did not put there. Nothing was taken apart, and no "
        "disk was made blank.",
        "Copy what is needed, or wipe it (wipefs -a) where nobody needs it, then run `raidtui recover` again.",
    ),
    "disk-missing": (
        "A disk of an interrupted run is missing",
        "It may still carry what the run wrote.",
        "Plug it in and run `raidtui recover` again. If it is gone for good: `raidtui recover RUN --without DISK`.",
    ),
    "run-interrupted": (
        "The runner is gone",
        "The process that executed the run was killed or the machine went down.",
        "`raidtui recover RUN` brings the disks back to blank.",
    ),
    "claim-left": (
        "An interrupted run left the server changed",
        "A run that died had changed what this run is to change too, of the whole server: parameters of ZFS, for one. "
        "What this run would find is not what belongs there.",
        "`raidtui recover RUN` puts it back.",
    ),
    "running": (
        "The run is still running",
        "Only a run that nobody works on can be recovered.",
        "`raidtui cancel RUN` first.",
    ),
    "no-run": ("No such run", "There is no run of that name, or none in that state.", "`raidtui runs` lists them."),
    "not-root": (
        "Needs root",
        "Reading and writing disks needs root on the storage server.",
        "Use sudo, or name a server: --on root@HOST.",
    ),
    "engine-lost": (
        "The engine is gone",
        "The connection to the storage server broke. Runs go on without it, unless the server itself went down.",
        "`raidtui attach` comes back to the run.",
    ),
    "engine-answer": (
        "The engine's answer cannot be used",
        "What came from that place is no message of raidtui's protocol, larger than any is, or not what was asked "
        "for. Nothing was concluded from it, and the connection was ended.",
        "Install the same version there, and see that nothing else prints where the engine is started (.bashrc).",
    ),
    "engine-busy": (
        "Too many requests at once",
        "One connection has a bounded number of requests under way, so that no client exhausts the server.",
        "Ask again when others are answered, or over another connection.",
    ),
    "unreachable": (
        "The server cannot be reached",
        "ssh did not get to a shell there: the message has its own words. Nothing was asked of the server.",
        "`ssh HOST` must work from this account first.",
    ),
    "engine-version": (
        "Different versions",
        "raidtui here and there do not speak the same protocol.",
        "Install the same version on both sides.",
    ),
    "consent": (
        "Consent is missing or wrong",
        "--erase must name, by serial or WWN, every disk that the plan erases and no other.",
        "Use the line that `raidtui plan` prints.",
    ),
    "output": (
        "The result cannot be saved there",
        "The file of -o exists already, or its folder cannot be written.",
        "Name another file, or remove the old one.",
    ),
    "file": (
        "A file cannot be read",
        "It is not there, not readable, or larger than such a file may be.",
        "Check the path.",
    ),
    "no-kind": (
        "No such kind",
        "No layer and no workload engine has that name.",
        "`raidtui kinds` lists them.",
    ),
    "shorthand": (
        "A workload that cannot be read",
        "T and Q with a number each come first, then a block size and what is done; a mix (70/30), a share of random "
        "offsets (80%), fsync, fdatasync, sync, dsync and a time (60s) may follow.",
        "For example: 'T8Q32 4k randread'.",
    ),
    "no-scenario": (
        "No such scenario",
        "The name is neither a file nor a shipped scenario.",
        "`raidtui scenarios` lists the shipped ones; a path names your own.",
    ),
    "bind": ("--bind cannot be read", "It has the form ROLE=DISK,DISK.", "For example: --bind data=SERIAL,SERIAL."),
    "no-kept-result": (
        "No such result",
        "No result that was kept on this machine has all of these words.",
        "`raidtui results` lists them; a file may be anywhere.",
    ),
    "nothing-given": (
        "Nothing to compare",
        "Neither a result was named, nor words to find kept ones by.",
        "Name a file or a run, or use --find WORDS.",
    ),
    "no-charts": (
        "A library is missing",
        "Charts are drawn by matplotlib and workbooks written by XlsxWriter; one of them is not installed here.",
        "pip install 'raidtui[charts]', or Debian's packages python3-matplotlib and python3-xlsxwriter.",
    ),
    "no-such-chart": (
        "This format has no charts to choose from",
        "--chart leaves out charts of a sheet, and only svg and png are sheets of charts.",
        "Use --format svg or png, or leave --chart out.",
    ),
    "not-a-result": ("Not a result file", "The file is not a result that raidtui wrote.", "Name a *.result.json file."),
    "engine-start": (
        "The engine cannot be started",
        "The command that starts raidtui on that place failed or said nothing. Nothing was asked of it.",
        "Is raidtui installed there, and does `ssh HOST raidtui --version` work?",
    ),
    "place": (
        "Not a place",
        "--on takes an ssh destination, lab or lab:NAME.",
        "`raidtui lab status` shows what labs there are.",
    ),
    "import-unknown": (
        "Nothing that can be imported",
        "The file is none of the kinds that raidtui takes over, or files of several kinds were named together.",
        "Name the kind: raidtui import KIND FILE; `raidtui import --help` lists them.",
    ),
    "map": (
        "--map cannot be read",
        "It says what a column of a plain table is, in the form ROLE=HEADING.",
        "For example: --map layout=Setup --map bandwidth:MiB/s=Speed.",
    ),
    "import-fio-job": (
        "A job file that cannot be taken over as it is",
        "It says something that raidtui never does (run commands, open files, pick devices by itself) or cannot do, and "
        "leaving it out would measure something else.",
        "Change the job file; or import it with --leave-out, which says what it leaves out.",
    ),
    "no-result": ("No result yet", "The run has not finished its first cell.", "`raidtui attach` shows how far it is."),
    "unknown-code": ("No such code", "The code is not one of raidtui's.", "`raidtui explain` lists them all."),
    "journal-lost": (
        "The journal cannot be written",
        "The file system of the run's folder is full, read-only or broken. What could be taken down was.",
        "Make space, then `raidtui recover`: it looks at the disks themselves.",
    ),
    "not-running": ("The run is not running", "There is nothing to cancel.", "`raidtui runs` lists the runs."),
    "bug": (
        "A bug",
        "Something happened that raidtui's authors did not foresee.",
        "Report it with the text that was shown.",
    ),
}


@cache
def _all() -> dict[str, tuple[str, str, str]]:
    _import_all()
    disks = {code: (r.title, r.meaning, r.way_out) for code, r in DISK_REASONS.items()}
    marks = {code: (one.title, one.why, one.way_out) for code, one in MEANINGS.items()}
    found = {code: (one.title, one.why, one.way_out) for code, one in REFUSALS.items()}
    return {**marks, **_OWN, **disks, **STACK_REASONS, **TABLE_REASONS, **found}


def _import_all() -> None:
    """Import every module that may define a refusal, so that REFUSALS is complete."""
    for package in ("model", "inventory", "gate", "stack", "load", "engine"):
        parent = importlib.import_module(f"raidtui.{package}")
        for info in pkgutil.walk_packages(parent.__path__, f"{parent.__name__}."):
            importlib.import_module(info.name)


def explain(code: str) -> Any:
    """One code in words, or (empty code) all of them. Raises ProblemError (`unknown-code`)."""
    known = _all()
    if not code:
        return [_entry(name) for name in sorted(known)]
    name = code.removeprefix("not-free.")
    if name not in known:
        raise fail("unknown-code", f"there is no problem code {code[:60]!r}", remedy="`raidtui explain` lists them all.")
    return _entry(name)


def _entry(code: str) -> dict[str, str]:
    title, meaning, way_out = _all()[code]
    return {"code": code, "title": title, "meaning": meaning, "way_out": way_out}
