"""Keys of config.toml that cannot work: unknown ids, unknown keys, one key for two actions."""

from __future__ import annotations

import importlib
import pkgutil
import unicodedata
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

import raidtui.tui
from raidtui.base.text import clean

_MODIFIERS: Final = ("ctrl", "shift", "alt", "meta", "super", "hyper")


def wrong_keys(wanted: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each entry of the table `keys` that does nothing or takes the key of another action."""
    owners = _bindings()
    known = {binding.id for bindings in owners.values() for binding in bindings if binding.id}
    for id_, keys in wanted.items():
        if id_ not in known:
            close = get_close_matches(id_, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else "; ? lists them"
            yield f"config.toml: no action has the id {clean(id_, 60)!r}{hint}"
        for key in keys.split(","):
            if not _is_key(key.strip()):
                yield f"config.toml: {clean(id_, 60)}: there is no key {clean(key, 30)!r}"
    yield from dict.fromkeys(_clashes(owners, wanted))


def _clashes(owners: Mapping[str, list[Binding]], wanted: Mapping[str, str]) -> Iterator[str]:
    everywhere = [binding for bindings in owners.values() for binding in bindings if (binding.id or "").startswith("app.")]
    for bindings in owners.values():
        taken: dict[str, str] = {}
        for binding in (*bindings, *everywhere):
            if not (id_ := binding.id or ""):
                continue
            for key in wanted.get(id_, binding.key).split(","):
                other = taken.setdefault(_long(key.strip()), id_)
                if other != id_ and {other, id_} & set(wanted):
                    yield f"config.toml: the key {clean(key, 30)} is of {other} and of {id_}: one of them has no effect"


def _bindings() -> dict[str, list[Binding]]:
    """Return the bindings of every screen and widget of raidtui, by its name."""
    for module in pkgutil.walk_packages(raidtui.tui.__path__, "raidtui.tui."):
        importlib.import_module(module.name)
    found: dict[str, list[Binding]] = {}
    todo: list[type[DOMNode]] = [DOMNode]
    while todo:
        for kind in todo.pop().__subclasses__():
            todo.append(kind)
            own = [one for one in kind.__dict__.get("BINDINGS", ()) if isinstance(one, Binding)]
            if kind.__module__.startswith("raidtui.") and own:
                found[f"{kind.__module__}.{kind.__qualname__}"] = own
    return found


def _long(key: str) -> str:
    """Return the name of a key: `question_mark` for `?`."""
    if len(key) != 1 or key.isalnum():
        return key
    return unicodedata.name(key, key).lower().replace(" ", "_").replace("-", "_")


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if len(key) > 1 else [key]
    if not name or any(modifier not in _MODIFIERS for modifier in modifiers):
        return False
    if len(name) == 1 or name in {one.value for one in Keys}:
        return True
    try:
        return bool(unicodedata.lookup(name.replace("_", " ").upper()))
    except KeyError:
        return name in ("minus", "plus", "slash", "backslash", "underscore", "at", "circumflex_accent")
