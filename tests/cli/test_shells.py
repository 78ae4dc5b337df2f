"""Completion in real shells, and the manual page: both have every command and option of the parser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from raidtui.cli.main import COMMANDS, main
from raidtui.cli.parser_view import commands

BASH = """
source /dev/stdin <<'SCRIPT'
{script}
SCRIPT
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_raidtui
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
compdef() {{ :; }}
compadd() {{ shift; print -l -- $@; }}
_files() {{ print -l FILES; }}
source /dev/stdin <<'SCRIPT'
{script}
SCRIPT
words=({words})
CURRENT=${{#words}}
_raidtui
"""


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return str(capsys.readouterr().out)


def run(shell: str, script: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    ran = subprocess.run([shell], input=script, text=True, capture_output=True, check=False, timeout=60)
    assert ran.stderr == ""
    return ran.stdout.split()


CASES = [
    (("raidtui", "''"), {"design", "plan", "lab"}, {"up"}),
    (("raidtui", "--on", "lab", "pl"), {"plan"}, {"design"}),
    (("raidtui", "--on", "lab", ":", "x", "plan", "--"), {"--as", "--bind", "--layout"}, {"--survive"}),
    (("raidtui", "plan", "--as", "''"), {"bash", "ansible"}, {"plan"}),
    (("raidtui", "lab", "''"), {"up", "down"}, {"plan"}),
    (("raidtui", "replay", "vm-"), {"vm-store"}, {"replay"}),
    (("raidtui", "completion", "''"), {"bash", "zsh", "fish"}, {"plan"}),
]


@pytest.mark.parametrize(("words", "offered", "others"), CASES)
def test_bash_completes(
    words: Sequence[str], offered: set[str], others: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = set(run("bash", BASH.format(script=printed(capsys, "completion", "bash"), words=" ".join(words))))
    assert offered <= found
    assert not others & found


@pytest.mark.parametrize(("words", "offered", "others"), [case for case in CASES if ":" not in case[0]])
def test_zsh_offers_the_words_of_the_place(
    words: Sequence[str], offered: set[str], others: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = set(run("zsh", ZSH.format(script=printed(capsys, "completion", "zsh"), words=" ".join(words))))
    assert offered <= found


def test_fish_completes(capsys: pytest.CaptureFixture[str]) -> None:
    script = printed(capsys, "completion", "fish")
    assert "plan" in run("fish", f"{script}\ncomplete -C 'raidtui pl'\n")
    assert {"bash", "ansible"} <= set(run("fish", f"{script}\ncomplete -C 'raidtui plan --as '\n"))


def test_every_option_is_in_every_completion_and_in_the_manual_page(capsys: pytest.CaptureFixture[str]) -> None:
    texts = {shell: printed(capsys, "completion", shell) for shell in ("bash", "zsh", "fish")}
    page = printed(capsys, "man").replace("\\-", "-")
    assert {one.words[0] for one in commands() if one.words} == set(COMMANDS)
    for command in commands():
        for flag in (flag for option in command.options for flag in option.flags):
            assert flag in texts["bash"], (command.words, flag)
            assert flag in texts["zsh"], (command.words, flag)
            assert re.search(rf"-[ls] {flag.lstrip('-')}\b", texts["fish"]), (command.words, flag)
            assert f"\\fB{flag}\\fR" in page, (command.words, flag)
        if command.words:
            assert f".SS {' '.join(command.words)}" in page


def test_the_manual_page_is_valid_roff(capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    page = printed(capsys, "man")
    ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"], input=page, text=True, capture_output=True,
                         check=False, timeout=60)  # fmt: skip
    assert ran.returncode == 0
    assert ran.stderr == ""
    for heading in ("NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS", "SEE ALSO"):
        assert heading in re.sub(r".\x08", "", ran.stdout)
