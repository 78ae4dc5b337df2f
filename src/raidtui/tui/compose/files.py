"""Scenario files: what a draft can begin from, opening, and the dialog that saves it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.base.files import write_atomic
from raidtui.base.text import clean, plural
from raidtui.front.files import document, results_folder, shipped, typed_path
from raidtui.front.kept import KeptScenario, keep, kept_path, kept_scenarios, read_kept
from raidtui.front.phrases import sentence
from raidtui.model import refusals
from raidtui.model.jsonio import MAX_RESULT_BYTES, MAX_SCENARIO_BYTES, read_json
from raidtui.model.problem import ProblemError, fail
from raidtui.model.refusals import FILE
from raidtui.model.result import RESULT_SCHEMA
from raidtui.model.scenario_words import SCHEMA
from raidtui.tui.compose.pick import Entry, Pick
from raidtui.tui.draft import EMPTY, Draft
from raidtui.tui.shared import SharedApp
from raidtui.tui.widgets.dialog import AskText


class Beginning(NamedTuple):
    """One source of a new scenario. `name` is the argument of `read`: empty for an empty scenario, else a file."""

    words: str
    note: str
    name: str = ""
    in_library: bool = False


def beginnings() -> Iterator[Beginning]:
    """Yield an empty scenario, the shipped scenarios, and saved results, the newest first."""
    yield Beginning("empty", "no roles, no layouts, no workloads")
    with suppress(OSError):
        for kept in kept_scenarios():
            yield Beginning(kept.name, f"library · {kept.when} · {_bound(kept.scenario)}", str(kept.path), True)
    for name, path in shipped():
        yield Beginning(name, f"shipped · {_title(path)}", str(path))
    results = []
    with suppress(OSError):
        for path in results_folder().glob("*.json"):
            with suppress(OSError):  # a file that is gone by now, or a link to one
                results.append((path.stat().st_mtime, path))
    for mtime, path in sorted(results, reverse=True)[:200]:
        when = datetime.fromtimestamp(mtime).strftime("%Y-%m-%d %H:%M")
        yield Beginning(path.name.removesuffix(".json").removesuffix(".result"), f"result · {when}", str(path))


def read(name: str) -> Draft:
    """Return the draft in a scenario or result file. Raises ProblemError. Takes seconds for a large result."""
    if not name:
        return EMPTY
    data = document(name).encode()
    if (kept := read_kept(data)) is not None:
        return Draft(_checked(kept.document, name), kept.bind)
    value = read_json(data, max_bytes=MAX_RESULT_BYTES)
    found = _mapping(value)
    if found.get("schema") == RESULT_SCHEMA:
        found = _mapping(found.get("scenario"))
    elif len(data) > MAX_SCENARIO_BYTES:
        raise fail(FILE, "the file is too large for a scenario", place=name)
    return Draft(_checked(found, name))


def text_of(document: Mapping[str, Any]) -> str:
    """Return the scenario as file text: one line for each role, layout and workload."""
    parts = []
    for key, value in document.items():
        if key in ("roles", "layouts", "workloads") and isinstance(value, Mapping) and value:
            entries = ",\n".join(f"    {_line(name)}: {_line(entry)}" for name, entry in value.items())
            parts.append(f"  {_line(key)}: {{\n{entries}\n  }}")
        else:
            parts.append(f"  {_line(key)}: {_line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(path: str, document: Mapping[str, Any]) -> None:
    """Write the scenario file, replacing an existing one. Raises ProblemError if it cannot be written."""
    try:
        write_atomic(typed_path(path), text_of(document).encode(), 0o644)
    except OSError as error:
        raise fail(FILE, f"the file cannot be written: {error.strerror or error}", place=path) from None


def wrong_target(text: str) -> str:
    """Return why a scenario cannot be saved there; empty if it can."""
    path = typed_path(text)
    try:
        if path.is_dir():
            return "this is a folder"
        return "" if path.parent.is_dir() else f"there is no folder {path.parent}"
    except OSError as error:  # no permission, or a name that is too long
        return f"the file cannot be written: {error.strerror}"


def _checked(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    if found.get("schema") != SCHEMA:
        raise fail(refusals.SCHEMA, f"the file is not a scenario: its schema is not {SCHEMA!r}", place=name)
    for section in ("roles", "layouts", "workloads", "policy"):
        if not isinstance(found.get(section, {}), Mapping):
            raise fail(refusals.SCHEMA, f"{section!r} is not an object", place=name)
    return {**found, **{section: found.get(section, {}) for section in ("roles", "layouts", "workloads", "policy")}}


def _title(path: Path) -> str:
    try:
        return str(_mapping(json.loads(path.read_text())).get("title", ""))
    except (OSError, ValueError):
        return "unreadable"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bound(kept: KeptScenario) -> str:
    return plural(sum(map(len, kept.bind.values())), "disk")


Then = Callable[[], object]


def keep_in_library(app: SharedApp) -> None:
    """Ask for a name and keep the scenario with the disks of its roles, to begin from it again."""
    draft, name = app.draft, clean(app.draft.document.get("name") or "scenario", 60)

    def named(wanted: str | None) -> None:
        if not wanted:
            return
        path = kept_path(wanted)
        if path.exists():
            entries = [Entry("keep the old one", "nothing is written"), Entry("replace it")]
            question = Pick(f"the library has {clean(path.stem, 60)} already", entries)
            app.push_screen(question, lambda taken: _keep(app, path, draft) if taken == 1 else None)
        else:
            _keep(app, path, draft)

    asked = "Name in the library. Its roles keep their disks; n begins from it again."
    app.push_screen(AskText("Keep in the library", asked, value=name, yes="Keep"), named)


def _keep(app: SharedApp, path: Path, draft: Draft) -> None:
    try:
        keep(path, draft.document, draft.bind)
    except OSError as error:
        app.notify(f"it cannot be kept: {error.strerror or error}", severity="error", timeout=12, markup=False)
        return
    app.history.saved = draft
    app.tell_draft()
    app.notify(f"kept as {clean(path.stem, 60)}: n begins from it", timeout=4, markup=False)


def save(app: SharedApp, then: Then = lambda: None, otherwise: Then = lambda: None) -> None:
    """Ask for a file name and write the draft's scenario; `then` is called after a successful write, else `otherwise`."""
    suggested = clean(app.draft.document.get("name") or "scenario", 60)

    def named(path: str | None) -> None:
        if not path:
            otherwise()
            return
        if typed_path(path).exists():
            entries = [Entry("keep the file", "nothing is written"), Entry("replace it")]
            question = Pick(f"{clean(Path(path).name, 60)} exists already", entries)
            app.push_screen(question, lambda taken: replaced(path, taken))
        else:
            _write(app, path, then, otherwise)

    def replaced(path: str, taken: int | None) -> None:
        if taken == 1:
            _write(app, path, then, otherwise)
        else:
            otherwise()

    where = f"File name. Without a folder it is saved in {clean(Path.cwd(), 300)}."
    app.push_screen(AskText("Save the scenario", where, value=f"{suggested}.json", check=wrong_target, yes="Save"), named)


def confirm_unsaved(app: SharedApp, what: str, then: Then, otherwise: Then = lambda: None) -> None:
    """Call `then` once the draft may be replaced; ask first if it has unsaved changes. `otherwise`: it stays."""
    if not app.history.unsaved:
        then()
        return

    def answered(taken: int | None) -> None:
        if taken == 0:
            save(app, then, otherwise)
        elif taken == 1:
            then()
        else:
            otherwise()

    entries = [Entry("save it first"), Entry("discard it", "the changes are lost"), Entry("cancel")]
    app.push_screen(Pick(what, entries, asked="The scenario has unsaved changes."), answered)


def _write(app: SharedApp, path: str, then: Then, otherwise: Then) -> None:
    draft = app.draft
    try:
        write(path, draft.document)
    except ProblemError as error:
        app.notify(sentence(error.problems[0]), severity="error", timeout=12, markup=False)
        otherwise()
        return
    app.history.saved = draft
    app.tell_draft()
    app.notify(f"saved as {clean(path, 200)}", timeout=4, markup=False)
    then()
