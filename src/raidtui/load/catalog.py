"""The workload engines that exist: every module or package of `load/` with an object `ENGINE`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType

from raidtui import load
from raidtui.load.engine import Engine


@cache
def engines() -> MappingProxyType[str, Engine]:
    """Return the engines by kind, fio first."""
    names = [info.name for info in pkgutil.iter_modules(load.__path__)]
    modules = [vars(importlib.import_module(f"{load.__name__}.{name}")) for name in names]
    found: list[Engine] = [module["ENGINE"] for module in modules if "ENGINE" in module]
    by_kind = {engine.kind: engine for engine in found}
    if len(by_kind) != len(found):
        raise RuntimeError("two workload engines have the same kind")
    return MappingProxyType(dict(sorted(by_kind.items(), key=lambda item: (item[0] != "fio", item[0]))))
