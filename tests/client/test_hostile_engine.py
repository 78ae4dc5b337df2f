"""Whatever an engine says, the command line ends with words, an exit code that is not that of a bug, and little memory."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hostile
import pytest

SLOW = ("flood of", "as many", "many", "a million")
EVERYDAY = [attack for attack in hostile.table() if not attack.name.startswith(SLOW)]
LONG = [attack for attack in hostile.table() if attack not in EVERYDAY]


def together(attacks: list[hostile.Attack], folder: Path) -> tuple[dict[str, list[str]], str]:
    """Return the faults by attack, and a line of totals."""

    def one(number: int) -> hostile.Watched:
        own = folder / str(number)
        own.mkdir()
        return hostile.meet(attacks[number], own, timeout_s=300.0)

    with ThreadPoolExecutor(2) as pool:
        seen = list(pool.map(one, range(len(attacks))))
    wrong = {attack.name: found for attack, met in zip(attacks, seen, strict=True) if (found := hostile.faults(met))}
    most = f"{max(met.rss_mib for met in seen):.0f} MiB, {max(met.seconds for met in seen):.0f} s"
    return wrong, f"{len(attacks)} engines: at most {most}; exit codes {dict(Counter(met.code for met in seen))}"


def test_every_attack_of_the_table_ends_in_words(tmp_path: Path) -> None:
    wrong, numbers = together(EVERYDAY, tmp_path)
    print(numbers)
    assert not wrong


def test_damaged_conversations_end_in_words(tmp_path: Path) -> None:
    wrong, numbers = together([hostile.damaged(seed) for seed in range(40)], tmp_path)
    print(numbers)
    assert not wrong


@pytest.mark.parametrize("name", ["a million disks", "flood of large events", "many steps as JSON"])
def test_memory_is_bounded_whatever_comes(tmp_path: Path, name: str) -> None:
    wrong, numbers = together([attack for attack in LONG if attack.name == name], tmp_path)
    print(numbers)
    assert not wrong


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_damaged_conversations_and_every_flood(tmp_path: Path) -> None:
    wrong, numbers = together([*LONG, *(hostile.damaged(seed) for seed in range(1000))], tmp_path)
    print(numbers)
    assert not wrong


def test_a_disks_name_reaches_the_terminal_without_its_colours(tmp_path: Path) -> None:
    (attack,) = (attack for attack in hostile.table() if attack.name == "colours in disks")
    met = hostile.meet(attack, tmp_path)
    assert met.code == 0
    assert b"\\x1b[31m" in met.out


def test_a_host_that_refuses_is_said_in_the_words_of_ssh(tmp_path: Path) -> None:
    words = "ssh: connect to host stor1 port 22: Connection refused"
    met = hostile.meet(hostile.Attack("", "runs", {"stderr": [[words + "\r\n", 1]], "end": "exit", "exit": 255}), tmp_path)
    assert met.code == 2
    assert f"cannot reach stor1: {words} [unreachable]" in met.err.decode()
    assert "go on" not in met.err.decode()
