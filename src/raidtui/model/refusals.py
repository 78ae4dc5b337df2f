"""Refusals that several packages find. Every other refusal is defined in the module that finds it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from raidtui.model.problem import Exit, Problem, Refusal

CANCELLED: Final = Refusal(
    "cancelled", "Cancelled", "The operator cancelled the run, or this part of it.", "Start it again."
)
FILE: Final = Refusal(
    "file",
    "The file cannot be read or written",
    "The file does not exist, its permissions do not allow it, or it is larger than such a file may be.",
    "Check the path.",
)
FIO_ENGINE_VERSION: Final = Refusal(
    "fio-engine-version",
    "An engine that was built for another fio",
    "fio loads an engine from a file only if both were built from the same version of fio's interface. The engine that the "
    "layout needs is missing where fio looks for it, or was built for another version.",
    "Install the version of fio that the engine was built for, or the engine for this fio (`fio --version`): Vitastor's "
    "package vitastor-fio names the version that it needs.",
)
IMPORT_UNKNOWN: Final = Refusal(
    "import-unknown",
    "Unknown kind of file",
    "The file is none of the kinds that raidtui can import, or files of several kinds were named together.",
    "Name the kind: raidtui import KIND FILE; `raidtui import --help` lists the kinds.",
)
JSON: Final = Refusal(
    "json",
    "Not valid JSON",
    "The file is not UTF-8 JSON with unique keys and finite numbers, or it is too large or nested too deeply.",
    "Correct the place that the message names.",
)
NO_RUN: Final = Refusal(
    "no-run", "No such run", "No run has this name, or no run is in the required state.", "`raidtui runs` lists the runs."
)
NO_TERMINAL: Final = Refusal(
    "no-terminal",
    "No terminal",
    "The screens need a terminal for input and output; a pipe or a file is not one.",
    "Run raidtui in a terminal, or use a command that prints text: `raidtui --help` lists them.",
)
OUTPUT: Final = Refusal(
    "output",
    "The file cannot be written",
    "The file named by -o exists already, its folder cannot be written to, or no format has this file extension.",
    "Name another file, or remove the old one.",
)
POOL_CONSENT: Final = Refusal(
    "pool-consent",
    "Consent to use a pool is missing",
    "The plan makes images in a pool that was there before, which may have data of others. --pool must name every such "
    "pool, and no other. Nothing was touched.",
    "Use the command line that `raidtui plan` prints.",
)
SCHEMA: Final = Refusal(
    "schema",
    "The file does not match its schema",
    "A key, type or value is not allowed at this place.",
    "`raidtui schema scenario` and `raidtui schema result` print what is allowed.",
)
SERVER_TWICE: Final = Refusal(
    "server-twice",
    "A server is there twice",
    "Two names of a list, or two results, are of the same machine. Two runs on one machine would disturb each other, and "
    "it would count twice among the servers. Nothing was touched.",
    "Remove one of the two.",
)
STUCK: Final = Refusal(
    "stuck",
    "A device does not answer",
    "A command or a kernel call made no progress for five minutes, and no disk of the run completed a request, so raidtui "
    "stopped waiting. Long commands are not affected as long as something progresses. A disk with requests in flight that "
    "completes none hangs.",
    "Look at dmesg; check cabling, enclosure and firmware. The disks stay locked until they answer or are removed.",
)
UNKNOWN_NAME: Final = Refusal(
    "unknown-name",
    "Unknown layout or workload",
    "--layout or --workload names something that is not in the scenario.",
    "Use a name that the message lists.",
)
UNKNOWN_ROLE: Final = Refusal(
    "unknown-role",
    "Unknown role",
    "A layout or --bind names a role that the scenario does not define.",
    "Use one of the roles that the message lists.",
)
WORKLOAD_TARGET: Final = Refusal(
    "workload-target",
    "The workload cannot use this kind of target",
    "Some workloads (pg_test_fsync) need a directory, which only a layout with a filesystem or a dataset on top has. Every "
    "layout of a scenario is measured with every workload unless the policy limits it.",
    "Put a filesystem on top, or limit the workload to layouts in the policy: `only`.",
)
NOTE: Final = Refusal(
    "note",
    "A note",
    "The run recorded something worth knowing that is no failure.",
    "The message contains everything that is known; nothing has to be done.",
)
RUN_INTERRUPTED: Final = Refusal(
    "run-interrupted",
    "The run was interrupted",
    "The process that executed the run was killed, or the server went down. Objects that the run created may still be "
    "on its disks.",
    "`raidtui recover RUN` takes them down and makes the disks blank.",
)
SHORTHAND: Final = Refusal(
    "shorthand",
    "The workload shorthand is not valid",
    "A shorthand starts with jobs and queue depth (T8Q32), followed by the block size and the access pattern. A "
    "read/write mix (70/30), a share of random offsets (80%), fsync, fdatasync, sync, dsync and a run time (60s) may "
    "follow.",
    "Write it like 'T8Q32 4k randread'.",
)
UNREADABLE: Final = Refusal(
    "unreadable",
    "The file cannot be read",
    "The file does not exist or its permissions do not allow it to be read.",
    "Check the path and the permissions.",
)
ERASE_TOO_FEW: Final = Refusal(
    "erase-too-few",
    "Consent is incomplete",
    "--erase must name every disk that the plan erases. Nothing was touched.",
    "Use the command line that `raidtui plan` prints.",
)
ERASE_TOO_MANY: Final = Refusal(
    "erase-too-many",
    "Consent names another disk",
    "--erase names a disk that the plan does not erase, or a name that fits several of its disks. Nothing was touched.",
    "Use the command line that `raidtui plan` prints.",
)

UNCHECKED: Final = Refusal(
    "unchecked",
    "A check could not be made",
    "A check of a disk or of a cell failed or gave no answer. A disk that could not be checked is not free; a number that "
    "could not be checked may be misleading.",
    "Solve the problem that the message names, and look again. If it names an error of raidtui, report it.",
)
BAD_CONDITION: Final = Refusal(
    "bad-condition",
    "A condition that cannot be judged",
    "--fail-if has the form 'worse > 5 %', and compares an older result with a newer one of the same scenario.",
    "Write it in that form, and name two results: OLD NEW.",
)


def pools_refused(takes: Collection[str], named: Collection[str]) -> Iterator[Problem]:
    """Yield the problems of a consent: `takes` are the existing pools of a plan, `named` those that the operator named."""
    for name in sorted(set(takes) - set(named)):
        text = f"this plan makes images in pool {name}, which was there before and was not named"
        yield POOL_CONSENT.problem(text, place="--pool", remedy=f"--pool {name}", exit=Exit.REFUSED)
    for name in sorted(set(named) - set(takes)):
        text = f"--pool names {name[:80]!r}, in which this plan makes nothing"
        yield POOL_CONSENT.problem(text, place="--pool", remedy="Leave it out; nothing was touched.", exit=Exit.REFUSED)
