"""`raidtui lab`: a throwaway storage server in a virtual machine."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from raidtui.lab.disks import DEFAULT_SPEC, LAB_DISKS, LAB_LIKE
from raidtui.lab.flavours import FLAVOURS, flavour_of
from raidtui.lab.links import LAB_LINK, parse_link
from raidtui.lab.state import DEFAULT_CPUS, DEFAULT_NAME, MAX_CLIENTS
from raidtui.model.problem import Exit, Refusal, fail

if TYPE_CHECKING:
    from raidtui.lab.disks import DiskSpec
    from raidtui.lab.life import DiskStatus, LabStatus

USAGE: Final = Refusal(
    "usage",
    "The command line is not valid",
    "The arguments do not have the form that the command expects.",
    "`raidtui COMMAND --help` shows the form.",
)

_CPUS = range(1, 17)
_DISKS_HELP = f"""disks to give it, as COUNTxSIZE[:KIND][@SECTOR],… (default: {DEFAULT_SPEC}). G is GiB, M and T likewise.
KIND is nvme (default), ssd (SCSI, discards) or hdd (SCSI, rotational); SECTOR is 512 or 4096 bytes"""
_HOSTS = range(1, MAX_CLIENTS + 2)
_LINK_HELP = """links of --hosts: RATE,DELAY,mtu=BYTES,rxe, each optional, for example 1gbit,0.2ms,mtu=9000,rxe. Rate and
delay are those of each direction; rxe adds RDMA devices (Soft-RoCE)"""


def add_parser(subparsers: Any) -> None:
    """Register `lab` and its verbs; each sets `handler`, a function of the parsed arguments that gives the exit code."""
    parser = subparsers.add_parser(
        "lab",
        help="a throwaway storage server in a virtual machine",
        description="A throwaway storage server in a virtual machine: a real kernel with md, LVM and ZFS, and any disks "
        "you like. Nothing done in it can harm this machine. The first `up` builds its image (minutes, once).",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    up = verbs.add_parser("up", help="bring a lab up", description="Bring a lab up. One that is up is left as it is.")
    _add_name(up)
    up.add_argument("--disks", metavar="SPEC", help=_DISKS_HELP)
    up.add_argument("--like", metavar="FILE", help="disks like those that `raidtui disks --json` printed (- is stdin)")
    up.add_argument("--hosts", type=int, choices=_HOSTS, default=1, metavar="N",
                    help="with clients: N - 1 further machines c1, c2, … without disks, each with a link of its own to the "
                    f"storage server; N is at most {_HOSTS[-1]}")  # fmt: skip
    up.add_argument("--link", metavar="SPEC", help=_LINK_HELP)
    _add_flavour(up)
    _add_cpus(up)
    up.add_argument("--cold", action="store_true", help="boot the machine instead of loading the saved, booted one")
    up.set_defaults(handler=_up)

    prepare = verbs.add_parser(
        "prepare",
        help="do beforehand what the first `up` would: packages, image, saved machine",
        description="Do beforehand what the first `up` would: install packages, build the image, boot it once and save "
        "the booted machine. Does nothing where that is done.",
    )
    _add_flavour(prepare)
    _add_cpus(prepare)
    prepare.set_defaults(handler=_prepare)

    status = verbs.add_parser("status", help="show what labs there are")
    status.add_argument("name", nargs="?", metavar="NAME", help="only this one")
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(handler=_status)

    shell = verbs.add_parser(
        "shell",
        help="a root shell in a lab",
        usage="%(prog)s [-h] [NAME] [-- CMD …]",
        description="A root shell in a lab, or one command with its arguments. NAME/c1 is its first client.",
    )
    shell.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    shell.set_defaults(handler=_shell)

    down = verbs.add_parser("down", help="take a lab away, with its disks; leaves nothing")
    _add_name(down)
    down.add_argument("--all", action="store_true", help="every lab")
    down.set_defaults(handler=_down)


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default=DEFAULT_NAME, metavar="NAME", help=f"default: {DEFAULT_NAME}")


def _add_cpus(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpus", type=int, choices=_CPUS, default=DEFAULT_CPUS, metavar="N",
                        help=f"CPUs of its machine, 1 to {_CPUS[-1]} (default: {DEFAULT_CPUS}); each number is booted and "
                        "saved once")  # fmt: skip


def _add_flavour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--with", dest="flavour", choices=tuple(FLAVOURS), default="", metavar="FLAVOUR",
                        help="a lab that has more. ceph: a Ceph cluster in it, of a monitor, a manager and three OSDs in "
                        "files of 1 GiB. It has an image of its own, built once and saved with the cluster up")  # fmt: skip


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _up(args: argparse.Namespace) -> int:
    from raidtui.lab import life

    _end_like_ctrl_c()
    if args.link is not None and args.hosts == 1:
        raise fail(LAB_LINK, "--link needs --hosts 2 or more", place="--link")
    link = parse_link(args.link or "")
    state = life.up(args.name, _wanted_disks(args.disks, args.like), _say, cold=args.cold, cpus=args.cpus,
                    hosts=args.hosts, link=link, flavour=flavour_of(args.flavour))  # fmt: skip
    on = "lab" if args.name == DEFAULT_NAME else f"lab:{args.name}"
    name = "" if args.name == DEFAULT_NAME else f" {args.name}"
    clients = f", {state.clients} client{'s' * (state.clients != 1)}" if state.clients else ""
    _say(f"{len(state.plugged)} disks{clients}. Type next:")
    for line, what in (
        (f"raidtui --on {on} disks", "its disks, and whether they are free"),
        (f"raidtui --on {on}", "compose, build and measure"),
        (f"raidtui lab shell{name}", "look around as root"),
        *([(f"raidtui lab shell {args.name} -- ceph status", "its Ceph cluster")] if state.flavour == "ceph" else ()),
        *([(f"raidtui lab shell {args.name}/c1", "the same on the first client")] if state.clients else ()),
        (f"raidtui lab down{name}", "throw it away"),
    ):
        _say(f"  {line:<31} {what}")
    return int(Exit.DONE)


def _prepare(args: argparse.Namespace) -> int:
    from raidtui.lab import life

    _end_like_ctrl_c()
    life.prepare(_say, cpus=args.cpus, flavour=flavour_of(args.flavour))
    _say(f"the lab is prepared: raidtui lab up{f' --with {args.flavour}' if args.flavour else ''}")
    return int(Exit.DONE)


def _end_like_ctrl_c() -> None:
    """Let a command that is ended from outside clean up after itself."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def _wanted_disks(spec: str | None, like: str | None) -> list[DiskSpec]:
    from raidtui.lab import disks

    if like is None:
        return disks.parse_spec(spec or DEFAULT_SPEC)
    if spec is not None:
        raise fail(LAB_DISKS, "--disks and --like exclude each other", place="--like")
    try:
        data = sys.stdin.buffer.read() if like == "-" else Path(like).read_bytes()
    except OSError as error:
        raise fail(LAB_LIKE, f"cannot be read: {error.strerror}", place=like) from error
    return disks.specs_like(data, place=like)


def _status(args: argparse.Namespace) -> int:
    from raidtui.lab import life
    from raidtui.lab.state import lab_names

    names = [args.name] if args.name else lab_names()
    found = [status for name in names if (status := life.status(name)) is not None]
    if args.json:
        print(json.dumps(msgspec.to_builtins(life.Labs("raidtui.labs/1", tuple(found))), indent=2))
        return int(Exit.DONE)
    if not found:
        _say("no lab" if not args.name else f"no lab {args.name}")
    for status in found:
        _print_status(status)
    return int(Exit.DONE)


def _print_status(status: LabStatus) -> None:
    what = "up" if status.running else "stopped"
    what += f" with {status.flavour}" if status.flavour else ""
    cpus = f"{status.cpus} CPU{'s' * (status.cpus != 1)}"
    print(f"{status.name}: {what}, {status.accel}, {cpus}, pid {status.pid or '-'}, ssh port {status.port or '-'}")
    _print_disks(status.disks)
    for host in status.hosts:
        what = "up" if host.running else "stopped"
        link = "link cut" if host.cut else f"link {status.link}"
        print(f"  {host.name}: {what}, pid {host.pid or '-'}, ssh port {host.port or '-'}, {host.address}, {link}")
        _print_disks(host.disks)


def _print_disks(disks: list[DiskStatus]) -> None:
    from raidtui.model.units import size_text

    for disk in disks:
        size = size_text(disk.size_bytes)
        where = "" if disk.plugged else "  (not plugged in)"
        print(f"  {disk.serial:<20}  {disk.kind:<4}  {size:>8}  {disk.sector_bytes}-byte sectors{where}")


def _shell(args: argparse.Namespace) -> int:
    from raidtui.lab import ssh

    words = list(args.words)
    name = words.pop(0) if words and words[0] != "--" else DEFAULT_NAME
    if words and words.pop(0) != "--":
        raise fail(USAGE, "a command is written after --", remedy="raidtui lab shell NAME -- CMD …")
    ssh.sync_code(name)
    argv = ssh.lab_argv(name, multiplexed=True, tty=not words and sys.stdin.isatty())
    # The terminal, its signals and its exit code become those of ssh: this process has nothing left to do.
    sys.stdout.flush()
    os.execv(argv[0], [*argv, *map(shlex.quote, words)])  # noqa: S606
    return int(Exit.BUG)


def _down(args: argparse.Namespace) -> int:
    from raidtui.lab import life
    from raidtui.lab.state import lab_names

    names = lab_names() if args.all else [args.name]
    for name in names:
        _say(f"lab {name} is gone" if life.down(name) else f"there is no lab {name}")
    return int(Exit.DONE)
