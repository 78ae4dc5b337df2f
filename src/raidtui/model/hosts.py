"""Hosts beside the storage server: clients that load what it exports, and the messages between a run and its peers there.

A peer is a process of raidtui on such a host. It speaks first (`PeerHello`); then each order gets one answer. It keeps
a run folder of its own, so that `raidtui recover` on its host finds what it made.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.plan import Argv, Plan
from raidtui.model.problem import Problem

PEER_PROTOCOL: Final = 1
LEASE_S: Final = 30.0
"""A peer that hears nothing from its run for so long takes down what it made."""
ALIVE_EVERY_S: Final = 5.0


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
    fio: str = ""
    """Version of its fio; empty if there is none."""


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line to a peer. `alive` gets no answer. `watch` begins to count the CPU of its host, `watched` asks what it was."""

    do: Literal["begin", "step", "listen", "unlisten", "watch", "watched", "health", "end",
                "alive"]
    run: str = ""
    host: str = ""
    plan: Plan | None = None
    """With `begin`: the steps of this host alone."""
    step: str = ""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to an order: as `stack.action.Outcome`, or the problems for which it failed."""

    result: str = ""
    facts: dict[str, Any] = {}
    commands: tuple[Argv, ...] = ()
    problems: tuple[Problem, ...] = ()
    failed: bool = False


class HostGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Hosts with the same part in a scenario."""

    count: Annotated[int, Meta(ge=1, le=64)] = 1
    """Number of hosts."""
