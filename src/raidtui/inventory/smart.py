"""SMART data of one disk by smartctl(8), read when somebody asks for it: it takes command slots from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.disk import Disk
from raidtui.model.jsonio import read_json
from raidtui.model.problem import ProblemError
from raidtui.model.smart import SMART_SCHEMA, Smart

_TIMEOUT_S: Final = 20.0
_MOST_BYTES: Final = 1 << 20
_REALLOCATED, _PENDING, _UNCORRECTABLE = 5, 197, 198
"""Numbers of ATA attributes."""
_IN_PROGRESS: Final = 15
"""Result of a self-test that goes on (ATA status >> 4, and SCSI)."""


def read_smart(disk: Disk) -> Smart:
    """Ask a disk; one that sleeps is not woken."""
    smartctl = proc.find_tool("smartctl")
    if smartctl is None:
        return Smart(SMART_SCHEMA, disk.id, "smartctl is not installed (package smartmontools)")
    argv = [smartctl, "--json", "-n", "standby,0", "-i", "-H", "-A", "-l", "error", "-l", "selftest", disk.path]
    try:
        ran = proc.run(argv, timeout_s=_TIMEOUT_S, check=False, max_output_bytes=_MOST_BYTES)
        return parse_smart(disk.id, read_json(ran.out, max_bytes=_MOST_BYTES))
    except (proc.ToolError, ProblemError, OSError) as error:
        return Smart(SMART_SCHEMA, disk.id, clean(error, 300))


def parse_smart(disk: str, said: Any) -> Smart:
    """Return what smartctl's JSON says of an ATA, SCSI or NVMe disk."""
    nvme = _at(said, "nvme_smart_health_information_log")
    hours = _number(said, "power_on_time", "hours")
    test, failed = next(_self_tests(said), ("", False))
    found = Smart(
        SMART_SCHEMA, disk,
        passed=passed if isinstance(passed := _at(said, "smart_status", "passed"), bool) else None,
        power_on_hours=hours,
        wear_percent=_first(_number(nvme, "percentage_used"), _number(said, "scsi_percentage_used_endurance_indicator")),
        spare_percent=_number(nvme, "available_spare"),
        media_errors=_first(_number(nvme, "media_errors"), _uncorrected(said), _attribute(said, _UNCORRECTABLE)),
        reallocated=_first(_number(said, "scsi_grown_defect_list"), _attribute(said, _REALLOCATED)),
        pending=_attribute(said, _PENDING),
        self_test=test, self_test_failed=failed,
    )  # fmt: skip
    if found == Smart(SMART_SCHEMA, disk):
        messages = _at(said, "smartctl", "messages")
        words = [_text(one, "string") for one in messages] if isinstance(messages, list) else []
        asleep = _text(said, "power_mode", "string") or "the disk reports no SMART data"
        return Smart(SMART_SCHEMA, disk, "; ".join(filter(None, words)) or asleep)
    return found


def _self_tests(said: Any) -> Iterator[tuple[str, bool]]:
    """Yield self-tests, the one under way or the latest first, and True for one that failed."""
    nvme = _at(said, "nvme_self_test_log")
    if _number(nvme, "current_self_test_operation", "value"):
        done = _number(nvme, "current_self_test_completion_percent")
        yield f"{_text(nvme, 'current_self_test_operation', 'string')}{'' if done is None else f', {done} %'}", False
    for test in _table(nvme, "table"):
        result = _number(test, "self_test_result", "value")
        # NVMe: 0 is success; 1, 2, 3, 4, 8 and 9 are tests that were ended before their end.
        yield _test_words(test, "self_test_code", "self_test_result", "power_on_hours"), result in (5, 6, 7)
    ata = _at(said, "ata_smart_data", "self_test", "status")
    if (_number(ata, "value") or 0) >> 4 == _IN_PROGRESS:
        yield f"under way, {_number(ata, 'remaining_percent') or 0} % remain", False
    for log in ("extended", "standard"):
        for test in _table(said, "ata_smart_self_test_log", log, "table"):
            yield _test_words(test, "type", "status", "lifetime_hours"), _at(test, "status", "passed") is False
    scsi = _at(said, "scsi_self_test_0")
    if _text(scsi, "result", "string"):
        words = f"{_text(scsi, 'code', 'string')}: {_text(scsi, 'result', 'string')}"
        hours = _number(scsi, "power_on_time", "hours")
        # SCSI: 0 is success, 1 and 2 were aborted; 3 to 7 are errors of the disk.
        yield f"{words}{'' if hours is None else f' at {hours} h'}", 3 <= (_number(scsi, "result", "value") or 0) <= 7


def _test_words(test: Any, kind: str, result: str, hours: str) -> str:
    at = _number(test, hours)
    return f"{_text(test, kind, 'string')}: {_text(test, result, 'string')}{'' if at is None else f' at {at} h'}"


def _uncorrected(said: Any) -> int | None:
    """Return the errors that a SCSI disk counted as not corrected; None if it counts none of them."""
    log, ways = _at(said, "scsi_error_counter_log"), ("read", "write", "verify")
    known = [one for way in ways if (one := _number(log, way, "total_uncorrected_errors")) is not None]
    return sum(known) if known else None


def _attribute(said: Any, number: int) -> int | None:
    rows = _table(said, "ata_smart_attributes", "table")
    return next((_number(row, "raw", "value") for row in rows if _number(row, "id") == number), None)


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _number(value: Any, *names: str) -> int | None:
    found = _at(value, *names)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 53 else None


def _text(value: Any, *names: str) -> str:
    return clean(found, 120) if isinstance(found := _at(value, *names), str) else ""


def _table(value: Any, *names: str) -> list[Any]:
    return found if isinstance(found := _at(value, *names), list) else []
