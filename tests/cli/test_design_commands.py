"""`design` and `guide` on the command line: what is asked, refused and said, without any engine."""

from __future__ import annotations

import io
import json
from argparse import Namespace

import pytest

from raidtui.cli.guide import _answer, _purpose, _survive
from raidtui.cli.main import main
from raidtui.tui.start import _opened


@pytest.mark.parametrize(("words", "code", "text"), [
    (("guide",), "guide-answer", "--for is missing"),
    (("guide", "--for", "database", "--survive", "many"), "guide-answer", "'many' is no number from 0 to 10"),
    (("guide", "--for", "games"), "guide-answer", "'games' is no purpose"),
    (("guide", "--for", "vms", "--survive", "1", "--disks", "many"), "disk-text", "'many' is not COUNTxSIZE KIND"),
    (("--on", "stor1", "design", "2x1TB hdd"), "design-place", "--on stor1 does not go with design"),
    (("design", "2x1TB hdd", "--assume", "hdd=2"), "assume", "'hdd=2' is not KIND.RATE=VALUE"),
    (("design", "2x1TB hdd", "--save", "there.json"), "output", "it exists already"),
])  # fmt: skip
def test_what_cannot_be_designed_is_refused(
    words: tuple[str, ...], code: str, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with open("there.json", "w") as file:
        file.write("{}")
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"[{code}]" in said.err
    assert text in said.err


class Typed(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_question_is_asked_until_its_answer_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Typed()
    monkeypatch.setattr("sys.stdin", Typed("games\ndata\n-1\n2\n"))
    monkeypatch.setattr("sys.stderr", said)
    assert _answer(None, "--for", "What for? ", _purpose) == "database"
    assert _answer(None, "--survive", "How many? ", _survive) == 2
    assert said.getvalue().count("What for? ") == 2
    assert "'-1' is no number" in said.getvalue()
    assert _answer("vms", "--for", "What for? ", _purpose) == "vms", "an option asks nothing"


def test_compose_opens_with_the_design() -> None:
    class App:
        shown = ""

        def change_draft(self, draft: object, _: str) -> None:
            self.draft = draft

        def switch_mode(self, mode: str) -> None:
            self.shown = mode

    app = App()
    scenario = {"schema": "raidtui.scenario/1", "name": "design", "layouts": {"x": {}}}
    _opened(Namespace(scenario_text=json.dumps(scenario)))(app)  # type: ignore[arg-type]
    assert app.shown == "compose"
    assert app.draft.document == scenario  # type: ignore[attr-defined]
