"""A lasting layout as a readable script for bash, which refuses disks that are not blank or not the planned ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from raidtui import __version__
from raidtui.base.text import clean
from raidtui.engine.lasting.steps import Lasting, LastingStep, asks, partitions_awaited
from raidtui.model.disk import Disk
from raidtui.model.plan import Argv
from raidtui.model.units import size_text

_WIDTH: Final = 110
_HEAD: Final = r"""set -euo pipefail
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin

die() { printf 'error: %s\n' "$*" >&2; exit 1; }
say() { printf '\n==> %s\n' "$*"; }

# PLANNED[PATH]: size in bytes, WWID and serial number of the disk that is expected there, separated by |.
declare -A PLANNED

# first_line FILE…: the first line of the first file that can be read.
first_line() { cat -- "$@" 2>/dev/null | tr -d '\0' | sed -n 1p || true; }

# same_disks PATH…: end unless the disks are the planned ones.
same_disks() {
  local path dev name bytes wwid serial found
  for path in "$@"; do
    IFS='|' read -r bytes wwid serial <<< "${PLANNED[$path]}"
    [[ -b $path ]] || die "$path is not there"
    dev=$(readlink -f -- "$path") name=${dev##*/}
    [[ -e /sys/block/$name ]] || die "$path is not a whole disk"
    [[ $(blockdev --getsize64 "$dev") == "$bytes" ]] || die "$path does not have $bytes bytes"
    found=$(first_line "/sys/block/$name/wwid" "/sys/block/$name/device/wwid")
    [[ -z $wwid || -z $found || ${found//[[:space:]]/} == "${wwid//[[:space:]]/}" ]] ||
      die "$path is another disk: $found, not $wwid"
    found=$(first_line "/sys/block/$name/serial" "/sys/block/$name/device/serial")
    [[ -z $serial || -z $found || ${found//[[:space:]]/} == "${serial//[[:space:]]/}" ]] ||
      die "$path is another disk: serial number $found, not $serial"
  done
}

# blank_disks PATH…: end unless the disks are the planned ones, unused, and blank at both ends.
blank_disks() {
  local path dev name bytes found
  same_disks "$@"
  for path in "$@"; do
    dev=$(readlink -f -- "$path") name=${dev##*/} bytes=${PLANNED[$path]%%|*}
    ! compgen -G "/sys/block/$name/$name*" >/dev/null || die "$path ($dev) has partitions"
    found=$(ls "/sys/block/$name/holders")
    [[ -z $found ]] || die "$path ($dev) is used by $found"
    ! grep -q "^$dev " /proc/mounts /proc/swaps || die "$path ($dev) is mounted, or swap"
    found=$(wipefs --noheadings --no-act -- "$dev")
    [[ -z $found ]] || die "$path ($dev) is not blank: $found"
    cmp -s -n 1048576 -- "$dev" /dev/zero || die "$path ($dev) is not blank: its first MiB has data"
    cmp -s -n 1048576 -i "$((bytes - 1048576)):0" -- "$dev" /dev/zero ||
      die "$path ($dev) is not blank: its last MiB has data"
  done
}

# await PATH…: wait until udev has made these paths.
await() {
  local path at
  udevadm settle
  for path in "$@"; do
    for ((at = 0; at < 300; at++)); do [[ -e $path ]] && break; sleep 0.1; done
    [[ -e $path ]] || die "$path did not appear"
  done
}
"""


def bash(
    made: Lasting, *, scenario: str, layout: str, disks: Sequence[tuple[str, Disk]], by_id: Mapping[str, str]
) -> str:
    """Return the script. `disks`: role and disk."""
    return "\n".join(_lines(made, scenario, layout, disks, by_id)) + "\n"


def _lines(
    made: Lasting, scenario: str, layout: str, disks: Sequence[tuple[str, Disk]], by_id: Mapping[str, str]
) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield f"# Build the layout {_comment(layout)} of the scenario {_comment(scenario)} for good, on these disks alone:"
    for role, disk in disks:
        yield f"#   {_comment(role)}  {_comment(disk.id)}  {size_text(disk.size_bytes)}  {_comment(disk.model)}"
    yield "# A disk that is not blank, is in use, or is another one than planned ends the script before it is written to."
    yield f"# Made by raidtui {__version__}. Run it as root."
    yield from (f"# Note: {_comment(note)}" for note in made.notes)
    yield _HEAD
    # A function: bash reads all of it before it runs, also from a pipe.
    yield "main() {"
    yield from (f"  {line}" if line else "" for text in _main_lines(made, disks, by_id) for line in text.split("\n"))
    yield "}"
    yield ""
    yield "main"


def _main_lines(made: Lasting, disks: Sequence[tuple[str, Disk]], by_id: Mapping[str, str]) -> Iterator[str]:
    yield '[[ $EUID == 0 ]] || die "run this as root"'
    tools = dict.fromkeys(argv[0] for step in made.steps for argv in step.commands)
    tools |= dict.fromkeys(("blockdev", "wipefs", "udevadm", "cmp"))
    yield f"for tool in {' '.join(tools)}; do"
    yield '  command -v "$tool" >/dev/null || die "$tool is not installed"'
    yield "done"
    yield ""
    names = {disk.id: f"disk{number:02d}" for number, (_, disk) in enumerate(disks, 1)}
    variables = {by_id[id_]: name for id_, name in names.items()}
    yield from (f"{name}={shlex.quote(by_id[id_])}" for id_, name in names.items())
    for _, disk in disks:
        planned = f"{disk.size_bytes}|{disk.wwid}|{disk.serial}"
        yield f"PLANNED[${names[disk.id]}]={shlex.quote(planned)}"
    yield ""
    yield f"say {shlex.quote(f'Check {len(disks)} disks')}"
    yield _call("blank_disks", names, variables, by_id)
    untouched = set(names)
    for step in made.steps:
        yield ""
        yield f"say {shlex.quote(clean(step.title))}"
        # A disk is blank until its first step; after that it is still to be the same one.
        if again := [disk for disk in step.disks if disk not in untouched]:
            yield _call("same_disks", again, variables, by_id)
        if first := [disk for disk in step.disks if disk in untouched]:
            yield _call("blank_disks", first, variables, by_id)
        untouched -= set(step.disks)
        yield from _step_lines(step, variables)
    yield from _kept(made)
    yield ""
    yield f"say {shlex.quote(f'Done: {made.path}')}"


def _call(function: str, disks: Iterable[str], variables: Mapping[str, str], by_id: Mapping[str, str]) -> str:
    return _command((function, *(by_id[disk] for disk in disks)), variables)


def _step_lines(step: LastingStep, variables: Mapping[str, str]) -> Iterator[str]:
    partitions = [path for argv in step.commands if (path := partitions_awaited(argv)) is not None]
    for argv in step.commands:
        if argv[:2] == ("zpool", "create") and partitions:
            yield _command(("await", *partitions), variables)
        yield _command(argv, variables) + (" <<< $'y\\ny\\ny'" if asks(argv) else "")
    if step.awaited:
        yield f"await {shlex.join(step.awaited)}"


def _kept(made: Lasting) -> Iterator[str]:
    """Yield what makes arrays and mounts come back after a reboot."""
    if made.arrays:
        yield ""
        yield "say 'Enter the arrays into mdadm.conf'"
        yield "conf=/etc/mdadm.conf"
        yield "[[ -d /etc/mdadm ]] && conf=/etc/mdadm/mdadm.conf"
        yield from (f'mdadm --detail --brief {shlex.quote(path)} >> "$conf"' for path in made.arrays)
        yield "# If the system itself boots from them: update-initramfs -u, or dracut --force."
    for line in made.mounted:
        yield ""
        yield f"say {shlex.quote(f'Mount it on {made.path}, now and at boot')}"
        yield f"mkdir -p {shlex.quote(made.path)}"
        yield f"printf '%s\\n' {shlex.quote(line)} >> /etc/fstab"
        yield "command -v systemctl >/dev/null && systemctl daemon-reload || true"
        yield f"mount {shlex.quote(made.path)}"
        yield f"findmnt {shlex.quote(made.path)}"


def _command(argv: Argv, variables: Mapping[str, str]) -> str:
    """Return the command, with variables for disks, on several lines if it is long."""
    lines, line = [], ""
    for word in (_word(word, variables) for word in argv):
        if line and len(line) + len(word) + 3 > _WIDTH:
            lines.append(line)
            line = f"    {word}"
        else:
            line = f"{line} {word}" if line else word
    return " \\\n".join([*lines, line])


def _word(word: str, variables: Mapping[str, str]) -> str:
    """Return a word for the shell: the path of a disk, and of its first partition, by the disk's variable."""
    path = word.removesuffix("-part1")
    if path in variables:
        return f'"${variables[path]}"' if path == word else f'"${variables[path]}-part1"'
    return shlex.quote(word)


def _comment(text: str) -> str:
    return clean(text, 200)
