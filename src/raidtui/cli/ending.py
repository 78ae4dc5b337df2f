"""What stands at the end of `replay` and `attach`: the result, kept in a file and shown as a table."""

from __future__ import annotations

import sys
from argparse import Namespace

from raidtui.base.text import clean
from raidtui.cli.screen import console
from raidtui.cli.session import connect
from raidtui.client.engine_client import EngineClient
from raidtui.front.progress import RunView
from raidtui.front.results_files import save
from raidtui.front.words import sentence
from raidtui.model.problem import Exit, ProblemError


def finish(args: Namespace, view: RunView, engine: EngineClient) -> int:
    """Fetch, keep and show the result of a run that has ended, and give the run's exit code.

    `engine` is the connection that watched it; it may have been lost in between.
    """
    # Not before: a run that starts, or is refused, waits for nothing that tables and charts need.
    from raidtui.cli.comparison import show_comparison
    from raidtui.cli.ranking import show_rankings
    from raidtui.results.compare import compare
    from raidtui.results.load import read_result

    finished = view.finished
    code = finished.exit if finished else view.recovered.exit if view.recovered else int(Exit.LEFT_BEHIND)
    for problem in finished.problems if finished else ():
        print(sentence(problem), file=sys.stderr)
    try:
        raw = _fetched(args, view.run, engine)
    except ProblemError as error:
        if error.problems[0].code == "no-result" and not view.cells:
            return code
        raise
    result = read_result(raw)
    path = save(raw, str(result.scenario.get("name", "")), result.run, args.output)
    if not args.json:
        out = console(args)
        if result.cells or any(built.status == "failed" for built in result.layouts):
            out.print()
            show_comparison(compare(result), out)
            show_rankings(result.ranking, out)
        print(f"\nResult: {clean(path, 4096)}")
    else:
        print(f"result: {clean(path, 4096)}", file=sys.stderr)
    return code


def _fetched(args: Namespace, run: str, engine: EngineClient) -> bytes:
    """Over a new connection only where there has to be one: nobody may be there any more to type its password."""
    try:
        return engine.result(run)
    except ProblemError as error:
        if error.problems[0].code != "engine-lost":
            raise
    with connect(args) as another:
        return another.result(run)
