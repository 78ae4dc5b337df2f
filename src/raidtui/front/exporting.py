"""Write a comparison to a file of its own, in any format. Nothing that exists is ever replaced."""

from __future__ import annotations

import os
from pathlib import Path

from raidtui.front.results_files import check_output
from raidtui.model.problem import fail
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format


def export(comparison: Comparison, format_: Format, path: str) -> None:
    """Write it to `path`, a new file. Raises ProblemError (`output`)."""
    check_output(path)
    data = format_.write(comparison)
    try:
        with Path(path).open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise fail("output", "it exists already", place=path, remedy="Choose another name.") from None
    except OSError as error:
        raise fail("output", f"it cannot be written: {error.strerror or error}", place=path) from None
