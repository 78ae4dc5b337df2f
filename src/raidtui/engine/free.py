"""Free a disk: what is on it and in use by nobody is shown, consented to, and erased.

The gate admits the disk with exactly the content that was shown, and nothing else: no mount, no holder, no active array,
group or pool, no other host. The first and the last bytes are saved before, since signatures are there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from raidtui import inventory
from raidtui.base.files import private_folder, sync_folder, write_atomic
from raidtui.base.paths import state_folder
from raidtui.base.text import clean
from raidtui.engine.compose.binding import named_disk, resolve
from raidtui.engine.compose.planner import ZERO_BYTES_PER_S
from raidtui.engine.meanwhile import telling
from raidtui.engine.run import runs
from raidtui.gate.admit import admit_to_free
from raidtui.gate.blank import make_blank
from raidtui.gate.permit import Permit
from raidtui.model.disk import Disk, Reason, fingerprint
from raidtui.model.free import FREE_SCHEMA, Freed, FreePlan, FreeProgress
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail

NOT_FREEABLE: Final = Refusal(
    "not-freeable",
    "The disk cannot be freed",
    "raidtui erases what is left on a disk and used by nobody: partitions, filesystems, closed volumes, superblocks, "
    "labels of pools that are not imported, data of an unknown kind. Anything else means that somebody uses the disk, or "
    "that this cannot be told.",
    "End that use first; `raidtui disks` has the command for each reason.",
)
FREE_ALREADY: Final = Refusal(
    "free-already", "The disk is free already", "There is nothing on the disk to erase.", "Use it: `raidtui disks`."
)
FREE_CONSENT: Final = Refusal(
    "free-consent",
    "No consent to erase the disk",
    "Freeing a disk erases all of it; it is named once more as the consent, and the consent is to what was shown.",
    "raidtui free DISK shows it; then: raidtui free DISK --erase DISK.",
)
SAVED_BYTES: Final = 4 << 20
"""First and last bytes of the disk that are saved."""


def look(name: str, disks: Iterable[Disk]) -> FreePlan:
    """Return what freeing this disk would erase. Raises ProblemError if it must not, or need not, be freed."""
    disk = named_disk(name, disks)
    if disk.free:
        raise fail(FREE_ALREADY, f"{disk.id} is free: there is nothing on it", place=disk.id, exit=Exit.USAGE,
                   remedy=FREE_ALREADY.way_out)  # fmt: skip
    if used := [reason for reason in disk.reasons if reason.code not in inventory.CONTENT]:
        # Of the system's disk nothing else matters: its uses cannot be ended.
        raise ProblemError(*(_not_freeable(disk, reason) for reason in [one for one in used if one.system] or used))
    seconds = 5.0 if disk.discard else 5.0 + disk.size_bytes / ZERO_BYTES_PER_S
    return FreePlan(FREE_SCHEMA, disk, _digest(disk), seconds)


def _not_freeable(disk: Disk, reason: Reason) -> Problem:
    text = f"{disk.id} cannot be freed: {reason.message} [{reason.code}]"
    remedy = "Take another disk: this one stays as it is." if reason.system else reason.remedy or NOT_FREEABLE.way_out
    return NOT_FREEABLE.problem(text, place=disk.id, remedy=remedy, exit=Exit.REFUSED)


def _digest(disk: Disk) -> str:
    own = msgspec.to_builtins(fingerprint(disk, inventory.boot_id()))
    body = json.dumps([own, sorted(told(disk.reasons))], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def told(reasons: Iterable[Reason]) -> set[tuple[str, str]]:
    """Return reasons as they are compared. The place at which unknown data was found first depends on chance."""
    return {(one.code, "" if one.code == "unknown-data" else one.message) for one in reasons}


def free(plan: FreePlan, digest: str, erase: str) -> Generator[FreeProgress, None, Freed]:
    """Erase the disk of a plan that was shown with this digest. Raises ProblemError; yields progress.

    An interruption leaves a part of it erased: it is not free then, and may be freed again.
    """
    disk = plan.disk
    if resolve(erase, [disk]) is None:
        raise fail(FREE_CONSENT, f"--erase names {erase[:80]!r}, and {disk.id} would be erased", place=disk.id,
                   exit=Exit.REFUSED, remedy=f"raidtui free {disk.id} --erase {disk.id}")  # fmt: skip
    if plan.digest != digest:
        raise fail(FREE_CONSENT, f"{disk.id}, or what is on it, is not what was shown", place=disk.id, exit=Exit.REFUSED,
                   remedy="Look at it again: raidtui free DISK.")  # fmt: skip
    return (yield from telling(partial(_free, disk)))


def _free(disk: Disk, tell: Callable[[FreeProgress], None]) -> Freed:
    name = f"free-{threading.get_native_id()}"
    permit = admit_to_free(name, fingerprint(disk, inventory.boot_id()), told(disk.reasons), runs.held_disks(), told)
    try:
        tell(FreeProgress("saving its first and last bytes", 0.0))
        saved = _save(permit)
        proof = make_blank(permit, lambda done, of: tell(FreeProgress("writing zeroes", done / of)))
        return Freed(FREE_SCHEMA, disk.id, proof["method"], proof["seconds"], str(saved))
    finally:
        permit.close()


def _save(permit: Permit) -> Path:
    """Save the first and last bytes of the disk, and what was on it; return their folder. Raises ProblemError."""
    disk = permit.disk
    when, which = time.strftime("%Y%m%d-%H%M%S", time.gmtime()), re.sub(r"[^A-Za-z0-9._-]", "_", clean(disk.id))[:100]
    folder = private_folder(private_folder(state_folder() / "freed") / f"{when}-{which}")
    last = max(0, disk.size_bytes - SAVED_BYTES)
    try:
        for file, at in (("first", 0), ("last", last)):
            write_atomic(folder / f"{file}.img", os.pread(permit.pin, SAVED_BYTES, at))
        write_atomic(folder / "disk.json", msgspec.json.format(msgspec.json.encode(disk)))
        sync_folder(folder)
    except OSError as error:
        text = f"its first and last bytes cannot be saved in {folder}: {error.strerror}"
        raise fail(NOT_FREEABLE, text, place=disk.id, exit=Exit.REFUSED) from error
    return folder
