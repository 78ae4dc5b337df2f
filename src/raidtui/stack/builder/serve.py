"""The builder's process: answers one request after another, and tells every command before it begins."""

from __future__ import annotations

import importlib
import logging
import os
import re
import sys
import typing
from collections.abc import Callable
from typing import Any, Final

import msgspec

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.stack.builder.process import Answer, Request

_RUNNING: Final = re.compile(r"Running(?: \[\d+\]|\.\.\.) (.*?)(?: \.\.\.)?", re.DOTALL)
_VERSION_WORDS: Final = (("--version",), ("-V",), ("version",))
_REQUESTS: Final = msgspec.json.Decoder(Request)
_NOISY: Final = ("blivet", "testdata", "py.warnings", "dasbus")


def parse_command(message: str) -> Argv | None:
    """Return the argv of a line of blivet's or libblockdev's log, which join arguments by spaces; None for other lines."""
    match = _RUNNING.fullmatch(message)
    return tuple(match.group(1).split(" ")) if match else None


def serve() -> int:
    """Answer requests on stdin until it closes."""
    os.umask(0o077)
    # The libraries find their tools by PATH, and the PATH of a caller cannot be trusted.
    os.environ["PATH"] = proc.CLEAN_ENV["PATH"]
    # Libraries print to descriptor 1 as they please; the answers keep a copy of it.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def tell(answer: Answer) -> None:
        out.write(msgspec.json.encode(answer) + b"\n")

    _record_commands(lambda argv: tell(Answer(ran=argv)))
    missing = _load()
    for line in sys.stdin.buffer:
        tell(missing or _answer(_REQUESTS.decode(line)))
    return 0


def _load() -> Answer | None:
    """Load the libraries; return the answer to all requests if one is missing."""
    try:
        importlib.import_module("raidtui.stack.builder.libraries")
    except (ImportError, ValueError, OSError) as error:
        return Answer(failed=f"blivet cannot be loaded (it needs Debian 13 or Ubuntu 24.04): {clean(error)}", missing=True)
    return None


def _record_commands(tell: Callable[[Argv], None]) -> None:
    """Tell every command that blivet or libblockdev logs; their other messages go nowhere."""

    class Commands(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            argv = parse_command(record.getMessage())
            # libblockdev asks every tool for its version before its first use.
            if argv is not None and argv[1:] not in _VERSION_WORDS:
                tell(argv)

    for name in _NOISY:
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    program = logging.getLogger("program")
    program.addHandler(Commands())
    program.setLevel(logging.INFO)
    program.propagate = False


def _answer(request: Request) -> Answer:
    if request.function == "ready":
        return Answer()
    layer, _, name = request.function.partition(".")
    module = "raidtui.stack.builder.tree" if layer == "tree" else f"raidtui.stack.{layer}.builder"
    try:
        function = getattr(importlib.import_module(module), name)
        return Answer(value=function(**_typed(function, request.args)))
    except Exception as error:  # the process's boundary: the runner makes a problem of it
        return Answer(failed=str(getattr(error, "message", "") or error) or type(error).__name__)


def _typed(function: Callable[..., Any], args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the types that the function declares."""
    hints = typing.get_type_hints(function)
    return {name: msgspec.convert(value, hints[name]) for name, value in args.items()}
