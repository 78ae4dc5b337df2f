"""What lines `# claim: …` of a plain table say: how far apart which layouts are at most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from raidtui.model.table import Claim
from raidtui.results.imports.cells import Directive
from raidtui.results.tolerance import tolerance


def claims_of(directives: Iterable[Directive], layouts: Sequence[str], name: str, baseline: str) -> list[Claim]:
    """Of the layouts that a sentence names, else of all; the reference is the one behind the number."""
    found = []
    for one in directives:
        if one.word != "claim" or (said := tolerance(one.text)) is None:
            continue
        named, behind = _named(one.text, layouts), _named(one.text[said.end :], layouts)
        chosen = named if len(named) > 1 else list(layouts)
        wanted = next((k for k in layouts if _plain(k) == _plain(one.subject or baseline)), "")
        after = [key for key in named if key in behind]
        first = wanted or (after[0] if len(after) == 1 else chosen[0] if chosen else "")
        if pairs := tuple((first, key) for key in chosen if key != first):
            found.append(Claim(one.text[:400], said.percent, pairs, f"{name}:{one.line}"))
    return found


def _named(text: str, layouts: Sequence[str]) -> list[str]:
    """The layouts that a text names, in its order; where a name is part of a longer one that stands there, the longer."""
    sentence = f" {_plain(text)} "
    found: dict[int, str] = {}
    for key in sorted(layouts, key=lambda key: -len(_plain(key))):
        while (name := _plain(key)) and (start := sentence.find(f" {name} ")) >= 0:
            found.setdefault(start, key)
            sentence = f"{sentence[:start]} {'.' * len(name)} {sentence[start + len(name) + 2 :]}"
    return list(dict.fromkeys(found[start] for start in sorted(found)))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()
