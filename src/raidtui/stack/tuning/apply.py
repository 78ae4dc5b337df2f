"""Writing and restoring settings. The earlier values are on stable storage before the first setting changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from raidtui.base.files import sync_folder, write_atomic
from raidtui.inventory import boot_id
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack.action import Action, Outcome
from raidtui.stack.context import Context
from raidtui.stack.layer import ModuleParameters
from raidtui.stack.tuning import kernel
from raidtui.stack.tuning.spec import (
    GOVERNORS,
    TUNING_LEFT,
    TUNING_NOT_OFFERED,
    TUNING_NOT_TAKEN,
    SettingOfDevice,
    Settings,
)

GONE: Final = "gone with its device"
"""Result of restoring a setting of a device that does not exist any more."""


class Entry(msgspec.Struct):
    """One setting of one device, or of the server."""

    what: str
    """Name in results: `SERIAL queue/scheduler`."""
    file: str
    """Path below the device's folder in /sys/block, or a whole path."""
    found: str
    asked: str | None = None
    """Requested value; None for a setting that is only restored, because another setting changes it."""
    set: str | None = None
    """Value that was read back; None until then."""
    device: str = ""
    diskseq: int = 0

    @property
    def path(self) -> Path:
        return kernel.SYS_BLOCK / self.device / self.file if self.device else Path(self.file)

    @property
    def is_there(self) -> bool:
        """True if the same device, or the server's file, still exists."""
        if self.device:
            return kernel.Device(self.device, self.diskseq).is_there()
        return self.path.exists()


class Memory(msgspec.Struct):
    """Settings of one step, in the order in which they are written and restored."""

    boot_id: str
    """Boot of the settings; a restart resets them all."""
    entries: list[Entry]


def _file(folder: Path, uuid: str) -> Path:
    return folder / f"tuning-{uuid}.json"


def remember(folder: Path, args: Settings, entries: list[Entry]) -> None:
    """Write the entries to stable storage."""
    write_atomic(_file(folder, args.uuid), msgspec.json.encode(Memory(boot_id(), entries)))


def recall(folder: Path, args: Settings) -> Memory | None:
    """Return the entries of a step; None if there are none or they were restored already."""
    try:
        return msgspec.json.decode(_file(folder, args.uuid).read_bytes(), type=Memory)
    except FileNotFoundError:
        return None


def forget(folder: Path, args: Settings) -> None:
    _file(folder, args.uuid).unlink(missing_ok=True)
    sync_folder(folder)


def health(context: Context, args: Settings) -> tuple[str, ...]:
    try:
        return tuple(_changed(context, args))
    except ProblemError as error:
        return tuple(problem.message for problem in error.problems)


def claims(args: Settings, modules: Sequence[ModuleParameters] = ()) -> tuple[str, ...]:
    """Return the names of the server-wide settings that the step changes."""
    of_modules = tuple(module.claim for module in _modules_of(args, modules))
    return (*of_modules, *(("the CPU governor",) if GOVERNORS in _server_files(args) else ()))


def _server_files(args: Settings) -> set[str]:
    return {setting.file for setting in args.settings if not setting.ref}


def _modules_of(args: Settings, modules: Sequence[ModuleParameters]) -> list[ModuleParameters]:
    folders = {Path(file).parent for file in _server_files(args)}
    return [module for module in modules if module.folder in folders]


def set_all(context: Context, args: Settings, modules: Sequence[ModuleParameters] = ()) -> Outcome:
    """Save the present values, write the settings, and read them back.

    Raises ProblemError: `tuning-not-offered`, `tuning-not-taken`, `stuck`, ….

    Facts: `tuning`: requested, earlier and written value by setting.
    """
    context.stop_if_cancelled()
    for module in _modules_of(args, modules):
        module.make_ready(context)
    before = recall(context.folder, args)
    entries = before.entries if before is not None else list(_read_settings(context, args.settings))
    for module in modules:
        module.refuse({entry.file: (entry.asked, entry.found) for entry in entries})
    if before is None:
        remember(context.folder, args, entries)
    asked = [entry for entry in entries if entry.asked is not None]
    for entry in asked:
        kernel.write(entry.path, str(entry.asked))
    for entry in asked:
        entry.set = kernel.read(entry.path)
    if wrong := [entry for entry in asked if not kernel.holds(entry.file, str(entry.asked), entry.set)]:
        text = "; ".join(f"{entry.what} is {entry.set}, not {entry.asked} as asked" for entry in wrong)
        raise fail(TUNING_NOT_TAKEN, text, place=str(wrong[0].path), remedy="Choose another value.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    remember(context.folder, args, entries)
    facts = {entry.what: {"asked": entry.asked, "found": entry.found, "set": entry.set} for entry in asked}
    return Outcome("done", {"tuning": facts}, tuple(_commands(context, args.settings)))


def put_back(context: Context, args: Settings) -> Outcome:
    """Restore every setting; it may be run any number of times. Raises ProblemError (`tuning-left`) with all that failed.

    Settings of devices that are gone, and all settings after a restart, need no restoration. Facts: `tuning`: restored
    value by setting.
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
            now = _restore(entry)
        except ProblemError as error:
            problems += [_left(entry, problem) for problem in error.problems]
            # Wait once for a device that does not answer, not for each of its settings.
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


def _restore(entry: Entry) -> str:
    """Restore one setting and return its value. Raises ProblemError if it is not the earlier value."""
    if not entry.is_there:
        return GONE
    now = kernel.read(entry.path)
    if now is None and entry.asked is None:
        return ""
    if now != entry.found:
        kernel.write(entry.path, entry.found)
        now = kernel.read(entry.path)
    if now is None or not kernel.holds(entry.file, entry.found, now):
        raise fail(TUNING_LEFT, f"it is {now}, and was {entry.found}", place=str(entry.path))
    return now


def _left(entry: Entry, problem: Problem) -> Problem:
    remedy = f"By hand: echo {entry.found} > {entry.path}. `raidtui recover` tries it again."
    text = f"{entry.what} could not be put back to {entry.found}: {problem.message}"
    return TUNING_LEFT.problem(text, place=str(entry.path), remedy=remedy, exit=Exit.LEFT_BEHIND)


def _changed(context: Context, args: Settings) -> Iterator[str]:
    """Yield the settings that were changed since (by udev, a daemon or a user), or whose device is gone."""
    memory = recall(context.folder, args)
    for entry in memory.entries if memory is not None else ():
        if entry.set is not None and not entry.is_there:
            yield f"{entry.what} is gone with its device"
        elif entry.set is not None and (now := kernel.read(entry.path)) != entry.set:
            yield f"{entry.what} is {now} now, not {entry.set} as it was set"


def _read_settings(context: Context, settings: Sequence[SettingOfDevice]) -> Iterator[Entry]:
    """Yield the present values, with a scheduler also those of the settings that depend on it."""
    for ref, group in itertools.groupby(settings, key=lambda setting: setting.ref):
        if not ref:
            for setting in group:
                yield from _of_server(setting)
            continue
        device = kernel.device_at(context.path(ref))
        name = ref.partition(":")[2]
        asked = {setting.file: setting.value for setting in group}
        for file, value in asked.items():
            found = _found(device.folder / file, name)
            yield Entry(f"{name} {file}", file, found, value, None, device.name, device.diskseq)
        for file in kernel.dragged_along(device.folder) if "queue/scheduler" in asked else ():
            found_along = kernel.read(device.folder / file)
            if file not in asked and found_along is not None:
                yield Entry(f"{name} {file}", file, found_along, None, None, device.name, device.diskseq)


def _of_server(setting: SettingOfDevice) -> Iterator[Entry]:
    file = Path(setting.file)
    files = sorted(Path("/").glob(str(file.relative_to("/")))) if "*" in file.name + file.parent.name else [file]
    if not files:
        raise _not_offered(file, "this server")
    for one in files:
        what = one.name if one == file else f"{one.parent.name} {one.name}"
        yield Entry(what, str(one), _found(one, "this server"), setting.value)


def _found(file: Path, where: str) -> str:
    found = kernel.read(file) if kernel.can_be_set(file) else None
    if found is None:
        raise _not_offered(file, where)
    return found


def _not_offered(file: Path, where: str) -> ProblemError:
    return fail(TUNING_NOT_OFFERED, f"the kernel offers no {file.name} of {where} that can be set", place=str(file),
                remedy="Leave it out of the tuning.", exit=Exit.BUILD_FAILED)  # fmt: skip


def _commands(context: Context, settings: Sequence[SettingOfDevice]) -> Iterator[Argv]:
    for setting in settings:
        ref = setting.ref
        path = context.path(ref) if ref else ""
        yield kernel.echo(setting.file, setting.value, path, built=bool(ref) and not ref.startswith("disk:"))


def actions(modules: Sequence[ModuleParameters]) -> Mapping[str, Action[Any]]:
    """Return the actions of tuning by name. `modules`: the kernel modules whose parameters scenarios may set."""
    return {
        "tune.set": Action(
            args=Settings,
            do=partial(set_all, modules=modules),
            undo=put_back,
            health=health,
            claims=partial(claims, modules=modules),
        ),
        "tune.back": Action(args=Settings, do=put_back),
    }
