"""Which workload engines there are: every module under `engines/` that has an `ENGINE`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType

from raidtui.load import engines as _package
from raidtui.load.engine import Engine


@cache
def engines() -> MappingProxyType[str, Engine]:
    """Engines by kind, fio first. A new engine is a new file; nothing is registered anywhere."""
    found: dict[str, Engine] = {}
    for info in pkgutil.iter_modules(_package.__path__):
        module = importlib.import_module(f"{_package.__name__}.{info.name}")
        engine: Engine | None = getattr(module, "ENGINE", None)
        if engine is None:
            continue
        if engine.kind in found:
            raise RuntimeError(f"two workload engines are called {engine.kind!r}")
        found[engine.kind] = engine
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: (item[0] != "fio", item[0]))))
