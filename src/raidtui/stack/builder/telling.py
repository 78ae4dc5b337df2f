"""Calls of libraries in the builder's process, told like commands: the runner writes them to the journal."""

from __future__ import annotations

import logging
from typing import Final

_PROGRAM: Final = logging.getLogger("program")
"""The log in which blivet and libblockdev tell the commands that they run."""


def tell(function: str, *words: str) -> None:
    """Tell a call of a library, like a command, before it begins."""
    _PROGRAM.info("Running... %s", " ".join((function, *words)))
