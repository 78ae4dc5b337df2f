"""Setting and putting back. What was found is on stable storage before the first value changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from raidtui.inventory import boot_id
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack.action import Action, Outcome
from raidtui.stack.context import Context
from raidtui.stack.tuning import kernel
from raidtui.stack.tuning.memory import Entry, forget, recall, remember
from raidtui.stack.tuning.spec import GOVERNORS
from raidtui.stack.zfs import tuning as zfs

GONE: Final = "gone with its device"


def health(context: Context, args: dict[str, Any]) -> tuple[str, ...]:
    try:
        return tuple(_changed(context, args))
    except ProblemError as error:
        return tuple(problem.message for problem in error.problems)


def claims(args: dict[str, Any]) -> tuple[str, ...]:
    files = {setting["file"] for setting in args["settings"] if not setting["ref"]}
    of_zfs = any(Path(file).parent == zfs.PARAMETERS for file in files)
    return (*((zfs.CLAIM,) if of_zfs else ()), *(("the CPU governor",) if GOVERNORS in files else ()))


def set_all(context: Context, args: dict[str, Any]) -> Outcome:
    """Look, remember, set, read back. Raises ProblemError: `tuning-not-offered`, `tuning-not-taken`, `stuck`, ….

    Facts: `tuning`: by setting what was asked, found and set.
    """
    context.stop_if_cancelled()
    if zfs.CLAIM in claims(args):
        zfs.make_ready(context)
    before = recall(context.folder, args)
    entries = before.entries if before is not None else list(_look(context, args["settings"]))
    zfs.refuse_no_way_back({entry.file: (entry.asked, entry.found) for entry in entries})
    if before is None:
        remember(context.folder, args, entries)
    asked = [entry for entry in entries if entry.asked is not None]
    for entry in asked:
        kernel.write(entry.path, str(entry.asked))
    for entry in asked:
        entry.set = kernel.read(entry.path)
    if wrong := [entry for entry in asked if not kernel.holds(entry.file, str(entry.asked), entry.set)]:
        text = "; ".join(f"{entry.what} is {entry.set}, not {entry.asked} as asked" for entry in wrong)
        raise fail("tuning-not-taken", text, place=str(wrong[0].path), remedy="Ask for another value.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    remember(context.folder, args, entries)
    facts = {entry.what: {"asked": entry.asked, "found": entry.found, "set": entry.set} for entry in asked}
    return Outcome("done", {"tuning": facts}, tuple(_commands(context, args["settings"])))


def put_back(context: Context, args: dict[str, Any]) -> Outcome:
    """Every setting as it was found, any number of times. Raises ProblemError (`tuning-left`) with all that could not be.

    What is gone, or forgotten by a restart, is put back already. Facts: `tuning`: by setting what was restored.
    """
    memory = recall(context.folder, args)
    if memory is None:
        return Outcome("nothing to do")
    if memory.boot_id != boot_id():
        forget(context.folder, args)
        return Outcome("nothing to do")
    restored: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    hung: set[str] = set()
    for entry in memory.entries:
        if entry.device in hung:
            continue
        try:
            now = _back(entry)
        except ProblemError as error:
            problems += [_left(entry, problem) for problem in error.problems]
            # A device that does not answer is waited for once, not for each of its settings.
            hung |= {entry.device for problem in error.problems if problem.code == "stuck" and entry.device}
            continue
        if entry.asked is not None:
            known = {"asked": entry.asked, "found": entry.found, "set": entry.set or ""}
            restored[entry.what] = {**known, "restored": now}
    if problems:
        raise ProblemError(*problems)
    forget(context.folder, args)
    undone = any(facts["restored"] != GONE for facts in restored.values())
    return Outcome("undone" if undone else "nothing to do", {"tuning": restored})


def _back(entry: Entry) -> str:
    """The value that is there now. Raises ProblemError where it is not the one that was found."""
    if not entry.is_there:
        return GONE
    now = kernel.read(entry.path)
    if now is None and entry.asked is None:
        return ""
    if now != entry.found:
        kernel.write(entry.path, entry.found)
        now = kernel.read(entry.path)
    if now is None or not kernel.holds(entry.file, entry.found, now):
        raise fail("tuning-left", f"it is {now}, and was {entry.found}", place=str(entry.path))
    return now


def _left(entry: Entry, problem: Problem) -> Problem:
    remedy = f"By hand: echo {entry.found} > {entry.path}. `raidtui recover` tries it again."
    text = f"{entry.what} could not be put back to {entry.found}: {problem.message}"
    return Problem("tuning-left", text, str(entry.path), remedy, int(Exit.LEFT_BEHIND))


def _changed(context: Context, args: dict[str, Any]) -> Iterator[str]:
    """A setting that does not hold any more: udev, a daemon or somebody else has changed it, or its device is gone."""
    memory = recall(context.folder, args)
    for entry in memory.entries if memory is not None else ():
        if entry.set is not None and not entry.is_there:
            yield f"{entry.what} is gone with its device"
        elif entry.set is not None and (now := kernel.read(entry.path)) != entry.set:
            yield f"{entry.what} is {now} now, not {entry.set} as it was set"


def _look(context: Context, settings: list[dict[str, str]]) -> Iterator[Entry]:
    """Every setting as it is now, and with a scheduler what depends on it."""
    for ref, group in itertools.groupby(settings, key=lambda setting: setting["ref"]):
        if not ref:
            for setting in group:
                yield from _of_server(setting)
            continue
        device = kernel.device_at(context.path(ref))
        name = ref.partition(":")[2]
        asked = {setting["file"]: setting["value"] for setting in group}
        for file, value in asked.items():
            found = _found(device.folder / file, name)
            yield Entry(f"{name} {file}", file, found, value, None, device.name, device.diskseq)
        for file in kernel.dragged_along(device.folder) if "queue/scheduler" in asked else ():
            found_along = kernel.read(device.folder / file)
            if file not in asked and found_along is not None:
                yield Entry(f"{name} {file}", file, found_along, None, None, device.name, device.diskseq)


def _of_server(setting: Mapping[str, str]) -> Iterator[Entry]:
    file = Path(setting["file"])
    files = sorted(Path("/").glob(str(file.relative_to("/")))) if "*" in file.name + file.parent.name else [file]
    if not files:
        raise _not_offered(file, "this server")
    for one in files:
        what = one.name if one == file else f"{one.parent.name} {one.name}"
        yield Entry(what, str(one), _found(one, "this server"), setting["value"])


def _found(file: Path, where: str) -> str:
    found = kernel.read(file) if kernel.can_be_set(file) else None
    if found is None:
        raise _not_offered(file, where)
    return found


def _not_offered(file: Path, where: str) -> ProblemError:
    return fail("tuning-not-offered", f"the kernel offers no {file.name} of {where} that can be set", place=str(file),
                remedy="Leave it out of the tuning.", exit=Exit.BUILD_FAILED)  # fmt: skip


def _commands(context: Context, settings: list[dict[str, str]]) -> Iterator[Argv]:
    for setting in settings:
        ref = setting["ref"]
        path = context.path(ref) if ref else ""
        yield kernel.echo(setting["file"], setting["value"], path, built=bool(ref) and not ref.startswith("disk:"))


ACTIONS: Final[Mapping[str, Action[Any]]] = {
    "tune.set": Action(args=dict[str, Any], do=set_all, undo=put_back, health=health, claims=claims),
    "tune.back": Action(args=dict[str, Any], do=put_back),
}
