"""Writing and restoring kernel settings in /sys: the earlier values are on stable storage before the first one changes."""

from __future__ import annotations

import itertools
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.base.files import read_int, read_text, sync_folder, write_atomic
from raidtui.base.text import clean
from raidtui.inventory import boot_id
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack.action import Action, Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.layer import ModuleParameters
from raidtui.stack.tuning.spec import (
    GOVERNORS,
    TUNING_LEFT,
    TUNING_NOT_OFFERED,
    TUNING_NOT_TAKEN,
    SettingOfDevice,
    Settings,
)

SYS_BLOCK: Final = Path("/sys/block")
GONE: Final = "gone with its device"
"""Result of restoring a setting of a device that does not exist any more."""
_MAY_DIFFER: Final[Mapping[str, int]] = {"nr_requests": 4, "read_ahead_kb": 64}
"""Rounding by the kernel: 4 requests at least; whole pages, of 64 KiB at most."""


class Device(NamedTuple):
    """A block device with its sequence number, because another device may have its name later."""

    name: str
    diskseq: int

    @property
    def folder(self) -> Path:
        return SYS_BLOCK / self.name

    def is_there(self) -> bool:
        return read_int(self.folder / "diskseq") == self.diskseq


def device_at(path: str) -> Device:
    """Return the device of a node. Raises ProblemError (`tuning-not-offered`) if it has no sequence number."""
    name = Path(path).resolve().name
    diskseq = read_int(SYS_BLOCK / name / "diskseq")
    if diskseq is None:
        raise fail(TUNING_NOT_OFFERED, f"{path} is not a block device of the kernel", place=path,
                   remedy="Tune another device.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return Device(name, diskseq)


def echo(file: str, value: str, path: str = "", *, built: bool = False) -> Argv:
    """Return the equivalent shell command. `path`: the device's node; a built device gets its kernel name only later."""
    if "*" in file:
        return ("sh", "-c", f"echo {shlex.quote(value)} | tee {file}")
    if path and built:
        folder = f'{SYS_BLOCK}/"$(basename "$(realpath {shlex.quote(path)})")"/'
    else:
        folder = f"{SYS_BLOCK}/{Path(path).name}/" if path else ""
    return ("sh", "-c", f"echo {shlex.quote(value)} > {folder}{file}")


def read(file: Path) -> str | None:
    """Return the present value of a setting, as it can be written; None if it cannot be read.

    `[none] mq-deadline` is `none`; `1000 (system)` is `system`, and `1000 (local)` is `1000`.
    """
    text = bounded(lambda: read_text(file), f"reading {file}")
    if text is None:
        return None
    if match := re.search(r"\[([^\]]+)\]", text):
        return clean(match.group(1), 200)
    if match := re.fullmatch(r"(\d+) \((system|local)\)", text):
        return "system" if match.group(2) == "system" else match.group(1)
    return clean(text.strip(), 200)


def write(file: Path, value: str) -> None:
    """Write a setting. Raises ProblemError: `tuning-not-taken` with the kernel's error, `stuck` without an answer."""

    def work() -> None:
        with file.open("wb", buffering=0) as open_file:
            open_file.write(f"{value}\n".encode())

    try:
        bounded(work, f"writing {value} to {file}", to_the_end=True)
    except OSError as error:
        text = read_text(file) or ""
        offered = text if "[" in text else read_text(file.with_name("scaling_available_governors"))
        choices = f" It offers: {clean(offered, 200)}." if offered else ""
        raise fail(TUNING_NOT_TAKEN, f"the kernel does not accept {value!r} here: {error.strerror}", place=str(file),
                   remedy=f"Choose another value.{choices}", exit=Exit.BUILD_FAILED) from error  # fmt: skip


def holds(file: str, asked: str, now: str | None) -> bool:
    """Return True if the value read back is the requested one, apart from the kernel's rounding."""
    if now == asked:
        return True
    name = Path(file).name
    if now is None or not (now.lstrip("-").isdigit() and asked.lstrip("-").isdigit()):
        return _number(now) is not None and _number(now) == _number(asked)
    return abs(int(now) - int(asked)) < _MAY_DIFFER.get(name, 1)


def dragged_along(folder: Path) -> Iterator[str]:
    """Yield the files below the device's folder that change with the scheduler and are restored with it."""
    yield from ("queue/nr_requests", "queue/wbt_lat_usec")
    for file in sorted((folder / "queue/iosched").glob("*")):
        if can_be_set(file):
            yield f"queue/iosched/{file.name}"


def can_be_set(file: Path) -> bool:
    """Return True if the setting exists and is writable."""
    try:
        return bool(file.stat().st_mode & stat.S_IWUSR)
    except OSError:
        return False


def _number(text: str | None) -> int | None:
    try:
        return int(text or "", 0)
    except ValueError:
        return None


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
        return SYS_BLOCK / self.device / self.file if self.device else Path(self.file)

    @property
    def is_there(self) -> bool:
        """True if the same device, or the server's file, still exists."""
        if self.device:
            return Device(self.device, self.diskseq).is_there()
        return self.path.exists()


class Memory(msgspec.Struct):
    """Settings of one step, in the order in which they are written and restored."""

    boot_id: str
    """Boot of the settings; a restart resets them all."""
    entries: list[Entry]


def _file(folder: Path, args: Settings) -> Path:
    return folder / f"tuning-{args.uuid}.json"


def remember(folder: Path, args: Settings, entries: list[Entry]) -> None:
    """Write the entries to stable storage."""
    write_atomic(_file(folder, args), msgspec.json.encode(Memory(boot_id(), entries)))


def recall(folder: Path, args: Settings) -> Memory | None:
    """Return the entries of a step; None if there are none or they were restored already."""
    try:
        return msgspec.json.decode(_file(folder, args).read_bytes(), type=Memory)
    except FileNotFoundError:
        return None


def forget(folder: Path, args: Settings) -> None:
    _file(folder, args).unlink(missing_ok=True)
    sync_folder(folder)


def health(context: Context, args: Settings) -> tuple[str, ...]:
    try:
        return tuple(_changed(context, args))
    except ProblemError as error:
        return tuple(problem.message for problem in error.problems)


def claims(args: Settings, modules: Sequence[ModuleParameters] = ()) -> tuple[str, ...]:
    """Return the names of the server-wide settings that the step changes."""
    governor = any(setting.file == GOVERNORS for setting in args.settings)
    return (*(module.claim for module in _modules_of(args, modules)), *(("the CPU governor",) if governor else ()))


def _modules_of(args: Settings, modules: Sequence[ModuleParameters]) -> list[ModuleParameters]:
    folders = {Path(setting.file).parent for setting in args.settings if not setting.ref}
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
        write(entry.path, str(entry.asked))
    for entry in asked:
        entry.set = read(entry.path)
    if wrong := [entry for entry in asked if not holds(entry.file, str(entry.asked), entry.set)]:
        text = "; ".join(f"{entry.what} is {entry.set}, not {entry.asked} as asked" for entry in wrong)
        raise fail(TUNING_NOT_TAKEN, text, place=str(wrong[0].path), remedy="Choose another value.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    remember(context.folder, args, entries)
    facts = {entry.what: {"asked": entry.asked, "found": entry.found, "set": entry.set} for entry in asked}
    commands = tuple(
        echo(
            setting.file,
            setting.value,
            setting.ref and context.path(setting.ref),
            built=not setting.ref.startswith("disk:"),
        )
        for setting in args.settings
    )
    return Outcome("done", {"tuning": facts}, commands)


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
            remedy = f"By hand: echo {entry.found} > {entry.path}. `raidtui recover` tries it again."
            for problem in error.problems:
                text = f"{entry.what} could not be put back to {entry.found}: {problem.message}"
                problems.append(TUNING_LEFT.problem(text, place=str(entry.path), remedy=remedy, exit=Exit.LEFT_BEHIND))
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
    now = read(entry.path)
    if now is None and entry.asked is None:
        return ""
    if now != entry.found:
        write(entry.path, entry.found)
        now = read(entry.path)
    if now is None or not holds(entry.file, entry.found, now):
        raise fail(TUNING_LEFT, f"it is {now}, and was {entry.found}", place=str(entry.path))
    return now


def _changed(context: Context, args: Settings) -> Iterator[str]:
    """Yield the settings that were changed since (by udev, a daemon or a user), or whose device is gone."""
    memory = recall(context.folder, args)
    for entry in memory.entries if memory is not None else ():
        if entry.set is not None and not entry.is_there:
            yield f"{entry.what} is gone with its device"
        elif entry.set is not None and (now := read(entry.path)) != entry.set:
            yield f"{entry.what} is {now} now, not {entry.set} as it was set"


def _read_settings(context: Context, settings: Sequence[SettingOfDevice]) -> Iterator[Entry]:
    """Yield the present values, with a scheduler also those of the settings that depend on it."""
    for ref, group in itertools.groupby(settings, key=lambda setting: setting.ref):
        if not ref:
            for setting in group:
                yield from _of_server(setting)
            continue
        device = device_at(context.path(ref))
        name = ref.partition(":")[2]
        asked = {setting.file: setting.value for setting in group}
        for file, value in asked.items():
            found = _found(device.folder / file, name)
            yield Entry(f"{name} {file}", file, found, value, None, device.name, device.diskseq)
        for file in dragged_along(device.folder) if "queue/scheduler" in asked else ():
            found_along = read(device.folder / file)
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
    found = read(file) if can_be_set(file) else None
    if found is None:
        raise _not_offered(file, where)
    return found


def _not_offered(file: Path, where: str) -> ProblemError:
    return fail(TUNING_NOT_OFFERED, f"the kernel offers no {file.name} of {where} that can be set", place=str(file),
                remedy="Leave it out of the tuning.", exit=Exit.BUILD_FAILED)  # fmt: skip


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
