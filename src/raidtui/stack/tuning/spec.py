"""Options of `tuning`, which every layer may have. Values are the kernel's own; nothing is set that is not given here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.model.problem import Exit, Problem
from raidtui.model.scenario_words import ROLE_PATTERN
from raidtui.model.units import Size

GOVERNORS: Final = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"


class Setting(NamedTuple):
    """One file of the kernel and what goes into it."""

    file: str
    """Below the device's folder in /sys/block, or a whole path for what belongs to no device."""
    value: str
    """As the kernel takes it."""
    words: str
    """`read_ahead 4MiB`"""


class DeviceQueue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the kernel does with reads and flushes of any block device (Documentation/ABI/stable/sysfs-block).

    Arrays, volumes and bcache hand on what they are given: they have no requests of their own that could wait or be sorted.
    """

    read_ahead: Annotated[Size, Meta(examples=["128KiB", "4MiB"])] | None = None
    """How far buffered reads go ahead; the kernel may round it to whole pages."""
    write_cache: Literal["write back", "write through"] | None = None
    """How the kernel drives the device's write cache: `write back` flushes it, `write through` takes it that there is none.
    The device's own cache stays as it is."""

    def settings(self) -> Iterator[Setting]:
        """In the order in which they are set."""
        if self.read_ahead is not None:
            kib = self.read_ahead.bytes >> 10
            yield Setting("queue/read_ahead_kb", str(kib), f"read_ahead {self.read_ahead.text}")
        if self.write_cache is not None:
            yield Setting("queue/write_cache", self.write_cache, f"write_cache {self.write_cache}")

    def problems(self, place: str) -> Iterator[Problem]:
        """What the types do not say."""
        if self.read_ahead is not None and (self.read_ahead.bytes % 1024 or self.read_ahead.bytes > 1 << 40):
            text = f"a read-ahead of {self.read_ahead.text} is no whole number of KiB up to 1TiB"
            yield refusal("tuning-value", text, f"{place}.read_ahead", 'Such as "128KiB".')


class Queue(DeviceQueue, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the kernel queues what goes to a disk, too."""

    scheduler: Literal["none", "mq-deadline", "kyber", "bfq"] | None = None
    """The I/O scheduler."""
    nr_requests: Annotated[int, Meta(ge=1, le=65536)] | None = None
    """Requests that may wait in the queue; the kernel may round it."""

    def settings(self) -> Iterator[Setting]:
        """The scheduler first: a new one changes nr_requests."""
        if self.scheduler is not None:
            yield Setting("queue/scheduler", self.scheduler, f"scheduler {self.scheduler}")
        if self.nr_requests is not None:
            yield Setting("queue/nr_requests", str(self.nr_requests), f"nr_requests {self.nr_requests}")
        yield from super().settings()


class RoleQueue(Queue, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The queues of one role's disks."""

    role: Annotated[str, Meta(pattern=ROLE_PATTERN, description="It is a role's name after an @.", examples=["@journal"])]
    """A role that goes into this very layer."""


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernel settings while the layout stands, put back afterwards as they were found."""

    disks: Queue | None = None
    """Of every disk that goes into this very layer."""
    roles: Annotated[tuple[RoleQueue, ...], Meta(max_length=64)] | None = None
    """Of the disks of single roles, where they differ from `disks`."""
    device: DeviceQueue | None = None
    """Of the block device that this layer makes."""
    governor: Literal["performance", "powersave", "schedutil", "ondemand", "conservative"] | None = None
    """Frequency governor of every CPU of the server. One run at a time can set it."""

    def queue_of(self, role: str) -> Queue:
        """What is asked of the disks of a role: its own values, else those of `disks`."""
        own = [queue for queue in self.roles or () if queue.role == f"@{role}"]
        given = [value for value in (*own, self.disks) if value is not None]
        taken = {
            name: next((found for queue in given if (found := getattr(queue, name)) is not None), None)
            for name in Queue.__struct_fields__
        }
        return Queue(**taken)

    def server_settings(self) -> Iterator[Setting]:
        """What belongs to the whole server."""
        if self.governor is not None:
            yield Setting(GOVERNORS, self.governor, f"CPU governor {self.governor}")

    def early_settings(self) -> Iterator[Setting]:
        """Of the layer's device, as soon as it is there."""
        yield from ()

    def problems(self, spec: Any, place: str) -> Iterator[Problem]:
        """What is wrong with it in a layer with these options, whatever the layer."""
        if self.disks is not None:
            yield from self.disks.problems(f"{place}.disks")
        if self.device is not None:
            yield from self.device.problems(f"{place}.device")
        for index, queue in enumerate(self.roles or ()):
            yield from queue.problems(f"{place}.roles[{index}]")
            if queue.role in [other.role for other in (self.roles or ())[:index]]:
                text = f"{queue.role} is tuned twice"
                yield refusal("tuning-twice", text, f"{place}.roles[{index}].role", "Say it once.")

    def words(self) -> str:
        """All of it, short; empty where nothing is given."""
        groups = [
            ("", [setting.words for setting in (*self.server_settings(), *self.early_settings())]),
            ("disks ", [setting.words for setting in (self.disks or Queue()).settings()]),
            *((f"{queue.role} ", [setting.words for setting in queue.settings()]) for queue in self.roles or ()),
            ("device ", [setting.words for setting in (self.device or DeviceQueue()).settings()]),
        ]
        return ", ".join(f"{who}{', '.join(words)}" for who, words in groups if words)


def refusal(code: str, message: str, place: str, remedy: str) -> Problem:
    """A problem of the scenario."""
    return Problem(code, message, place, remedy, int(Exit.USAGE))
