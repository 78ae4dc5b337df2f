"""Types that several threads decode, made known to msgspec by one thread at a time."""

from __future__ import annotations

import threading
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

_lock: Final = threading.Lock()
_ready: Final[set[object]] = set()


def ready(type_: T) -> T:
    """Make msgspec read the fields of a type, and return the type.

    msgspec reads them at the first use of a type. A second thread that uses the type at that moment crashes the process
    (SIGSEGV, seen with msgspec 0.22): the type counts as known before its fields are.
    """
    if type_ not in _ready:
        with _lock:
            msgspec.json.Decoder(type_)
            _ready.add(type_)
    return type_
