"""`raidtui prepare`: nothing is installed that was not shown, and nothing without consent."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest

from raidtui.cli import prepare
from raidtui.client.places import Place
from raidtui.model.problem import ProblemError

SERVER = Place("stor1", ("ssh", "stor1"), {}, None, ("ssh", "stor1"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs `prepare` on a server that lacks one list of packages after the other; returns exit code and commands."""

    def run(*missing: tuple[str, ...], yes: bool = True, distribution: str = "debian", code: int = 0) -> Any:
        ran: list[tuple[str, ...]] = []
        left = iter([*missing, ()])

        def as_command(_: Place, argv: tuple[str, ...]) -> tuple[str, ...]:
            ran.append(argv)
            return ("sh", "-c", f"exit {code}")

        monkeypatch.setattr(prepare, "place", lambda _: SERVER)
        monkeypatch.setattr(prepare, "_missing", lambda *_: (distribution, next(left), False))
        monkeypatch.setattr(prepare, "root_argv", as_command)
        return prepare.prepare_command(Namespace(on="stor1", yes=yes)), ran

    return run


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(ProblemError) as caught:
        call()
    assert caught.value.problems[0].code == "prepare"
    return str(caught.value)


def test_the_command_is_shown_before_it_runs(run: Any, capfd: pytest.CaptureFixture[str]) -> None:
    code, ran = run(("python3-msgspec",), ("fio", "mdadm"))
    assert code == 0
    assert [argv[-2:] for argv in ran] == [("--no-install-recommends", "python3-msgspec"), ("fio", "mdadm")]
    shown = capfd.readouterr()
    assert "On stor1, as root:\n  env DEBIAN_FRONTEND=noninteractive apt-get install" in shown.err
    assert "stor1 is prepared" in shown.out


def test_nothing_is_run_where_nothing_is_missing(run: Any) -> None:
    assert run() == (0, [])


def test_without_a_word_nothing_is_installed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert "no terminal" in refused(lambda: run(("fio",), yes=False))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin.readline", lambda: "n\n", raising=False)
    assert "the answer was no" in refused(lambda: run(("fio",), yes=False))


def test_an_unknown_distribution_a_failing_command_and_a_package_that_does_not_help_are_refused(run: Any) -> None:
    assert "no package manager" in refused(lambda: run(("fio",), distribution="plan9"))
    assert "ended with 100" in refused(lambda: run(("fio",), code=100))
    assert "still missing" in refused(lambda: run(("fio",), ("fio",)))


def test_a_simulated_server_needs_no_packages() -> None:
    assert "simulated" in refused(lambda: prepare.prepare_command(Namespace(on="sim", yes=True)))
