"""Messages between client and engine: one JSON message a line, over stdin and stdout of any argv.

The engine speaks first (`Hello`). Each request gets any number of `Event` replies and then one `Result` or one `Failure`,
all with the request's id; replies to several requests may be mixed. `model/wire.py` says how long a message may be; the
engine sends a result file that is longer as events (base64 of its pieces), and `Pieces` at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.plan import Options
from raidtui.model.problem import Problem

PROTOCOL: Final = 1
"""Raised by one with every change that an older other side would misunderstand."""


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="type"):
    """The engine's first line."""

    protocol: int
    version: str
    host: str
    root: bool
    boot_id: str
    machine_id: str = ""
    """Hash of the server's /etc/machine-id; empty if it has none."""


class Request(msgspec.Struct, frozen=True, tag="request", tag_field="type"):
    id: int
    method: str
    params: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True, tag_field="type"):
    """Base of what the engine answers."""

    id: int


class EventReply(Reply, frozen=True, tag="event"):
    event: msgspec.Raw


class ResultReply(Reply, frozen=True, tag="result"):
    result: msgspec.Raw


class FailureReply(Reply, frozen=True, tag="failure"):
    problems: tuple[Problem, ...]


class DiskList(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to `disks`, and the event of `watch-disks`."""

    schema: str
    """`raidtui.disks/1`"""
    host: str
    boot_id: str
    disks: Annotated[tuple[Disk, ...], msgspec.Meta(max_length=10_000)]
    at: str = ""
    """Time at which the disks were scanned, by the server's clock (ISO 8601, UTC)."""
    age_s: float = 0.0
    """Seconds between that look and the sending of this list."""
    again_s: float = 0.0
    """Longest time in seconds until the next list is sent; 0 if no other list follows."""


class PlanRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `plan`. `document` is a scenario or a result file's content, as plain JSON data."""

    document: str
    """The file's text: parsed by the engine, under its limits."""
    bind: dict[str, tuple[str, ...]] = {}
    """Role → ids (serial or WWN) of its disks; roles left out are bound where exactly one choice fits."""
    options: Options = Options()
    hosts: dict[str, tuple[str, ...]] = {}
    """Group → ssh destinations of its hosts, as the storage server reaches them."""


class ScriptRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `script`: one layout that is to be built for good."""

    plan: PlanRequest
    language: Literal["bash", "ansible"]
    name: str = "data"
    """Name of the array, volume group, pool and filesystem."""
    mount: str = "/srv/data"
    """Mount point of a filesystem."""


class Script(msgspec.Struct, frozen=True):
    """Answer to `script`."""

    language: str
    layout: str
    text: str
    disks: dict[str, str]
    """Paths below /dev/disk/by-id, by disk id."""


class StartRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `start`: the plan that was shown, and the consent to it."""

    plan: PlanRequest
    digest: str
    """Digest of the plan that was shown: another plan is refused."""
    token: str
    erase: tuple[str, ...]
    """Disks that the plan erases, all of them and no other, by serial or WWN."""
    pools: tuple[str, ...] = ()
    """Existing pools in which the plan makes something, all of them and no other."""


class Started(msgspec.Struct, frozen=True):
    run: str


class FollowRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `follow`: events are a run's records after `after`, until the run has ended."""

    run: str
    after: int = 0


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `cancel` and `result`. An empty run is the latest fitting one."""

    run: str = ""


class RecoverRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `recover`. An empty run is every one that left something."""

    run: str = ""
    without: tuple[str, ...] = ()
    """Ids of disks that are given up: gone for good, or used by others now. Only with the name of one run."""
    progress: bool = False
    """True to receive `RecoverProgress` events before the answer."""


class RunInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run, as `runs` lists it."""

    run: str
    scenario: str
    state: str
    """`running`, `finished`, `interrupted` (no runner and not taken down: `recover`), `recovered`."""
    started: str
    disks: tuple[Fingerprint, ...]
    exit: int | None = None
    outcome: str = ""
    cells_done: int = 0
    cells: int = 0
    """Planned, without those that turned out not to be needed."""
    rehearsal: bool = False
    restarted: bool = False
    """True of an interrupted run that was still at work when the server went down: it was started in another boot."""


class RunList(msgspec.Struct, frozen=True, omit_defaults=True):
    schema: str
    """`raidtui.runs/1`"""
    runs: Annotated[tuple[RunInfo, ...], msgspec.Meta(max_length=10_000)]
    """The latest, and older ones that go on or left something."""
    older: int = 0
    """Number of older runs that are not listed."""


class Recovered(msgspec.Struct, frozen=True):
    """Answer to `recover`: per run what was done; empty when there was nothing to recover."""

    runs: Annotated[tuple[RecoveredRun, ...], msgspec.Meta(max_length=10_000)]


class RecoverProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """Current action of a recovery, sent about once a second while it changes."""

    run: str
    text: str
    fraction: float | None = None
    """Completed part of the action, 0 to 1; None where it is unknown."""


class RecoveredRun(msgspec.Struct, frozen=True, omit_defaults=True):
    run: str
    exit: int
    actions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    disks: tuple[RecoveredDisk, ...] = ()
    """Disks that the run still held before the recovery."""


class RecoveredDisk(msgspec.Struct, frozen=True, omit_defaults=True):
    """One disk of a run after a recovery."""

    disk: str
    outcome: str
    """`blank` and released; `left` as it is, because of `why`; `missing`; `given up` (`--without`)."""
    why: str = ""


class Pieces(msgspec.Struct, frozen=True):
    """Answer to `result` after the events that hold the file's pieces, in order."""

    schema: str
    """`raidtui.pieces/1`: no result, so that a reader of results that passes the events over refuses it."""
    size_bytes: int


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `doctor`."""

    name: str
    ok: bool
    found: str
    needed_for: str = ""
    remedy: str = ""
    optional: bool = False
    """True if it is not installed and can be done without; `ok` is true then."""


class Checkup(msgspec.Struct, frozen=True):
    """Answer to `doctor`."""

    schema: str
    """`raidtui.doctor/1`"""
    host: str
    checks: Annotated[tuple[Check, ...], msgspec.Meta(max_length=1000)]
    can_build: tuple[str, ...] = ()
    """Kinds of layers that have all they need, some with the options that they lack: `lvm (without VDO)`."""
    cannot_build: tuple[str, ...] = ()
    """Kinds of layers for which one is missing."""
    distribution: str = ""
    """ID and ID_LIKE of the server's os-release."""
    packages: tuple[str, ...] = ()
    """Packages of the distribution that `raidtui prepare` would install."""


MAX_HELLO_BYTES: Final = 64 << 10
MAX_MESSAGE_BYTES: Final = 16 << 20
"""Limit of one message from an engine."""
MAX_REQUEST_BYTES: Final = 8 << 20
"""Eight times as long as a scenario may be. Of a result, only what a plan is made from is sent (`without_cells`)."""
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 1_000_000
"""Twenty-five times as many as the plan of the largest shipped scenario has."""
MAX_TEXT_BYTES: Final = 1 << 20
"""Limit of one text that is shown."""
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Everything that msgspec says of bytes that are not what was asked for."""
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
# Counters of 64 bits have twenty digits, and tools print them; sums and products of numbers below 1e30 stay finite.
_HUGE_NUMBER: Final = re.compile(rb"(?<![\w.])-?\d{25}|\d[eE]\+?0*(?:[3-9]\d|\d{3})")
_AS_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_NO_MARKS: Final = bytes(set(range(256)) - set(b",[]{}"))
_PART_BYTES: Final = 64 << 10


def excess(message: bytes | bytearray, *, texts: bool = True) -> str:
    """Return the reason why this JSON exceeds a limit; empty if it does not.

    Without `texts`, one text may be as long as a message may.
    """
    numbers = _HUGE_NUMBER.search(message) is not None
    if not numbers and len(message) <= MAX_TEXT_BYTES and message.count(b"[") + message.count(b"{") <= MAX_DEPTH:
        return ""
    marks, before = bytearray(), 0
    for start, end in _outside_strings(message):
        if texts and start - before > MAX_TEXT_BYTES:
            return f"a text in it has more than {MAX_TEXT_BYTES >> 20} MiB"
        if numbers and (found := _HUGE_NUMBER.search(message, start, end)):
            return f"the number {found.group().decode()}… is out of range"
        for at in range(start, end, _PART_BYTES):
            marks += message[at : min(end, at + _PART_BYTES)].translate(_AS_ONE_KIND, _NO_MARKS)
            if len(marks) > 2 * MAX_VALUES:  # every bracket is closed
                return f"it has more than {MAX_VALUES:,} values"
        before = end
    if _deeper(marks.replace(b",", b"")):
        return f"it is nested more than {MAX_DEPTH} deep"
    return ""


def _outside_strings(message: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the parts outside of strings, in order."""
    at = 0
    for match in _STRING.finditer(message):
        yield at, match.start()
        at = match.end()
    yield at, len(message)


def _deeper(brackets: bytes | bytearray) -> bool:
    """Return True for brackets nested more than `MAX_DEPTH` deep. Each pass removes the innermost ones."""
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
