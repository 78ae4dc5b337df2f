"""`raidtui explain`: print the meaning of a problem code and the way out."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from raidtui.base.text import clean_lines
from raidtui.cli.screen import connect, indented, show_or_json, table, text
from raidtui.front.phrases import sentence
from raidtui.model.problem import REFUSALS, ProblemError

if TYPE_CHECKING:
    from rich.console import Console

_PACKAGES: Final = ("model", "results", "foreign", "lab", "client", "front", "cli")
"""Packages whose refusals are explained without an engine."""
MOST_SIMILAR: Final = 3
_LEAST_RATIO: Final = 0.7
"""Least ratio of `difflib` at which two codes count as spelled alike."""
_LEAST_STEM: Final = 4
"""Least number of characters to search for in the explanations."""


class Explanation(msgspec.Struct, frozen=True):
    """One code: title, meaning and way out."""

    code: str
    title: str
    meaning: str
    way_out: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", default="", metavar="CODE", help="as printed in brackets; default: all codes")
    parser.add_argument("--json", action="store_true", help="print JSON")


def explain_command(args: Namespace) -> int:
    """Print one explanation, or the list of codes."""
    return show_or_json(args, _one(args), _show) if args.code else show_or_json(args, _all(args), _show_list)


def _show(found: Explanation, out: Console) -> None:
    out.print(text(f"{found.code}: {found.title}", "bold"))
    for paragraph in clean_lines(found.meaning).splitlines():
        out.print(indented(paragraph, 2))
    for paragraph in clean_lines(found.way_out).splitlines():
        out.print(indented(paragraph, 2, "→"))


def _show_list(found: Sequence[Explanation], out: Console) -> None:
    listing = table("CODE", "MEANS", whole=("CODE",))
    for entry in found:
        listing.add_row(text(entry.code), text(entry.title))
    out.print(listing)


def local_explanations() -> dict[str, Explanation]:
    """Return what this side of the protocol explains, by code."""
    for package in _PACKAGES:
        parent = importlib.import_module(f"raidtui.{package}")
        for info in pkgutil.walk_packages(parent.__path__, f"{parent.__name__}."):
            importlib.import_module(info.name)
    return {code: Explanation(code, one.title, one.why, one.way_out) for code, one in sorted(REFUSALS.items())}


def _one(args: Namespace) -> Explanation:
    known = local_explanations()
    if args.code in known:
        return known[args.code]
    with connect(args, root=False) as engine:
        try:
            explained: Explanation = engine.call("explain", {"code": args.code}, Explanation)
        except ProblemError as error:
            if (problem := error.problems[0]).code != "unknown-code":
                raise
            told = engine.call("explain", {"code": ""}, tuple[Explanation, ...])
            near = similar(args.code, {entry.code: entry for entry in told} | known)
            remedy = f"Near it: {', '.join(near)}. {problem.remedy}" if near else problem.remedy
            raise ProblemError(msgspec.structs.replace(problem, remedy=remedy)) from None
    return explained


def similar(word: str, known: Mapping[str, Explanation]) -> list[str]:
    """Return at most three codes: those spelled like the word, then those whose explanation has it."""
    wanted = word[:60].lower()
    stem = wanted[: max(_LEAST_STEM, len(wanted) - 2)]
    spelled = difflib.get_close_matches(wanted, known, n=MOST_SIMILAR, cutoff=_LEAST_RATIO)
    texts = {code: f"{code} {one.title} {one.meaning}".lower() for code, one in sorted(known.items())}
    worded = [code for code, text in texts.items() if len(stem) >= _LEAST_STEM and stem in text]
    return list(dict.fromkeys([*spelled, *worded]))[:MOST_SIMILAR]


def _all(args: Namespace) -> tuple[Explanation, ...]:
    """Merge the engine's explanations with the local ones. Without an engine the local ones are listed alone."""
    known = local_explanations()
    try:
        with connect(args, root=False) as engine:
            told = engine.call("explain", {"code": ""}, tuple[Explanation, ...])
    except ProblemError as error:
        print(sentence(error.problems[0]), file=sys.stderr)
        print("Only the codes that need no engine are listed.", file=sys.stderr)
        told = ()
    known = {entry.code: entry for entry in told} | known
    return tuple(known[code] for code in sorted(known))


COMMANDS: Final = {"explain": (add_arguments, explain_command)}
