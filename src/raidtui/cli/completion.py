"""`raidtui completion`: completion of commands, options and their choices for bash, zsh and fish, made from the parser."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import Final

from raidtui.cli.parser_view import Command, Option, commands
from raidtui.front.files import shipped

SHELLS: Final = ("bash", "zsh", "fish")
_INSTALL: Final = {
    "bash": "raidtui completion bash > ~/.local/share/bash-completion/completions/raidtui",
    "zsh": "raidtui completion zsh > ~/.zfunc/_raidtui (with fpath+=~/.zfunc before compinit in ~/.zshrc)",
    "fish": "raidtui completion fish > ~/.config/fish/completions/raidtui.fish",
}
_SCENARIOS: Final = ("SCENARIO",)
"""Metavars of what may be the name of a shipped scenario."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "To install: " + "; ".join(_INSTALL.values())
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def completion_command(args: Namespace) -> int:
    """Print the completion for a shell."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    print("\n".join([f"# Completion of raidtui for {args.shell}. To install:", f"#   {_INSTALL[args.shell]}",
                     *make(commands())]))  # fmt: skip
    return 0


def _flags(command: Command) -> list[str]:
    return [flag for option in command.options for flag in option.flags]


def _values(option: Option) -> list[str]:
    return [*option.choices, *((name for name, _ in shipped()) if option.metavar in _SCENARIOS else ())]


def _takes_value(found: Sequence[Command]) -> list[str]:
    return sorted({flag for one in found for option in one.options if option.metavar for flag in option.flags})


def _words(found: Sequence[str]) -> str:
    return shlex.quote(" ".join(found))


def _bash(found: Sequence[Command]) -> Iterator[str]:
    yield "_raidtui() {"
    yield "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= at word"
    yield from _of_line("COMP_WORDS", "1", "COMP_CWORD", found)
    yield "  COMPREPLY=()"
    yield '  case "$command $prev" in'
    for command, option in _with_choices(found):
        for flag in option.flags:
            pattern = shlex.quote(f"{' '.join(command.words)} {flag}")
            yield f'    {pattern}) COMPREPLY=($(compgen -W {_words(_values(option))} -- "$cur")); return ;;'
    yield "  esac"
    values = "|".join(_takes_value(found))
    yield f'  case $prev in {values}) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; return ;; esac'
    yield '  case "$command" in'
    for command in found:
        flags, words = _words(_flags(command)), _words([*command.below, *_of_operands(command)])
        yield f"    {shlex.quote(' '.join(command.words))})"
        yield f'      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W {flags} -- "$cur")); return; fi'
        files = "" if command.below else ' $(compgen -f -- "$cur")'
        yield f'      COMPREPLY=($(compgen -W {words} -- "$cur"){files}) ;;'
    yield "  esac"
    yield "}"
    yield "complete -F _raidtui raidtui"


def _of_line(words: str, first: str, current: str, found: Sequence[Command]) -> Iterator[str]:
    """Yield the lines that find the command in the words before the cursor, for bash and zsh."""
    nested = "|".join(one.words[0] for one in found if len(one.words) == 1 and one.below)
    yield f"  for ((at = {first}; at < {current}; at++)); do"
    yield f"    word=${{{words}[at]}}"
    yield "    case $word in"
    # bash splits `lab:NAME` at the colon.
    yield f'      {"|".join(_takes_value(found))}) ((at++)); while [[ ${{{words}[at+1]:-}} == : ]]; do ((at += 2)); done ;;'
    yield "      -*) ;;"
    yield f'      *) case "$command" in "") command=$word ;; {nested or "-"}) command="$command $word" ;; esac ;;'
    yield "    esac"
    yield "  done"


def _of_operands(command: Command) -> list[str]:
    return [value for operand in command.operands for value in _values(operand)]


def _with_choices(found: Sequence[Command]) -> Iterator[tuple[Command, Option]]:
    yield from ((command, option) for command in found for option in command.options if option.metavar and _values(option))


def _zsh(found: Sequence[Command]) -> Iterator[str]:
    yield "#compdef raidtui"
    yield "_raidtui() {"
    yield "  local command= at word prev=${words[CURRENT-1]}"
    yield from _of_line("words", "2", "CURRENT", found)
    yield '  case "$command $prev" in'
    for command, option in _with_choices(found):
        for flag in option.flags:
            pattern = shlex.quote(f"{' '.join(command.words)} {flag}")
            yield f"    {pattern}) compadd -- {shlex.join(_values(option))}; return ;;"
    yield "  esac"
    yield f"  case $prev in {'|'.join(_takes_value(found))}) _files; return ;; esac"
    yield '  case "$command" in'
    for command in found:
        yield f"    {shlex.quote(' '.join(command.words))})"
        yield f"      if [[ ${{words[CURRENT]}} == -* ]]; then compadd -- {shlex.join(_flags(command))}; return; fi"
        if words := [*command.below, *_of_operands(command)]:
            yield f"      compadd -- {shlex.join(words)}"
        yield "      ;;" if command.below else "      _files ;;"
    yield "  esac"
    yield "}"
    yield 'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _raidtui "$@"; else compdef _raidtui raidtui; fi'


def _fish(found: Sequence[Command]) -> Iterator[str]:
    (root, *others) = found
    yield f"set -l commands {' '.join(root.below)}"
    yield from _fish_options(root, "")
    for command in others:
        parent, name = command.words[:-1], command.words[-1]
        siblings = next(one.below for one in found if one.words == parent)
        seen = f"__fish_seen_subcommand_from {parent[0]}; and " if parent else ""
        outside = f"{seen}not __fish_seen_subcommand_from {' '.join(siblings)}"
        summary = command.summary.replace("'", "\\'")
        yield f"complete -c raidtui -f -n '{outside}' -a {name} -d '{summary}'"
        inside = f"{seen}__fish_seen_subcommand_from {name}"
        yield from _fish_options(command, inside)
        if words := _of_operands(command):
            yield f"complete -c raidtui -n '{inside}' -a '{' '.join(words)}'"


def _fish_options(command: Command, condition: str) -> Iterator[str]:
    when = f" -n '{condition}'" if condition else ""
    for option in command.options:
        names = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in option.flags)
        values = f" -x -a '{' '.join(_values(option))}'" if _values(option) else " -r" if option.metavar else ""
        text = option.help.split(";")[0].replace("\\", "\\\\").replace("'", "\\'")
        yield f"complete -c raidtui{when}{names}{values} -d '{text}'"


COMMANDS: Final = {"completion": (add_arguments, completion_command)}
