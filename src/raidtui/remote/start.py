"""The command that starts raidtui on a server which has nothing but ssh and Python, and what that command may answer.

It is one command for /bin/sh, for any login shell to pass on: without newlines, backslashes and single quotes. If this
version is in its folder, that is started at once. If not, the command asks for it (one line), reads it from its standard
input (`receive.py`), and starts it then: one connection either way.
"""

from __future__ import annotations

import base64
import re
import shlex
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.remote.pack import Code

TOP: Final = "/opt/raidtui"
"""Folder of all versions on a server, each in a folder of its own."""
OLDEST_PYTHON: Final = (3, 11)
_LOOP: Final = "import sys,base64;exec(base64.b64decode(sys.stdin.buffer.raw.readline()))"
_AS_ROOT: Final = (
    'if [ "$(id -u)" = 0 ]; then eval "$0"; elif command -v sudo >/dev/null; then '
    'exec env LC_ALL=C sudo -n -- /bin/sh -c "$0"; else echo "raidtui: cannot: sudo: there is no sudo"; exit 1; fi'
)


class Answer(NamedTuple):
    """A line `raidtui: cannot: KIND: TEXT` of the command."""

    kind: str
    text: str


def as_root(script: str) -> str:
    """Return the line that runs a script of /bin/sh as root, by sudo without a password if need be, for any login shell."""
    return f"exec /bin/sh -c {shlex.quote(_AS_ROOT)} {shlex.quote(script)}"


def start_script(version: str, word: str = "engine") -> str:
    """Return the script that becomes `raidtui WORD` of this version, which it asks for if need be."""
    entry = f"{TOP}/{version}/raidtui/__main__.py"
    return _script(version, f'exec "$p" -I {entry} {word}')


def link_script(version: str) -> str:
    """Return the script that lets `/opt/raidtui/raidtui` lead to this version, which it asks for if need be."""
    return _script(version, f"[ \"$(readlink {TOP}/raidtui)\" = {version}/raidtui ] && {{ echo raidtui: there; exit 0; }}")


def _script(version: str, there: str) -> str:
    folder = f"{TOP}/{version}"
    oldest = ",".join(map(str, OLDEST_PYTHON))
    private = "0drwx?-??-?"  # owner, and permissions as `ls` has them: root's folder, that nobody else may change
    return (
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH; umask 022; "
        f"set -- $(stat -c %u%A {Path(TOP).parent} {TOP} {folder} 2>/dev/null); "
        f'case "$1/$2/$3" in {private}/{private}/{private}) '
        f'if [ -f {folder}/raidtui/__main__.py ] && read -r p <{folder}/python && [ -x "$p" ]; then {there}; fi;; esac; '
        f'for p in /usr/bin/python3 /usr/bin/python3.1[1-9] ""; do [ -x "$p" ] && '
        f'"$p" -I -S -c "import sys; sys.exit(sys.version_info < ({oldest}))" 2>/dev/null && break; done; '
        'if [ -z "$p" ]; then '
        'echo "raidtui: cannot: python: $(grep -sm1 ^ID= /etc/os-release) $(/usr/bin/python3 -V 2>&1)"; exit 1; fi; '
        f'echo "{wanted_line(version)}"; exec "$p" -I -c "{_LOOP}"'
    )


def wanted_line(version: str) -> str:
    """Return the line with which the command asks for the code."""
    return f"raidtui: wants {version}"


def code_message(code: Code, words: tuple[str, ...] = ("engine",), *, link: bool = False) -> bytes:
    """Return what the command reads then: the program that receives the code, on one line, and the code."""
    payload = code.payload()
    program = Path(__file__).with_name("receive.py").read_text(encoding="utf-8")
    program += f"\nmain({TOP!r}, {code.version!r}, {len(payload)}, {words!r}, {link!r})\n"
    return base64.b64encode(program.encode()) + b"\n" + payload


def answer_in(said: str) -> Answer | None:
    """Return the reason why the command could not start raidtui, if it gave one."""
    found = re.search(r"^raidtui: cannot: (\w+): (.*)$", said, re.MULTILINE)
    return Answer(found[1], found[2].strip()) if found else None
