"""Layouts and workloads of one name that are not the same in several results: options that differ, with their values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from raidtui.base.text import clean, named
from raidtui.results.extract import Extract
from raidtui.results.facts import AS_BUILT, flat
from raidtui.results.notes import NOT_GIVEN, Facts, is_place, who

_MOST = 6
"""Options and values that are listed."""


def redefined_layouts(extracts: Sequence[Extract], meant: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each layout whose options differ between results; `meant` are options that should.

    Values that were read back and names of roles are no options.
    """
    given: dict[str, dict[int, Facts]] = {}
    asked: dict[int, Facts] = {}  # results share what they have in common
    for number, one in enumerate(extracts, 1):
        for name, facts in one.layouts.items() if not one.imported else ():
            if id(facts) not in asked:
                asked[id(facts)] = {option: value for option, value in facts.items() if option not in meant
                                    and not option.startswith(AS_BUILT) and not is_place(option)}  # fmt: skip
            given.setdefault(name, {})[number] = asked[id(facts)]
    yield from _sentences("layout", given)


def redefined_workloads(extracts: Sequence[Extract]) -> Iterator[str]:
    """Yield a sentence for each workload whose options differ between results."""
    given: dict[str, dict[int, Facts]] = {}
    for number, one in enumerate(extracts, 1):
        for name, definition in one.workloads.items() if not one.imported else ():
            given.setdefault(name, {})[number] = _options(definition)
    yield from _sentences("workload", given)


@lru_cache(maxsize=4096)
def _options(definition: str) -> dict[str, str]:
    """Return the options of a workload by place (`fio.bs`); empty if unknown."""
    try:
        found = json.loads(definition)
    except ValueError:
        return {}
    return flat(found[0]) if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def _sentences(kind: str, given: Mapping[str, Mapping[int, Facts]]) -> Iterator[str]:
    """Yield `layout raid5 is not the same in all results: md.chunk is 64KiB in result 1, 512KiB in result 2`."""
    for name, by_result in given.items():
        if len(set(map(id, by_result.values()))) == 1:
            continue
        known = {number: facts for number, facts in by_result.items() if facts}
        differences = [text for option in dict.fromkeys(option for facts in known.values() for option in facts)
                       if (text := _values(option, known))]  # fmt: skip
        if differences:
            yield f"{kind} {clean(name)} is not the same in all results: {named(differences, _MOST)}"


def _values(option: str, known: Mapping[int, Facts]) -> str:
    """Return the values of an option with the results that have them; nothing if all have the same."""
    numbers: dict[str, list[int]] = {}
    for number, facts in known.items():
        numbers.setdefault(facts.get(option, NOT_GIVEN), []).append(number)
    if len(numbers) < 2:
        return ""
    shown = [f"{clean(value, 200)} in {who(found)}" for value, found in list(numbers.items())[:_MOST]]
    more = f" and {len(numbers) - _MOST} other values" if len(numbers) > _MOST else ""
    return f"{clean(option)} is {', '.join(shown)}{more}"
