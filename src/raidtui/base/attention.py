"""Supervision of commands that work on disks: one that progresses is waited for and shown; the operator may cancel it.

The runner states once for each step which disks it works on (`attending`); every command and call inside is supervised.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.silence import LIMIT_S, LONGEST_S, Counters, Hangs, Silence, Silent, hangs_text

TICK_S: Final = 0.2
"""Longest delay until a cancel is noticed."""
_LOOK_EVERY_S: Final = 1.0
_TELL_AFTER_S: Final = 2.0
_TELL_HANGS_AFTER_S: Final = 10.0
_SECTOR: Final = 512
_PROC: Final = Path("/proc")
_SYS_BLOCK: Final = Path("/sys/class/block")
_hangs: Final = Hangs()


class Told(NamedTuple):
    """Progress of a command."""

    what: str
    seconds: float
    written_bytes: int
    """Progress of all disks together since it began, like `discarded_bytes`."""
    discarded_bytes: int
    hangs: str
    """Disks that do not answer at the moment, in words."""


@dataclasses.dataclass(frozen=True)
class Attention:
    """The disks, the cancel and the display of a step that runs."""

    disks: tuple[str, ...] = ()
    """Kernel names of the disks that the step works on, and no other process."""
    check: Callable[[], None] = lambda: None
    """Raises an error when the command has to end."""
    tell: Callable[[Told], None] = lambda told: None
    limit_s: float = LIMIT_S
    """Longest time without any progress."""


_current: ContextVar[Attention] = ContextVar("attention", default=Attention())  # noqa: B039 - it is frozen


def current() -> Attention:
    return _current.get()


@contextmanager
def attending(attention: Attention) -> Iterator[None]:
    """Supervise the commands of this thread inside the block in this way."""
    token = _current.set(attention)
    try:
        yield
    finally:
        _current.reset(token)


def checking(check: Callable[[], None]) -> Attention:
    """Return the present attention with an additional check that may end the command."""
    before = current()

    def both() -> None:
        before.check()
        check()

    return dataclasses.replace(before, check=both)


class Watch:
    """Supervises one command or call; `tick` has to be called several times a second."""

    def __init__(
        self,
        what: str,
        work: Callable[[], Hashable],
        limit_s: float | None = None,
        *,
        ends: bool = True,
        tells: bool = True,
    ) -> None:
        """`limit_s`: instead of the attention's. `ends`: its check may end it; `tells`: progress is reported."""
        self._what = what
        self._work = work
        self._attention = current()
        self._limit_s = self._attention.limit_s if limit_s is None else limit_s
        self._ends, self._tells = ends, tells
        self._silence = Silence(self._limit_s, _hangs)
        self._began_s = time.monotonic()
        self._look_at_s = self._began_s + min(TICK_S, self._limit_s / 4)
        self._before: Mapping[str, Counters] | None = None

    def tick(self) -> None:
        """Raises Silent if nothing progresses any more, and the error with which the attention ends the command."""
        if self._ends:
            self._attention.check()
        now_s = time.monotonic()
        if now_s < self._look_at_s:
            return
        self._look_at_s = now_s + min(_LOOK_EVERY_S, self._limit_s / 4)
        disks = counters(self._attention.disks)
        self._silence.look(now_s, self._work(), disks)
        self._before = disks if self._before is None else self._before
        if self._silence.over:
            raise self._silence.silent()
        if now_s - self._began_s > LONGEST_S:
            raise Silent(f"has not come to an end in {LONGEST_S / 86400:.0f} days")
        if self._tells and now_s - self._began_s >= _TELL_AFTER_S:
            self._attention.tell(self._told(now_s, disks))

    def _told(self, now_s: float, disks: Mapping[str, Counters]) -> Told:
        pairs = [(old, disks[name]) for name, old in (self._before or {}).items() if name in disks]
        hanging = {name: one for name, one in disks.items() if _hangs.hung_s(name) >= _TELL_HANGS_AFTER_S}
        return Told(
            self._what,
            now_s - self._began_s,
            sum(new.written_bytes - old.written_bytes for old, new in pairs),
            sum(new.discarded_bytes - old.discarded_bytes for old, new in pairs),
            hangs_text(hanging),
        )


def counters(disks: Iterable[str]) -> dict[str, Counters]:
    """Return the counters of these disks (Documentation/block/stat.rst); missing disks are left out."""
    found = {}
    for name in disks:
        numbers = list(map(int, _read(_SYS_BLOCK / name / "stat").split()))
        if len(numbers) < 9:
            continue
        numbers += [0] * (17 - len(numbers))
        done = numbers[0] + numbers[4] + numbers[11] + numbers[15]
        found[name] = Counters(done, numbers[8], numbers[6] * _SECTOR, numbers[13] * _SECTOR)
    return found


def work_of(pids: Iterable[int]) -> Hashable:
    """Return a value that changes whenever these processes or their children use a CPU or do I/O."""
    return _done(_PROC / str(pid) for pid in pids)


def work_of_thread(tid: int) -> Hashable:
    """Return such a value for one thread of this process."""
    return _done([_PROC / "self/task" / str(tid)])


def descendants(pid: int) -> list[int]:
    """Return the running children of a process, with their children."""
    return [int(folder.name) for folder in _family([_PROC / str(pid)])[1:]]


def _done(folders: Iterable[Path]) -> Hashable:
    return frozenset((folder, _times(folder), _read(folder / "io")) for folder in _family(folders))


def _times(folder: Path) -> tuple[str, ...]:
    """Return the CPU times of a task with its ended children. The name in brackets before them may contain anything."""
    return tuple(_read(folder / "stat").rpartition(")")[2].split()[11:15])


def _family(folders: Iterable[Path]) -> list[Path]:
    """Return the folders of these tasks, and of all processes that they started."""
    found = list(folders)
    for folder in found:
        for task in _inside(folder / "task") or [folder]:  # a process may end at any moment
            started = [_PROC / pid for pid in _read(task / "children").split()]
            found += [child for child in started if child not in found]
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(path: Path) -> str:
    """Return the text of a file of /proc or /sys; empty if it is gone or may not be read."""
    try:
        return path.read_bytes().decode("utf-8", "backslashreplace")
    except OSError:
        return ""
