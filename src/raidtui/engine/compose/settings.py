"""State of each option in a form: default value and reason if left out, and the reason if it is refused.

Refusals are found by trying: a value is put in, the options are decoded and checked as a scenario's would be, and what is
wrong then and was not before is the reason. So no layer has to declare what excludes what.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from raidtui.load.catalog import engines
from raidtui.model.convert import decode
from raidtui.model.describe import Field, Setting
from raidtui.model.fields import fields_of
from raidtui.model.problem import Problem, ProblemError
from raidtui.stack.catalog import all_layers

Check = Callable[[Any], list[Problem]]
Options = dict[str, Any]

_PLACE: Final = "$"
_ROLE: Final = "@role"
_FEW: Final = 4
"""Devices of an input that are not chosen yet: enough for most layers. One that is only tried has one, or as many."""
_BRIEF: Final = "10ms"
"""A duration that fits into most others."""


def layer_settings(kind: str, options: Mapping[str, Any], counts: Mapping[str, int]) -> tuple[Setting, ...]:
    """Return the settings of a layer with these options (plain JSON, may be unfinished) and numbers of devices."""
    return _settings("layer", kind, json.dumps(options), tuple(sorted(counts.items())))


def workload_settings(kind: str, options: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Return the settings of a workload with these options (plain JSON, may be unfinished)."""
    return _settings("workload", kind, json.dumps(options), ())


@lru_cache(512)
def _settings(what: str, kind: str, options: str, counts: tuple[tuple[str, int], ...]) -> tuple[Setting, ...]:
    given = json.loads(options)
    if what == "layer":
        layer = all_layers()[kind]
        guessed = {field.name: _FEW for field in layer.fields if field.required}

        def checked(spec: Any, tried: int) -> list[Problem]:
            known = guessed | {name: count for name, count in counts if count}
            return layer.check(spec, {name: known.get(name, tried) for name in layer.inputs(spec)}, _PLACE)

        def check(spec: Any) -> list[Problem]:
            found = checked(spec, 1)
            for tried in range(2, _FEW + 1):  # a special device of a raidz1 is a mirror of two, a journal is one
                found = min(found, checked(spec, tried), key=len) if found else found
            return found

        trial = Trial(layer.spec, given, check)
        defaults = {} if trial.spec is None else layer.defaults(trial.spec, dict(counts))
    else:
        engine = engines()[kind]
        trial = Trial(engine.spec, given, lambda spec: engine.check(spec, _PLACE))
        defaults = {} if trial.spec is None else engine.defaults(trial.spec)
    return tuple(_setting(field, given, trial, defaults) for field in trial.fields)


def _setting(field: Field, given: Mapping[str, Any], trial: Trial, defaults: Mapping[str, tuple[str, str]]) -> Setting:
    refused, choices = trial.refusals(field)
    if given.get(field.name) is not None:
        value = given[field.name]
        return Setting(field.name, value, _text(value), refused=refused, refused_choices=choices)
    value, why = defaults.get(field.name) or ("" if field.default is None else _text(field.default), "the default")
    return Setting(field.name, None, value, why if value else "", refused, choices)


class Trial:
    """Options that other values are tried in."""

    def __init__(self, struct: type[msgspec.Struct], given: Mapping[str, Any], check: Check) -> None:
        self.fields = fields_of(struct)
        self._struct = struct
        self._check = check
        self._options = self._readable(dict(given))
        self.spec = self._decoded(self._options)
        self._alone: dict[tuple[str, str], list[Problem]] = {}
        self._before = self._wrong({})

    def refusals(self, field: Field) -> tuple[str, dict[str, str]]:
        """Return the reason why this field cannot be given at all (or empty), and the reasons of refused choices."""
        if self.spec is None or field.type == "object" or field.many:
            return "", {}
        now = self._options.get(field.name, field.default)
        others = [value for value in dict.fromkeys(_values(field)) if value != now]
        reasons = {_text(value): reason for value in others if (reason := self._reason(field.name, value))}
        nothing_left = reasons and len(reasons) == len(others) and field.name not in self._options
        choices = reasons if field.type in ("choice", "switch") else {}
        return next(iter(reasons.values())) if nothing_left else "", choices

    def _reason(self, name: str, value: Any) -> str:
        """Return the problem that this value adds; empty if it is accepted."""
        new = self._wrong_alone(name, value)
        if not new or self._with_partner(name, value):
            return ""
        own = [problem for problem in new if problem.place == f"{_PLACE}.{name}"]
        return (own or new)[0].message

    def _with_partner(self, name: str, value: Any) -> bool:
        """Return True if the value and another missing field need each other, so that neither can be given first."""
        for field in self.fields:
            if field.name == name or field.name in self._options or field.default is not None or field.required:
                continue
            for other in _values(field):
                if self._wrong_alone(field.name, other) and not self._wrong({name: value, field.name: other}):
                    return True
        return False

    def _wrong_alone(self, name: str, value: Any) -> list[Problem]:
        key = name, _text(value)
        if key not in self._alone:
            self._alone[key] = self._wrong({name: value})
        return self._alone[key]

    def _wrong(self, changes: Options) -> list[Problem]:
        """Problems of the options with these changes, without those that the options had before."""
        try:
            spec = decode(self._struct, {**self._options, **changes}, _PLACE)
        except ProblemError as error:
            return list(error.problems)
        known = self._before if changes else ()
        return [problem for problem in self._check(spec) if problem not in known]

    def _decoded(self, options: Options) -> Any:
        try:
            return decode(self._struct, options, _PLACE)
        except ProblemError:
            return None

    def _readable(self, options: Options) -> Options:
        """The options without what cannot be read, and with something where something must be: a base to try on."""
        known = {field.name: field for field in self.fields}
        options = {name: value for name, value in options.items() if name in known and value is not None}
        for field in self.fields:
            # A choice that was not made yet is not made here: all that follows from it would be made up.
            values = [] if field.type == "choice" else list(_values(field))
            if field.required and field.name not in options and values:
                options[field.name] = values[0]
        for name in list(options):
            if self._decoded(options) is not None:
                break
            changed = {key: value for key, value in options.items() if key != name}
            if known[name].required and known[name].type != "choice" and (values := list(_values(known[name]))):
                changed[name] = values[0]
            if _blames(self._struct, options, name):
                options = changed
        return options


def _blames(struct: type[msgspec.Struct], options: Options, name: str) -> bool:
    """Return True if this field is the one that cannot be decoded."""
    try:
        decode(struct, options, _PLACE)
    except ProblemError as error:
        place = error.problems[0].place
        return place == f"{_PLACE}.{name}" or place.startswith((f"{_PLACE}.{name}.", f"{_PLACE}.{name}["))
    return False


def _values(field: Field) -> Iterator[Any]:
    """Values that this field could have, as a scenario writes them; one of them at least fits where any does."""
    if field.type == "choice":
        yield from ([choice] if field.many else choice for choice in field.choices)
    elif field.type == "switch":
        yield from (True, False)
    elif field.type == "devices":
        yield _ROLE
    elif field.type in ("integer", "number"):
        yield from map(int, filter(str.isdecimal, field.examples))
        least = field.least or 0
        number: Sequence[float] = [least, least + 1]
        yield from (int(value) if field.type == "integer" else value or 1.0 for value in number if value != field.default)
    elif field.type == "duration":
        yield from (*field.examples, _BRIEF)
    elif field.examples:
        yield from field.examples
    elif field.type == "text":
        yield "text"


def _text(value: Any) -> str:
    """A value as a scenario has it, without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
