"""Hosts beside the storage server: clients that load what it exports, and the messages between a run and its peers there.

A peer is a process of raidtui on such a host. It speaks first (`PeerHello`); then each order gets one answer. It keeps
a run folder of its own, so that `raidtui recover` on its host finds what it made.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.links import LinkTest
from raidtui.model.network import LinkEnd
from raidtui.model.plan import Argv, Plan
from raidtui.model.problem import Problem

PEER_PROTOCOL: Final = 2
LEASE_S: Final = 30.0
"""A peer that hears nothing from its run for so long takes down what it made."""
ALIVE_EVERY_S: Final = 5.0
LOAD_EVERY_S: Final = 1.0
MOST_NAMED: Final = 4
"""Number of devices and of interfaces that `HostLoad` names: a line of it is at most one page of a pipe."""


class PeerHello(msgspec.Struct, frozen=True, tag="peer", tag_field="type"):
    """The first line of a peer."""

    protocol: int
    version: str
    host: str
    root: bool
    boot_id: str
    machine_id: str
    kernel: str
    own_address: str = ""
    """Address of the host on the link over which it was reached (ssh's SSH_CONNECTION); empty without ssh."""
    storage_address: str = ""
    """Address of the storage server on that link."""
    clock_s: float = 0.0
    """Its clock, in seconds since 1970."""
    own_link: LinkEnd | None = None
    """Its interface on that link; None if it is not known."""
    fio: str = ""
    """Version of its fio; empty if there is none."""
    folder: str = ""
    """Folder of its journals."""
    free_bytes: int | None = None
    """Space in the filesystem of that folder; None if that is not known."""


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line to a peer. `alive` gets no answer. `watch` begins to count the CPU of its host, `watched` asks what it was;
    `look` asks what the host is and has (`model/host_view.py`), also without a run.
    """

    do: Literal["look", "begin", "step", "listen", "unlisten", "watch", "watched", "connect", "rate",
                "health", "end", "alive"]
    run: str = ""
    host: str = ""
    plan: Plan | None = None
    """With `begin`: the steps of this host alone."""
    step: str = ""
    key: str = ""
    """Key of the connection that the step makes (`stack/auth.py`): the host has it in memory alone."""
    link: LinkTest | None = None
    """With `connect` and `rate`."""
    daemons: dict[str, str] = {}
    """With `watch`: kinds of daemons to count, by name of the executable."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, tag="answer", tag_field="type"):
    """The answer to an order: as `stack.action.Outcome`, or the problems for which it failed."""

    result: str = ""
    facts: dict[str, Any] = {}
    commands: tuple[Argv, ...] = ()
    problems: tuple[Problem, ...] = ()
    failed: bool = False


class HostLoad(msgspec.Struct, frozen=True, omit_defaults=True, tag="load", tag_field="type"):
    """Activity of a host between two samples while it loads the target of a cell. Losing one changes no other."""

    span_s: float
    """Seconds between the samples."""
    devices: tuple[str, ...] = ()
    """Kernel names of the devices that it loads, at most `MOST_NAMED`; the rates are of all of them together."""
    read_iops: float = 0.0
    write_iops: float = 0.0
    read_bytes_per_s: float = 0.0
    written_bytes_per_s: float = 0.0
    util_percent: float | None = None
    """Utilisation of the busiest device."""
    cores_used: float | None = None
    """Busy cores, as a sum: 1.5 is one and a half."""
    cores: int = 0
    networks: dict[str, tuple[float, float]] = {}
    """Bytes received and sent a second by the busiest interfaces, at most `MOST_NAMED`."""


class HostGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Hosts with the same part in a scenario."""

    count: Annotated[int, Meta(ge=1, le=64)] = 1
    """Number of hosts."""
