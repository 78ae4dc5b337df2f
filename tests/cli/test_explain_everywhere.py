"""Every code that raidtui can print is explained, whichever side of the protocol prints it."""

import ast
import contextlib
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

import raidtui
from raidtui.cli.explain import explain_command, local_explanations
from raidtui.engine.explain import explain as explained_by_engine
from raidtui.model.problem import REFUSALS, ProblemError

MAKERS = ("Refusal", "invalid", "caution", "limit")
"""A refusal, and the kinds of marks of a cell: code, title, reason, way out."""


def defined():
    """Return the code of every problem and mark that the source defines, with the package that does."""
    root = Path(raidtui.__file__).parent
    found = {}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            made = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in MAKERS
            if made and len(node.args) == 4 and isinstance(code := node.args[0], ast.Constant):
                found[code.value] = path.relative_to(root).parts[0]
    return found


def test_every_code_of_the_source_is_explained():
    known = {*local_explanations(), *(entry["code"] for entry in explained_by_engine(""))}
    codes = defined()
    assert not set(codes) - known
    assert not known - set(codes), "refusals that are made in another way than this test looks for"
    assert known == set(REFUSALS)
    assert {"lab", "foreign", "engine", "stack", "cli"} <= set(codes.values())


@pytest.mark.parametrize("package", ["lab", "foreign", "client", "front", "cli"])
def test_codes_of_the_front_end_are_explained_without_an_engine(package, capsys):
    codes = [code for code, where in defined().items() if where == package]
    assert codes
    for code in codes:
        assert explain_command(Namespace(code=code, json=False, no_color=True)) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{code}: ")
        assert out.count("\n  ") >= 2, "it has a meaning and a way out"


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("hot-disc", "Near it: hot-disk. "),  # the engine's
        ("concent", "Near it: consent. "),  # the command line's
        ("throttled", "Near it: hot-disk. "),  # by a word of the explanation
        ("nonsense", ""),
        ("xx", ""),
    ],
)
def test_codes_near_an_unknown_one_are_named(word, near, monkeypatch):
    def call(method, params, kind):
        return msgspec.convert(explained_by_engine(params["code"]), kind)

    connected = contextlib.nullcontext(SimpleNamespace(call=call))
    monkeypatch.setattr("raidtui.cli.explain.connect", lambda args, root: connected)
    with pytest.raises(ProblemError) as caught:
        explain_command(Namespace(code=word, json=False, no_color=True))
    (problem,) = caught.value.problems
    assert problem.code == "unknown-code"
    assert problem.remedy == f"{near}`raidtui explain` lists all codes."
