"""Entry point: `raidtui`, `python -m raidtui`, and `/usr/bin/python3 -I …/raidtui/__main__.py engine` for the engine.

Imports nothing but what the asked-for command needs: `--version` is answered before anything else is loaded.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace


def main() -> int:
    """Run the command line and return the exit code."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        from raidtui import __version__
        from raidtui.base.paths import engine_python

        print(f"raidtui {__version__}")
        print(f"engine: {engine_python()} on this machine; with --on HOST /usr/bin/python3 there")
        return 0
    if words[:2] == ["engine", "--simulate"]:
        from raidtui.engine.simulated import serve as simulated

        return simulated.serve(words[2])
    if words[:2] == ["runner", "--simulate"]:
        from raidtui.engine.simulated import run

        return run.run_folder(words[2], words[3])
    if words[:1] == ["engine"]:
        try:
            import pyudev

            from raidtui.engine.serve import serve
        except ImportError as error:
            return _lacks(error)

        return serve()
    if words[:1] == ["peer"]:
        try:
            import pyudev  # noqa: F401

            from raidtui.engine.peer import serve as serve_run
        except ImportError as error:
            return _lacks(error)

        return serve_run()
    if words[:1] == ["builder"]:
        from raidtui.stack.builder.serve import serve as build

        return build(words[1:])
    if words[:1] == ["runner"]:
        from raidtui.engine.run.entry import run_folder

        return run_folder(words[1])
    from raidtui.cli.main import main as command_line

    return command_line(words, _screens)


def _lacks(error: ImportError) -> int:
    """Say on one line which library the engine lacks. It speaks no protocol yet (`remote/start.py` reads the line)."""
    import platform

    library = (error.name or "").partition(".")[0]
    if library not in ("msgspec", "pyudev"):
        raise error
    try:
        distribution = platform.freedesktop_os_release().get("ID", "")
    except OSError:
        distribution = ""
    about = f"{sys.executable} {platform.python_version()} on {platform.machine()}"
    print(f"raidtui: cannot: library: {library} {distribution or '-'} {about}", flush=True)
    return 1


def _screens(args: Namespace) -> int:
    from raidtui.tui.start import start

    return start(args)


if __name__ == "__main__":
    # Started by path, as the engine is, the package is not importable yet: its parent folder goes to the front, and the
    # package's own folder (where `-I` did not already keep it out) must not shadow the standard library.
    import os
    from pathlib import Path

    package = Path(__file__).resolve().parent
    kinds = ("any", os.uname().machine)
    # Libraries of a package of ours are in the versions that it needs. Those that were brought along from another machine
    # come last: what the server has itself is preferred.
    own, brought = ([package / "shipped" / place / kind for kind in kinds] for place in ("own", "libraries"))
    sys.path[:] = [
        str(package.parent),
        *(str(folder) for folder in own if folder.is_dir()),
        *(entry for entry in sys.path if Path(entry or ".").resolve() != package),
        *(str(folder) for folder in brought if folder.is_dir()),
    ]
    sys.exit(main())
