"""Layers on an existing storage cluster: commands with a deadline, records of what was there, and marks of cells.

Nothing of a cluster is a disk of this server: what a layer makes there is named by the run's token, and is removed by what
was recorded before it was made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from raidtui.base import proc
from raidtui.base.files import sync_folder, write_atomic
from raidtui.base.text import clean
from raidtui.model.mark import Mark, Weight
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.units import size_text
from raidtui.stack.amplification import Share, Spread, Writes
from raidtui.stack.calls import MISSING_LIBRARY, TOOL_FAILED
from raidtui.stack.exports import NODE_TIMEOUT_S, size_bytes
from raidtui.stack.layer import Shape
from raidtui.stack.read_back import Difference, mismatch

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.~-]{0,63}$")]
"""A name on the cluster: nothing that a command could take for an option."""
AbsolutePath = Annotated[str, Meta(pattern=r"^/[A-Za-z0-9_./@+-]{1,255}$")]
MIB: Final = 1 << 20

DEADLINE_S: Final = 90.0
"""Time that a command to a cluster may take."""
FULLEST: Final = 0.8
"""Share of a cluster's free space that images may fill: clusters warn before they are full."""
LATE_S: Final = 5.0
"""Time in which a killed command may still be done."""
OTHERS_OPS: Final = 10
"""Operations per second of other clients from which on they are named."""

R = TypeVar("R", bound=msgspec.Struct)
S = TypeVar("S")


def answer(argv: Argv, package: str, silent: Refusal, deadline_s: float = DEADLINE_S) -> proc.Finished:
    """Run a command to a cluster; it may have failed. Raises ProblemError: not installed, or `silent` after the deadline.

    `package`: the way to install the tool.
    """
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail(MISSING_LIBRARY, f"{argv[0]} is not installed", remedy=package, exit=Exit.REFUSED)
    try:
        return proc.run([path, *argv[1:]], timeout_s=deadline_s, check=False)
    except proc.ToolTimeout as error:
        raise fail(silent, f"no answer within {deadline_s:g} s: {' '.join(argv)}", remedy=silent.way_out,
                   exit=Exit.BUILD_FAILED) from error  # fmt: skip


def said_by(ran: proc.Finished) -> str:
    """Return the last lines that a command printed, as one."""
    lines = [line for line in (ran.error_text or ran.text).splitlines() if line.strip()]
    return clean(" ".join(" ".join(lines[-3:]).split())[-400:])


def parsed(argv: Argv, ran: proc.Finished) -> Any:
    """Return what a command printed as JSON. Raises ProblemError (`tool-failed`)."""
    try:
        return json.loads(ran.out)
    except ValueError as error:
        raise fail(TOOL_FAILED, f"{' '.join(argv)} did not print JSON: {clean(ran.text[:200])}",
                   exit=Exit.BUILD_FAILED) from error  # fmt: skip


def left_behind(error: ProblemError) -> ProblemError:
    """Return the error of a teardown: its problems leave something behind (exit 6)."""
    return ProblemError(*(msgspec.structs.replace(one, exit=int(Exit.LEFT_BEHIND)) for one in error.problems))


def refused(error: ProblemError) -> Iterator[Problem]:
    """Yield the problems of a cluster that is asked before anything is built (exit 3)."""
    yield from (msgspec.structs.replace(one, exit=int(Exit.REFUSED)) for one in error.problems)


class Notes(Generic[R]):
    """Records in the run's folder, one for each object: what was on the cluster before a step made something there."""

    def __init__(self, kind: str, record: type[R]) -> None:
        self._kind, self._record = kind, record

    def _file(self, folder: Path, name: str) -> Path:
        return folder / f"{self._kind}-{name}.json"

    def write(self, folder: Path, name: str, record: R) -> None:
        write_atomic(self._file(folder, name), msgspec.json.encode(record))

    def read(self, folder: Path, name: str) -> R | None:
        try:
            return msgspec.json.decode(self._file(folder, name).read_bytes(), type=self._record)
        except FileNotFoundError:
            return None

    def forget(self, folder: Path, name: str) -> None:
        self._file(folder, name).unlink(missing_ok=True)
        sync_folder(folder)


class Trouble(NamedTuple):
    """A reason not to measure on the cluster now, or a caution."""

    refusal: Refusal
    sentence: str
    weight: Weight = "invalid"

    @property
    def mark(self) -> Mark:
        return Mark(self.refusal.code, self.sentence, self.weight)

    @property
    def problem(self) -> Problem:
        return self.refusal.problem(self.sentence, remedy=self.refusal.way_out, exit=Exit.REFUSED)


def around(
    look: Callable[[], S],
    troubles: Callable[[S], Iterable[Trouble]],
    changes: Callable[[S, S], Iterable[Trouble]],
    at_first: Callable[[], Iterable[Mark]],
) -> Callable[[], tuple[Mark, ...]]:
    """Look at a cluster when a cell begins; the returned function looks again at its end, and returns the marks.

    A cluster that does not answer is marked with the problem's code. `at_first` is asked at the beginning alone: later the
    load of others cannot be told from the workload's.
    """
    marks: list[Mark] = []

    def once() -> S | None:
        try:
            found = look()
        except ProblemError as error:
            marks.extend(Mark(one.code, one.message) for one in error.problems)
            return None
        marks.extend(one.mark for one in troubles(found))
        return found

    before = once()
    if before is not None:
        try:
            marks.extend(at_first())
        except ProblemError as error:
            marks.extend(Mark(one.code, one.message) for one in error.problems)

    def ended() -> tuple[Mark, ...]:
        after = once()
        if before is not None and after is not None:
            marks.extend(one.mark for one in changes(before, after))
        return tuple(dict.fromkeys(marks))

    return ended


def other_load(rates: Iterable[tuple[str, float]], refusal: Refusal, what: str) -> Iterator[Mark]:
    """Yield a caution about clients of others, given their operations per second by name. `what`: `other pools`."""
    if found := [f"{name} ({rate:.0f} op/s)" for name, rate in rates if rate >= OTHERS_OPS]:
        yield Mark(refusal.code, f"clients use {what} of the cluster: {', '.join(found)}", "caution")


def too_large(
    name: str, wanted_bytes: float, free_bytes: int, refusal: Refusal, which: str = "are free on the cluster"
) -> Iterator[Problem]:
    """Yield a problem if images, with copies or pieces, would nearly fill the cluster. `which`: the bytes that are free."""
    if wanted_bytes > free_bytes * FULLEST:
        wanted, free = size_text(int(wanted_bytes)), size_text(free_bytes)
        text = f"the images would fill {wanted} of the {free} that {which}"
        yield refusal.problem(text, place=name, remedy=refusal.way_out, exit=Exit.REFUSED)


def too_few(name: str, needed: int, found: int, which: str, refusal: Refusal) -> Iterator[Problem]:
    """Yield a problem if the cluster has fewer failure domains than copies or pieces. `which`: `osd`."""
    if found < needed:
        text = f"the pool needs {needed} failure domains ({which}), and there are {found}"
        yield refusal.problem(text, place=name, remedy=refusal.way_out, exit=Exit.REFUSED)


def pool_shape(images_bytes: int, copies: int, pieces: tuple[int, int] | None) -> Shape:
    """Return the shape of images in a pool of copies, or of k pieces of data and m of code; disks are the cluster's."""
    if pieces is not None:  # an overwrite reads and writes the stripe
        k, m = pieces
        return Shape(images_bytes, m, float(k + m), reads_to_write=True, data_share=1.0, read_penalty=float(k))
    return Shape(images_bytes, copies - 1, float(copies), data_share=1.0)


def tolerated(copies: int, least: int | None, pieces: tuple[int, int] | None, domain: str) -> Mapping[str, tuple[int, str]]:
    """Return how many failure domains (`domain`: `host`) may be lost without data, and a sentence about it.

    `least`: copies or pieces without which writes wait; None if the cluster decides.
    """
    whole, what = (copies, "copies") if pieces is None else (sum(pieces), "pieces")
    count = copies - 1 if pieces is None else pieces[1]
    if not count:
        return {"osds": (0, f"no {domain}: there is one copy")}
    text = f"any {count} of the {domain}s that keep an object's {whole} {what}"
    if pieces is not None:
        text += f" ({pieces[0]}+{pieces[1]})"
    if least is not None and whole - count < least:
        text += f"; writes wait after more than {whole - least}"
    return {"osds": (count, text)}


def pool_spread(copies: int | None, pieces: tuple[int, int] | None, writes: Writes) -> Spread:
    """Return what OSDs write by design; their logs and metadata have no bound. `copies`: None if the cluster decides."""
    if pieces is not None:
        k, whole = pieces[0], sum(pieces)
        return Spread({"osds": Share(whole / k, None, writes)}, f"pieces of data and code, {whole}/{k} and more")
    why = f"{copies} copies and more" if copies is not None else "the number of copies is the cluster's own"
    return Spread({"osds": Share(None if copies is None else float(copies), None, writes)}, why)


def mapped_devices(
    images: Iterable[tuple[str, str]], nodes: Iterable[str | None], each_bytes: int, missing: Refusal
) -> dict[str, list[str]]:
    """Return the devices of images, given by name and full name, after a look at their sizes.

    Raises ProblemError: `missing` for one that is not mapped, `read-back` for one of another size.
    """
    found = []
    for (image, shown), node in zip(images, nodes, strict=True):
        if node is None:
            raise fail(missing, f"image {shown} is not mapped", place=image, remedy=missing.way_out, exit=Exit.BUILD_FAILED)
        if size_bytes(node) != each_bytes:
            wrong = Difference(f"size of {node}", each_bytes, size_bytes(node))
            raise mismatch("the image", image, [wrong], "Somebody else has changed it.")
        found.append(node)
    return {"devices": found}


def await_mapped(nodes: Callable[[], Sequence[str | None]], name: str, missing: Refusal) -> list[str]:
    """Wait until every image is a block device with a size; return their kernel names. Raises ProblemError (`missing`)."""
    until = time.monotonic() + NODE_TIMEOUT_S
    while not all(node is not None and size_bytes(node) for node in nodes()):
        if time.monotonic() > until:
            raise fail(missing, f"after {NODE_TIMEOUT_S:.0f} s an image of {name} is not mapped", place=name,
                       remedy=missing.way_out, exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.2)
    return [node for node in nodes() if node is not None]
