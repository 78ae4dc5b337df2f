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
        sentence, behind = f" {_plain(one.text)} ", f" {_plain(one.text[said.end :])} "
        named = sorted((k for k in layouts if f" {_plain(k)} " in sentence), key=lambda k: sentence.find(_plain(k)))
        chosen = named if len(named) > 1 else list(layouts)
        wanted = next((k for k in layouts if _plain(k) == _plain(one.subject or baseline)), "")
        after = [key for key in named if f" {_plain(key)} " in behind]
        first = wanted or (after[0] if len(after) == 1 else chosen[0] if chosen else "")
        if pairs := tuple((first, key) for key in chosen if key != first):
            found.append(Claim(one.text[:400], said.percent, pairs, f"{name}:{one.line}"))
    return found


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()
