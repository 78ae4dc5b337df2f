"""Checks of a replayed layout: its result, its journal, and the state of its disks."""

from __future__ import annotations

from typing import Any

_ENDS = ("step-done", "step-failed")
_CALLS = {"zfs": "lzc_", "cryptsetup": "bd_crypto_"}
"""Calls of a library by the program that does the same, where a step has no `same_as`."""
_DESCRIPTOR = "/proc/self/fd/"
"""A plan names a device or the folder of its files; a workload gets the descriptor that raidtui opened."""
_DEVICES = ("/dev/", _DESCRIPTOR, "/run/raidtui/mnt/")
_ERASES = ("blkdiscard", "sgdisk", "wipefs")
"""Programs for what raidtui erases itself; the fact `erased` names where."""
Found = tuple[dict[str, bool], list[str]]
"""Outcome of the checks: passed columns and problems."""


def looks(result: Found, journal: Found, outside: dict[str, Any]) -> Found:
    """Everything together."""
    wrong = [*result[1], *journal[1]]
    if outside["not blank"]:
        wrong.append(f"not blank: {', '.join(outside['not blank'])}")
    if outside["left"]:
        wrong.append(f"left in the guest: {' '.join(outside['left'])}")
    if not outside["canary"]:
        wrong.append("the canary was written")
    gone = result[0]["gone"] and not outside["left"]
    seen = {"gone": gone, "blank": not outside["not blank"], "canary": outside["canary"]}
    return {**result[0], **journal[0], **seen}, wrong


def of_result(result: dict[str, Any] | None, layout: str) -> Found:
    """Built, read back, measured in every cell, taken down."""
    columns = dict.fromkeys(("built", "read back", "measured", "gone"), False)
    if result is None:
        return columns, ["there is no result"]
    built = [entry for entry in result["layouts"] if entry["layout"] == layout]
    cells = result.get("cells", [])
    columns["built"] = bool(built) and all(entry["status"] == "built" for entry in built)
    columns["read back"] = columns["built"] and all(entry.get("read_back") for entry in built)
    columns["measured"] = result["complete"] and bool(cells) and all(cell["valid"] for cell in cells)
    columns["gone"] = bool(built) and all(entry.get("taken_down") for entry in built)
    wrong = [f"{cell['id']}: {'; '.join(cell.get('reasons', []))}" for cell in cells if not cell["valid"]]
    wrong += [entry["problem"]["message"] for entry in built if entry.get("problem")]
    return columns, [*wrong, *(problem["message"] for problem in result.get("problems", []))]


def of_journal(events: list[dict[str, Any]]) -> Found:
    """Every command that the plan promised was executed as it was promised."""
    plan = next((event["plan"] for event in events if event["kind"] == "run-started"), None)
    if plan is None:
        return {"commands": False}, ["the run did not begin"]
    ends = {event["step"]: event for event in events if event["kind"] in _ENDS}
    wrong = [
        f"step {step['id']} ({step['title']}) promised: {' '.join(command)}"
        for step in plan["steps"]
        for command in step.get("commands", [])
        if not _was_done(command, ends.get(step["id"], {}))
    ]
    return {"commands": not wrong}, wrong[:3]


def _was_done(command: list[str], end: dict[str, Any]) -> bool:
    """Return True if a step executed this command, or had a library do the same.

    Calls of libraries are among the commands (`lzc_destroy POOL/vol`); the fact `same_as` has commands that do the same.
    """
    executed, facts = end.get("commands", []), end.get("facts", {})
    loads = [one for one in executed if any(_DESCRIPTOR in word for word in one)]
    if command in executed or _without_paths(command) in map(_without_paths, loads):
        return True
    same = facts.get("same_as", [])
    alike = [same] if same and isinstance(same[0], str) else same
    if alike:
        return _without_paths(command) in map(_without_paths, alike)
    if command[0] in _ERASES:
        return bool(facts.get("erased"))
    calls = _CALLS.get(command[0])
    return calls is not None and any(call[0].startswith(calls) and command[-1] in call for call in executed)


def _without_paths(command: list[str]) -> list[str]:
    """A plan names a device by its link, a library by its node, and a workload by the descriptor that raidtui opened."""
    return [word for word in command if not word.rpartition("=")[2].startswith(_DEVICES)]
