"""The builder's process: answers one request after another, and tells every command before it begins."""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import re
import resource
import sys
import typing
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import msgspec

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.stack.builder.process import LIBRARIES, TREE, Answer, Request

_RUNNING: Final = re.compile(r"Running(?: \[\d+\]|\.\.\.) (.*?)(?: \.\.\.)?", re.DOTALL)
_VERSION_WORDS: Final = (("--version",), ("-V",), ("version",))
_REQUESTS: Final = msgspec.json.Decoder(Request)
_PR_SET_DUMPABLE: Final = 4
_NOISY: Final = ("blivet", "testdata", "py.warnings", "dasbus")
_OWN: Final = {"blivet": LIBRARIES, "tree": TREE}
"""Modules that belong to no layer."""
_CANNOT_LOAD: Final = (ImportError, ValueError, OSError)


def parse_command(message: str) -> Argv | None:
    """Return the argv of a line of blivet's or libblockdev's log, which join arguments by spaces; None for other lines."""
    match = _RUNNING.fullmatch(message)
    return tuple(match.group(1).split(" ")) if match else None


def serve(modules: Iterable[str]) -> int:
    """Load these modules, and answer requests on stdin until it closes. Other modules are loaded with their first use."""
    os.umask(0o077)
    _keep_memory_private()
    # The libraries find their tools by PATH, and the PATH of a caller cannot be trusted.
    os.environ["PATH"] = proc.CLEAN_ENV["PATH"]
    # Libraries print to descriptor 1 as they please; the answers keep a copy of it.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def tell(answer: Answer) -> None:
        out.write(msgspec.json.encode(answer) + b"\n")

    _record_commands(lambda argv: tell(Answer(ran=argv)))
    for module in modules:
        with suppress(*_CANNOT_LOAD):  # its first use says so
            importlib.import_module(module)
    for line in sys.stdin.buffer:
        tell(_answer(_REQUESTS.decode(line)))
    return 0


def _keep_memory_private() -> None:
    """Prevent core dumps and traces of this process, which makes and holds keys."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


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
    layer, _, name = request.function.partition(".")
    try:
        module = importlib.import_module(_OWN.get(layer) or f"raidtui.stack.{layer}.builder")
    except _CANNOT_LOAD as error:
        return Answer(failed=f"a library of the builder cannot be loaded: {clean(error)}", missing=True)
    try:
        function = getattr(module, name)
        return Answer(value=function(**_typed(function, request.args)))
    except Exception as error:  # the process's boundary: the runner makes a problem of it
        return Answer(failed=str(getattr(error, "message", "") or error) or type(error).__name__)


def _typed(function: Callable[..., Any], args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the types that the function declares."""
    hints = typing.get_type_hints(function)
    return {name: msgspec.convert(value, hints[name]) for name, value in args.items()}
