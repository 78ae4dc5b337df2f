"""What happens with an error that nobody foresaw: a file to report, and one line that says so."""

from __future__ import annotations

import platform
import shlex
import sys
import time
import traceback
from collections.abc import Sequence

from raidtui import __version__
from raidtui.base.files import private_folder, write_atomic
from raidtui.base.paths import state_folder
from raidtui.base.text import clean, clean_lines
from raidtui.model.problem import Exit


def report_bug(words: Sequence[str]) -> int:
    """Keep the traceback of the exception being handled, say where it is, and return the exit code."""
    kind, error, _ = sys.exc_info()
    text = clean_lines(traceback.format_exc())
    about = f"raidtui {__version__}, Python {platform.python_version()}, {platform.platform()}"
    body = f"{about}\n$ raidtui {clean(shlex.join(words))}\n\n{text}\n"
    print(f"error: raidtui made a mistake: {kind.__name__ if kind else ''}: {clean(error)} [bug]", file=sys.stderr)
    try:
        path = private_folder(state_folder() / "crashes") / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.txt"
        write_atomic(path, body.encode("utf-8", "backslashreplace"))
    except OSError as reason:
        print(f"{body}(It could not be kept in a file: {clean(reason)})", file=sys.stderr)
    else:
        print(
            f"  → Please report it with the file {path}. A run that was started goes on: `raidtui runs`.", file=sys.stderr
        )
    return int(Exit.BUG)
