"""`raidtui results`, `show`, `open` and `compare`: find, show and compare results. Files, stdin and runs name them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePath
from typing import Final

import msgspec

from raidtui.base.files import is_there
from raidtui.base.text import clean, named, plural
from raidtui.cli.about import add_about_arguments, change_result, changes_result, search
from raidtui.cli.report import show_comparison, show_result, show_table
from raidtui.cli.screen import connect, console, print_json, print_lines, table, text
from raidtui.foreign.documents import read_numbers
from raidtui.foreign.imported import aligned, extract_of
from raidtui.foreign.sources import Source
from raidtui.front.about import NOTHING, About, abouts
from raidtui.front.files import RUN, check_output, read_bytes, results_folder, table_file
from raidtui.front.library import MOST_COMPARED, export, found_results, library
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.refusals import BAD_CONDITION, FILE, NO_TERMINAL, OUTPUT, UNKNOWN_NAME
from raidtui.model.result import Ranked, Result
from raidtui.model.table import Table
from raidtui.results.charts import CHARTS
from raidtui.results.compare import compare, compare_many
from raidtui.results.comparison import Comparison, without_cells
from raidtui.results.extract import Extract, extract
from raidtui.results.formats import FORMATS, Format
from raidtui.results.formats.text import SCHEMA
from raidtui.results.library import Known
from raidtui.results.load import NOT_A_RESULT, read_result
from raidtui.results.metrics import METRICS, Metric, metric_lines, metrics_of
from raidtui.results.old_new import failing, parse_condition, warning

NO_SUCH_CHART: Final = Refusal(
    "no-such-chart",
    "The format has no charts to select",
    "--chart selects charts of a picture, and only the formats svg and png are pictures.",
    "Add --format svg or --format png, or remove --chart.",
)
NO_METRIC: Final = Refusal(
    "no-metric",
    "The metric was not measured",
    "No valid cell of the results has the metric to compare by, or it is what every workload is compared by anyway.",
    "Choose one that the message names, or remove --metric.",
)
NOTHING_GIVEN: Final = Refusal(
    "nothing-given",
    "Nothing to compare",
    "No result was named, and no words to find kept results by.",
    "Name a file or a run, or use --find WORDS.",
)

RESULT_FILE: Final = "result.json"
"""Result in the folder of a run."""
_MOST = 100


class KeptResult(msgspec.Struct, frozen=True):
    """One result file of this machine."""

    path: str
    run: str
    scenario: str
    title: str
    host: str
    started: str
    cells: int
    valid: int
    exit: int | None
    rehearsal: bool
    complete: bool
    problem: str
    """Reason why the file cannot be read; empty if it can."""
    name: str = ""
    """Name that the operator gave it."""
    note: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False


class KeptResults(msgspec.Struct, frozen=True):
    """Output of `raidtui results --json`."""

    schema: str
    results: tuple[KeptResult, ...]
    """The newest first."""


class ShownResult(Comparison, frozen=True, kw_only=True):
    """Output of `raidtui show --json`: layouts × workloads of one result, without the cells."""

    schema: str
    run: str
    ranking: tuple[Ranked, ...] | msgspec.UnsetType = msgspec.UNSET
    """Only of a result whose policy asks for a ranking."""


def add_results_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="*", help="text to find in name, title, server, date, layouts, "
                        "workloads, kernel or disks")  # fmt: skip
    _add_search_arguments(parser, "list", _MOST)
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    add_about_arguments(parser)


def _add_search_arguments(parser: ArgumentParser, verb: str, most: int) -> None:
    """Add the options by which kept results are found."""
    parser.add_argument("--find", metavar="WORDS", help=f"{verb} the kept results with these words")
    parser.add_argument("--in", dest="folder", metavar="FOLDER", help="search this folder of result files instead")
    parser.add_argument("--all", action="store_true", help=f"{verb} all that are found, not only the newest {most}")


def _folder(args: Namespace) -> Path | None:
    """Return the folder of --in. Raises ProblemError (`file`)."""
    folder = Path(args.folder) if args.folder else None
    if folder is not None and not folder.is_dir():
        raise fail(FILE, "it is not a folder", place=args.folder)
    return folder


def results_command(args: Namespace) -> int:
    """Print the results, newest first."""
    words = " ".join([*args.words, args.find or ""]).strip()
    with library(_folder(args)) as known:
        if changes_result(args):
            return change_result(args, known, words)
        found = search(known, words)
    if args.json:
        said = _said(args)
        print_json(plain(KeptResults("raidtui.results/1", tuple(_kept(one, said) for one in found))))
        return 0
    _show(args, found if args.all else found[:_MOST], len(found))
    return 0


def _said(args: Namespace) -> Mapping[str, About]:
    """Return what is said about the kept results; nothing is said about those of another folder."""
    return {} if args.folder else abouts()


def _kept(one: Known, said: Mapping[str, About]) -> KeptResult:
    about = said.get(one.path.name, NOTHING)
    return KeptResult(str(one.path), one.run, one.scenario, one.title, one.host, one.started, one.cells, one.valid,
                      one.exit, bool(one.rehearsal), bool(one.complete), one.problem,
                      about.name, about.note, about.tags, about.pinned)  # fmt: skip


def _show(args: Namespace, shown: list[Known], count: int) -> None:
    out = console(args)
    if not shown:
        none = "No results yet: `raidtui replay SCENARIO` makes one."
        out.print("No result has these words." if args.words or args.find else none)
        return
    said = _said(args)
    listing = table("BEGAN", "SCENARIO", "SERVER", "VALID", "RUN", right=("VALID",), whole=("RUN",))
    for one in shown:
        if one.problem:
            continue
        about = said.get(one.path.name, NOTHING)
        mark = " (rehearsal)" if one.rehearsal else ""
        mark += " (pinned)" if about.pinned else ""
        mark += "".join(f" #{tag}" for tag in about.tags) + (f": {about.note}" if about.note else "")
        listing.add_row(text(one.started[:16].replace("T", " ")), text((about.name or one.scenario) + mark), text(one.host),
                        f"{one.valid}/{one.cells}", text(one.run))  # fmt: skip
    out.print(listing)
    for one in shown:
        if one.problem:
            out.print(text(f"✗ {one.path.name} cannot be read: {one.problem}", "red"), soft_wrap=True)
    if count > len(shown):
        out.print(text(f"and {plural(count - len(shown), 'older one')}: --all shows them", "dim"))


def add_show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result, a table, - for stdin, or the name of a run")
    parser.add_argument("--baseline", default="", metavar="NAME", help="the layout that others are compared with")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")


def show_command(args: Namespace) -> int:
    """Print summary, machine, disks, layouts and cells of a result; of a table its publication and its numbers."""
    result = read_numbers(Source(args.result, given_data(args, args.result)))
    comparison = compare(result if isinstance(result, Result) else extract_of(result), args.baseline)
    check_baseline(comparison, args.baseline)
    if args.json:
        ranking = {"ranking": plain(result.ranking)} if isinstance(result, Result) and result.ranking else {}
        run = result.run if isinstance(result, Result) else result.name
        print_json({"schema": SCHEMA, "run": run, **plain(without_cells(comparison)), **ranking})
    elif isinstance(result, Table):
        show_table(result, comparison, console(args))
    else:
        show_result(result, comparison, console(args))
    return 0


def add_open_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result file, or the name of a run")


def open_command(args: Namespace) -> int:
    """Check that the result can be read, then open it on the screens."""
    if args.screens is None:
        raise fail(NO_TERMINAL, "there are no screens here", remedy="`raidtui show RESULT` needs none.", exit=Exit.USAGE)
    path = kept_file(args, args.result)
    if path is not None:
        given_result(args, args.result)
    args.open_file, args.open_run = path, args.result if path is None else ""
    return int(args.screens(args))


def add_compare_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT", nargs="*", help="a result, a table, - for stdin, or a run")
    _add_search_arguments(parser, "also compare", MOST_COMPARED)
    parser.add_argument("--baseline", default="", metavar="NAME", help="layout that the others are compared with")
    parser.add_argument("--metric", choices=list(METRICS), default="rate", metavar="NAME",
                        help=f"compare by it; shares, verdicts and pairs are of it: {', '.join(METRICS)}")  # fmt: skip
    parser.add_argument("--meant", action="append", default=[], metavar="FACT",
                        help="a fact that differs on purpose, for example kernel or md.chunk")  # fmt: skip
    parser.add_argument("--format", choices=list(FORMATS), default="", metavar="FORMAT",
                        help=f"one of {', '.join(FORMATS)} (default: by the file extension, else table)")  # fmt: skip
    parser.add_argument("--chart", action="append", default=[], choices=list(CHARTS), metavar="KIND",
                        help=f"only charts of this kind (formats svg and png): {', '.join(CHARTS)}")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="new file to write to; - is stdout")
    parser.add_argument("--fail-if", metavar="CONDITION",
                        help="'worse > 5 %%': exit 5 if NEW is told apart from OLD and worse by more")  # fmt: skip
    parser.add_argument("--servers", action="store_true",
                        help="results of one scenario from many servers: which server is unlike the others, and in what")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def compare_command(args: Namespace) -> int:
    """Print or write the comparison."""
    if args.servers:
        return _servers(args)
    share = parse_condition(args.fail_if) if args.fail_if is not None else None
    output = None if args.output == "-" else args.output
    check_output(output)
    name = _format(args, output)
    made = _chosen(name, args.chart)
    extracts = [one if isinstance(one, Extract) else extract(one) for one in _given(args)]
    _check_meant(extracts, args.meant)
    _check_metric(extracts, args.metric)
    comparison = compare_many(extracts, args.baseline, frozenset(args.meant), args.metric)
    check_baseline(comparison, args.baseline)
    if share is not None and not comparison.pairs:
        raise fail(BAD_CONDITION, "it needs exactly two results of one scenario and no --baseline", place="--fail-if")
    if output:
        export(comparison, made, output)
        print(f"Comparison: {clean(output)}", file=sys.stderr)
    elif name == "table":
        show_comparison(comparison, console(args), about=True)
        print_lines(f"{args.metric}: {line}" for line in metric_lines(args.metric))
    else:
        _to_stdout(comparison, made)
    if share is not None and (said := warning(comparison.pairs)):
        print(f"⚠ {said}", file=sys.stderr)
    found = failing(comparison.pairs, share) if share is not None else []
    for sentence in found:
        print(f"✗ {clean(sentence)}", file=sys.stderr)
    return int(Exit.INVALID if found else Exit.DONE)


def _servers(args: Namespace) -> int:
    """Print or write the comparison of servers."""
    from raidtui.cli.fleet.servers import compare_files

    if not args.results or args.find is not None:
        raise fail(NOTHING_GIVEN, "--servers compares the results that are named", remedy="Name a result of each server.")
    return compare_files(args, lambda name: given_data(args, name))


def _given(args: Namespace) -> list[Result | Extract]:
    """Return the named results, followed by the found ones. Raises ProblemError."""
    searched = args.find is not None or args.folder is not None or args.all
    if not args.results and not searched:
        raise fail(NOTHING_GIVEN, "no result was named", remedy="Name results, or find kept ones: --find WORDS.")
    given = given_numbers(args, args.results)
    if searched:
        found, known = found_results(args.find or "", _folder(args), None if args.all else MOST_COMPARED)
        if len(known) > len(found):
            told = f"{len(known)} results were found; the newest {len(found)} are compared: --all compares all"
            print(told, file=sys.stderr)
        given += found
    return given


def _check_metric(extracts: Sequence[Extract], metric: Metric) -> None:
    """Raise ProblemError (`no-metric`) for a metric that no result has."""
    if metric != "rate" and metric not in (known := metrics_of(compare_many(extracts))):
        raise fail(NO_METRIC, f"no valid cell has {METRICS[metric]}, or it is the rate of every workload", place="--metric",
                   remedy=f"Known here: {', '.join(known)}.")  # fmt: skip


def _check_meant(extracts: Iterable[Extract], meant: Iterable[str]) -> None:
    """Check that every --meant fact occurs in a result. Raises ProblemError (`unknown-name`)."""
    named = set(meant)
    known = {fact for one in extracts for fact in _facts(one)} if named else named
    if unknown := sorted(named - known):
        raise fail(UNKNOWN_NAME, f"--meant {clean(unknown[0])}: no result has a fact of this name",
                   remedy=f"Known: {', '.join(map(clean, sorted(known)))}.")  # fmt: skip


def _facts(one: Extract) -> Iterator[str]:
    yield from one.facts
    yield from chain.from_iterable(one.layouts.values())
    yield from chain.from_iterable(point.facts for point in one.points)


def _chosen(name: str, charts: list[str]) -> Format:
    """Return the format limited to these charts. Raises ProblemError (`no-such-chart`) for a format without charts."""
    made = FORMATS[name]
    write = made.charts
    if not charts:
        return made
    if write is None:
        raise fail(NO_SUCH_CHART, f"--chart is for svg and png, not for {name}", remedy="Add --format svg.")
    return made._replace(write=lambda comparison: write(comparison, charts))


def _format(args: Namespace, output: str | None) -> str:
    """Return the format given by --json, --format or the file extension. Raises ProblemError (`output`)."""
    if args.json or args.format:
        return "json" if args.json else str(args.format)
    ending = PurePath(output or "").suffix.lower()
    if not ending:
        return "table"
    by_ending = {made.suffix: made.name for made in FORMATS.values()}
    if ending not in by_ending:
        raise fail(OUTPUT, f"{clean(output)}: no format has the file extension {clean(ending)}",
                   remedy=f"Use one of {', '.join(by_ending)}, or add --format.")  # fmt: skip
    return by_ending[ending]


def _to_stdout(comparison: Comparison, made: Format) -> None:
    if made.binary and sys.stdout.isatty():
        raise fail(OUTPUT, f"{made.name} is binary and not for a terminal", remedy="Write it to a file with -o FILE.")
    data = made.write(comparison)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


_MOST_NAMES = 12
"""Number of names listed in a message; names that contain the wanted one come first."""


def given_result(args: Namespace, name: str) -> Result:
    """Return the result named by `name`, a file or a run. Raises ProblemError."""
    data = given_data(args, name)
    if data.strip() and not data.lstrip().startswith(b"{"):
        raise fail(NOT_A_RESULT, "it is no result of raidtui", place=name,
                   remedy="`raidtui compare` and `raidtui lint` read tables and what other tools print.")  # fmt: skip
    return read_result(data, name)


def kept_file(args: Namespace, name: str) -> Path | None:
    """Return the file of that name, or the kept result of the run of that name; None for a run to ask its server for.

    The file of a run's folder is the result in it.
    """
    if is_there(inside := str(Path(name) / RESULT_FILE)):
        return Path(inside)
    if is_there(name) or not RUN.fullmatch(name):
        return Path(name)
    return next(iter(sorted(results_folder().glob(f"*-{name}.result.json"))), None) if not args.on else None


def given_data(args: Namespace, name: str) -> bytes:
    """Return the bytes of the file or run named by `name`. Raises ProblemError."""
    if (path := kept_file(args, name)) is not None:
        return read_bytes(table_file(str(path)))
    with connect(args) as engine:
        return engine.result(name)


def check_baseline(comparison: Comparison, wanted: str) -> None:
    """Check that the baseline is one of the layouts. Raises ProblemError (`unknown-name`)."""
    if wanted and comparison.baseline != wanted:
        labels = sorted((row.label for row in comparison.rows), key=lambda label: wanted.lower() not in label.lower())
        raise fail(UNKNOWN_NAME, f"these results have no layout {wanted!r}",
                   remedy=f"Known: {named([clean(label) for label in labels], _MOST_NAMES)}.")  # fmt: skip


def given_numbers(args: Namespace, names: Sequence[str]) -> list[Result | Extract]:
    """Return the results, and tables with their workloads matched to those of the results. Raises ProblemError."""
    read = [read_numbers(Source(name, given_data(args, name))) for name in names]
    tables = {index: one for index, one in enumerate(read) if not isinstance(one, Result)}
    if not tables:
        return [one for one in read if isinstance(one, Result)]
    return list(aligned([extract(one) if isinstance(one, Result) else extract_of(one) for one in read], tables))


COMMANDS: Final = {
    "results": (add_results_arguments, results_command),
    "show": (add_show_arguments, show_command),
    "open": (add_open_arguments, open_command),
    "compare": (add_compare_arguments, compare_command),
}
