"""Lines with # in plain tables: commands, the baseline of percentages, claims. One that names nothing there is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from raidtui.base.text import named
from raidtui.foreign.cells import Directive, Row
from raidtui.foreign.columns import mapped, of_unit, plain
from raidtui.foreign.headings import MAPPED_ROLES
from raidtui.foreign.lint.figures import layout_of_percentages
from raidtui.foreign.published import tolerance
from raidtui.foreign.sources import Building, stem, unreadable
from raidtui.model.problem import ProblemError
from raidtui.model.table import RATE_UNITS, TIME_UNITS, Claim

_MOST_NAMES: Final = 20
_FROM_COLUMNS: Final = re.compile(r"(?: (?:bs|qd|jobs)=\S+)+$")


def refuse_unmatched(
    blocks: Sequence[Sequence[Row]], directives: Sequence[Directive], given: Sequence[tuple[str, str]], name: str
) -> None:
    """Refuse unknown roles, columns and units. `given` are mappings of the command line."""
    wanted = [(role, heading, name) for role, heading in given]
    for one in directives:
        place = f"{name}:{one.line}"
        if one.word == "map" and one.subject:
            if one.subject.lower() not in MAPPED_ROLES:
                raise _no_such(place, f"{one.subject!r} is nothing that a column can be", MAPPED_ROLES)
            wanted.append((one.subject, one.text, place))
        elif one.word == "unit" and not one.subject and of_unit(one.text, "") is None:
            raise _no_such(place, f"{one.text!r} is no unit that is known here", ("IOPS", *RATE_UNITS, *TIME_UNITS, "%"))
    for role, heading, place in wanted:
        if not any(mapped(block[0].cells, {heading: role}) for block in blocks):
            raise _no_such(place, f"no column is called {heading!r}", blocks[0][0].cells if blocks else ())


def follow(making: Building, directives: Sequence[Directive], name: str) -> None:
    """Give the table what its lines with # say. Raises ProblemError where one names nothing in it."""
    for one in directives:
        if one.word == "command" and one.subject:
            _command(making, one, name)
    _baselines(making, next((d for d in directives[::-1] if d.word == "baseline" and not d.subject and d.text), None), name)
    baseline = next((d.text for d in directives[::-1] if d.word == "baseline" and not d.subject), "")
    for one in directives:
        if one.word == "claim":
            _claim(making, one, baseline, f"{name}:{one.line}")


def _no_such(place: str, message: str, names: Iterable[str]) -> ProblemError:
    return unreadable(place, message, f"There are: {named(list(names), _MOST_NAMES)}.")


def _command(making: Building, one: Directive, name: str) -> None:
    """Give a command to the workloads and layouts of its name; of several files, the file's name may stand before it."""
    place, wanted = f"{name}:{one.line}", {plain(one.subject), plain(f"{stem(name)} {one.subject}")}
    workloads = [key for key in making.workloads if plain(key) in wanted]
    if not workloads:
        # The label of one workload, whose name goes on with what columns beside the label say.
        labelled = [key for key in making.workloads if plain(_FROM_COLUMNS.sub("", key)) == plain(one.subject)]
        workloads = labelled if len(labelled) == 1 else []
    layouts = [key for key in making.layouts if plain(key) in wanted]
    if not workloads and not layouts:
        message = f"{one.subject!r} is neither a workload nor a layout of this table"
        raise _no_such(place, message, (*making.workloads, *making.layouts))
    making.workloads |= {key: replace(making.workloads[key], command=one.text[:4000], place=place) for key in workloads}
    making.layouts |= {key: replace(making.layouts[key], command=one.text[:4000], place=place) for key in layouts}


def _baselines(making: Building, said: Directive | None, name: str) -> None:
    """Name the layout that is 100 % where no heading does: that of `# baseline`, else the one whose shares all are 100."""
    names = {plain(key): key for key in making.layouts}
    rates = any(figure.metric != "share" for figure in making.figures)

    def known(wanted: str) -> str:
        """The layout of this name, or the only one whose name has it in it."""
        inside = [key for key_plain, key in names.items() if f" {plain(wanted)} " in f" {key_plain} "]
        return names.get(plain(wanted)) or (inside[0] if len(inside) == 1 else wanted)

    # Percentages alone may be of a layout that was not published.
    if said is not None and rates and known(said.text) not in making.layouts:
        raise _no_such(f"{name}:{said.line}", f"{said.text!r} is no layout of this table", making.layouts)
    shares = [figure for figure in making.figures if figure.metric == "share"]
    of_all = said.text if said is not None else layout_of_percentages(shares)
    if not of_all and not all(figure.of for figure in shares):
        making.note("The layout of the percentages is unknown; they were not compared.")
    for other in dict.fromkeys(figure.of for figure in shares if figure.of):
        if rates and known(other) not in making.layouts:
            making.note(f"{other!r} is no layout of {name}: percentages of it were not compared.")
    making.figures = [
        replace(figure, of=known(figure.of or of_all)) if figure.metric == "share" and (figure.of or of_all) else figure
        for figure in making.figures
    ]


def _claim(making: Building, one: Directive, baseline: str, place: str) -> None:
    """Add a claim about the layouts that its sentence names, or about all; the reference is named behind the number."""
    layouts = list(making.layouts)
    said = tolerance(one.text)
    found = _named(one.text, layouts)
    chosen = found if len(found) > 1 else layouts
    behind = _named(one.text[said.end :], layouts) if said is not None else []
    after = [key for key in found if key in behind]
    wanted = next((key for key in layouts if plain(key) == plain(one.subject or baseline)), "")
    first = wanted or (after[0] if len(after) == 1 else chosen[0] if chosen else "")
    pairs = tuple((first, key) for key in chosen if key != first)
    if said is None or not pairs:
        making.note(f"{place}: The bound of this claim was not understood; the claim was not compared.")
        return
    making.claims.append(Claim(one.text[:400], said.percent, pairs, place))


def _named(text: str, layouts: Sequence[str]) -> list[str]:
    """The layouts that a text names, in its order; where a name is part of a longer one that stands there, the longer."""
    sentence = f" {plain(text)} "
    found: dict[int, str] = {}
    for key in sorted(layouts, key=lambda key: -len(plain(key))):
        while (name := plain(key)) and (start := sentence.find(f" {name} ")) >= 0:
            found.setdefault(start, key)
            sentence = f"{sentence[:start]} {'.' * len(name)} {sentence[start + len(name) + 2 :]}"
    return list(dict.fromkeys(found[start] for start in sorted(found)))
