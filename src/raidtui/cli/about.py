"""`raidtui results WORD --name …`: name, note, tags and pin of a kept result; delete it and bring it back."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Final

from msgspec import structs

from raidtui.base.text import clean, plural
from raidtui.front.about import NOTHING, abouts, bring_back, delete, deleted, describe
from raidtui.model.problem import Refusal, fail
from raidtui.results.library import Known, Library

NOT_ONE_RESULT: Final = Refusal(
    "not-one-result",
    "Not exactly one result",
    "A name, a note, a tag, a pin and a deletion are of one result, and the words find none or several.",
    "Give the name of its run; `raidtui results` lists them.",
)


def add_about_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--name", metavar="TEXT", help="name the result that is found; empty: its scenario's name again")
    parser.add_argument("--note", metavar="TEXT", help="write a note about the result that is found")
    parser.add_argument("--tag", metavar="TAG", action="append", default=[], help="add a tag to it")
    parser.add_argument("--untag", metavar="TAG", action="append", default=[], help="remove a tag of it")
    parser.add_argument("--pin", action="store_true", default=None, help="list it first")
    parser.add_argument("--unpin", dest="pin", action="store_false", help="list it by its date again")
    parser.add_argument("--delete", action="store_true", help="delete it; --restore brings it back for 30 days")
    parser.add_argument("--restore", metavar="NAME", help="bring back the deleted result with this in its name")
    parser.add_argument("--deleted", action="store_true", help="list the deleted results")


def changes_result(args: Namespace) -> bool:
    """Return True if the options change or list something other than the kept results."""
    said = (args.name, args.note, args.pin, args.restore)
    return any(one is not None for one in said) or bool(args.tag or args.untag or args.delete or args.deleted)


def change_result(args: Namespace, known: Library, words: str) -> int:
    """Do what the options say to the one result with these words. Raises ProblemError."""
    if args.deleted:
        for path in deleted():
            print(clean(path.name))
        return 0
    if args.restore is not None:
        print(f"{clean(bring_back(args.restore))} is back")
        return 0
    path = _only(search(known, words), words).path
    if args.delete:
        delete(path)
        print(f"{clean(path.name)} was deleted; raidtui results --restore {clean(path.name)} brings it back")
        return 0
    about = abouts().get(path.name, NOTHING)
    tags = dict.fromkeys([*about.tags, *(tag.strip() for tag in args.tag if tag.strip())])
    describe(path, structs.replace(
        about,
        name=about.name if args.name is None else args.name.strip()[:200],
        note=about.note if args.note is None else args.note.strip()[:2000],
        tags=tuple(tag for tag in tags if tag not in args.untag),
        pinned=about.pinned if args.pin is None else args.pin,
    ))  # fmt: skip
    return 0


def search(known: Library, words: str) -> list[Known]:
    """Return the results in which, or in what is said about which, each of the words is found; pinned ones first."""
    wanted, said, found = words.casefold().split(), abouts(), known.search(words)
    names = {one.path.name for one in found}
    for name, about in said.items():
        rest = [word for word in wanted if word not in about.words]
        if len(rest) < len(wanted) and any(one.path.name == name for one in known.search(" ".join(rest))):
            names.add(name)
    if len(names) > len(found):
        found = [one for one in known.search() if one.path.name in names]
    return sorted(found, key=lambda one: not said.get(one.path.name, NOTHING).pinned)


def _only(found: Sequence[Known], words: str) -> Known:
    if len(found) != 1 or not words:
        many = plural(len(found), "result") if words else "no words were given: all results"
        raise fail(NOT_ONE_RESULT, f"{many} found" if words else many, remedy=NOT_ONE_RESULT.way_out)
    return found[0]
