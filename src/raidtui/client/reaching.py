"""Why no engine answered, in words: what ssh and the shell say of a host, and the way out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from raidtui.base.text import clean, clean_lines
from raidtui.client.places import Place
from raidtui.model.problem import ProblemError, fail

_SSH_FAILED: Final = 255
_NOT_EXECUTABLE: Final = 126
_NOT_FOUND: Final = 127

_WAYS_OUT: Final = (
    (r"could not resolve|name or service not known|nodename nor servname|temporary failure in name", "Check the name."),
    (r"connection refused", "Does sshd run there, on that port?"),
    (r"timed out|no route to host|network is unreachable|host is down", "Is the server up, and does the network reach it?"),
    (r"host key verification failed|identification has changed",
     "Connect once with `ssh HOST` and look at the host key before you accept it."),
    (r"permission denied|too many authentication failures", "`ssh HOST` must be able to log in first."),
)  # fmt: skip


def not_reached(place: Place, code: int | None, said: str) -> ProblemError:
    """Why the engine's command ended, with exit code `code`, before the engine spoke. `said` is what it wrote."""
    text = f": {said}" if said else ""
    if _over_ssh(place) and code == _SSH_FAILED:
        way = next((way for pattern, way in _WAYS_OUT if re.search(pattern, said, re.IGNORECASE)), "`ssh HOST` must work.")
        return fail("unreachable", f"cannot reach {clean(place.name)}{text or ': ssh ended without a word'}",
                    place=place.name, remedy=way.replace("HOST", place.name))  # fmt: skip
    if code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return fail("engine-start", f"raidtui is not installed on {clean(place.name)}{text}", place=place.name,
                    remedy="Install it there, where a shell that is not interactive finds it.")  # fmt: skip
    ended = "" if code is None else f", it ended with {code}"
    return fail("engine-start", f"the engine did not start{ended}{text}", place=place.name,
                remedy="Does `raidtui --version` work there?")  # fmt: skip


def last_words(noise: bytes) -> str:
    """The end of what a command wrote, as harmless lines."""
    return clean_lines(noise[-2000:]).strip()


def _over_ssh(place: Place) -> bool:
    return Path(place.argv[0]).name == "ssh"
