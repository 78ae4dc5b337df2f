"""Checks of a replayed layout: its result, its journal, and the state of its disks."""

from __future__ import annotations

from typing import Any

_ENDS = ("step-done", "step-failed")
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
    executed = {event["step"]: event.get("commands", []) for event in events if event["kind"] in _ENDS}
    wrong = [
        f"step {step['id']} ({step['title']}) promised: {' '.join(command)}"
        for step in plan["steps"]
        for command in step.get("commands", [])
        if command not in executed.get(step["id"], [])
    ]
    return {"commands": not wrong}, wrong[:3]
