"""The fields of an options struct as data: types, limits, defaults, and the docstrings that stand below them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand, plain
from raidtui.model.describe import Field, FieldType
from raidtui.model.units import Duration, Extent, Size, VirtualExtent

_TYPES: Final[dict[Any, tuple[FieldType, tuple[str, ...]]]] = {
    Size: ("size", ("64KiB", "1MiB")),
    Extent: ("extent", ("80%", "10GiB")),
    VirtualExtent: ("extent", ("300%", "10TiB")),
    Duration: ("duration", ("60s", "10m")),
    Operand: ("devices", ()),
    bool: ("switch", ()),
    int: ("integer", ()),
    float: ("number", ()),
    str: ("text", ()),
}


class _Annotation(NamedTuple):
    """A type without `| None` and without its metadata, and the metadata."""

    bare: Any
    metas: tuple[Meta, ...]


@cache
def fields_of(struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return all fields of `struct`, in order. Raises TypeError for a type that no form could show."""
    hints = get_type_hints(struct, include_extras=True)
    helps = docstrings(struct)
    return tuple(
        _of_type(
            Field(info.name, "text", helps.get(info.name, ""), info.required, None if info.required else _default(info)),
            hints[info.name],
        )
        for info in msgspec.structs.fields(struct)
    )


def doc_of(struct: type[msgspec.Struct]) -> str:
    """The struct's own docstring, as one paragraph."""
    return " ".join((inspect.getdoc(struct) or "").split())


def _of_type(field: Field, hint: Any) -> Field:
    bare, metas = _strip(hint)
    changes: dict[str, Any] = {}
    origin = get_origin(bare)
    if origin in (list, tuple, dict):
        *keys, inner = [arg for arg in get_args(bare) if arg is not Ellipsis]
        field = _of_type(field, inner)
        changes = {"many": True, "by_name": bool(keys) and not field.many}
        if keys and get_origin(keys[0]) is Literal:
            plain_one = msgspec.structs.replace(field, help="", default=None, required=False)
            changes["entries"] = tuple(msgspec.structs.replace(plain_one, name=name) for name in get_args(keys[0]))
    elif origin is Literal:
        changes = {"type": "choice", "choices": tuple(map(str, get_args(bare)))}
    elif bare in _TYPES:
        type_, examples = _TYPES[bare]
        changes = {"type": type_, "examples": examples}
        if bare is VirtualExtent:
            changes |= {"least": 0, "most": VirtualExtent.MOST_PERCENT, "unit": "%"}
    elif isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        changes = {"type": "object", "fields": fields_of(bare)}
    else:
        raise TypeError(f"{field.name}: no field type for {bare!r}")
    for meta in metas:
        changes.update(_limits(meta))
    return msgspec.structs.replace(field, **changes)


def _strip(hint: Any) -> _Annotation:
    metas: tuple[Meta, ...] = ()
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            metas += tuple(meta for meta in hint.__metadata__ if isinstance(meta, Meta))
            hint = hint.__origin__
        elif origin in (Union, UnionType):
            several = [arg for arg in get_args(hint) if arg is not NoneType]
            # What may be a number or a word is typed as text.
            hint = several[0] if len(several) == 1 else str
        else:
            return _Annotation(hint, metas)


def _limits(meta: Meta) -> Iterator[tuple[str, Any]]:
    least = meta.ge if meta.ge is not None else meta.gt
    most = meta.le if meta.le is not None else meta.lt
    given = {
        "least": least,
        "most": most,
        "pattern": meta.pattern,
        "examples": tuple(map(str, meta.examples)) if meta.examples else None,
        "unit": (meta.extra or {}).get("unit"),
        "entries": entries() if (entries := (meta.extra or {}).get("entries")) else None,
    }
    yield from ((name, value) for name, value in given.items() if value is not None)


def _default(info: msgspec.structs.FieldInfo) -> Any:
    return plain(info.default if info.default is not msgspec.NODEFAULT else info.default_factory())


def docstrings(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the docstring below each field, inherited ones too."""
    found: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            try:
                source = inspect.getsource(base)
            except OSError:  # an installation without sources: the options are there, their help is not
                continue
            (defined,) = ast.parse(textwrap.dedent(source)).body
            assert isinstance(defined, ast.ClassDef)
            for line, below in zip(defined.body, defined.body[1:], strict=False):
                if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
                    continue
                if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                    found[line.target.id] = " ".join(str(below.value.value).split())
    return found
