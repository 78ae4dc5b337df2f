"""Options of `tuning`, which every layer may have, and the arguments of its steps. Values are those of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario_words import ROLE_PATTERN
from raidtui.model.units import Size

GOVERNORS: Final = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"

TUNING_VALUE: Final = Refusal(
    "tuning-value",
    "Invalid value of a setting",
    "The kernel counts read-ahead in KiB, and speeds in KiB per second.",
    "Write a size with its unit, such as 128KiB or 100MB.",
)
TUNING_TWICE: Final = Refusal(
    "tuning-twice",
    "Tuned twice",
    "A setting of the whole server, or of one role, is given twice in one layout.",
    "Give it in one place.",
)
TUNING_NO_DEVICE: Final = Refusal(
    "tuning-no-device",
    "Nothing to tune",
    "`disks` and `roles` tune disks that are direct inputs of the layer with the tuning; `device` tunes the block device "
    "that this layer creates.",
    "Move the tuning to the layer that uses these disks, or that creates the device.",
)
TUNING_NOT_OFFERED: Final = Refusal(
    "tuning-not-offered",
    "The kernel does not offer this setting",
    "The file in /sys does not exist or is read-only: another kernel, another kind of device, or a parameter of another "
    "module version.",
    "Leave the setting out, or look into the folder that the message names.",
)
TUNING_NOT_TAKEN: Final = Refusal(
    "tuning-not-taken",
    "The kernel did not accept the value",
    "The kernel refused the value, or returned another one that is not a rounding of it. All settings were restored.",
    "The message has the value that was read back; choose another value.",
)
TUNING_LEFT: Final = Refusal(
    "tuning-left",
    "A setting could not be restored",
    "The earlier value could not be written, or another value was read back. The run stays open.",
    "The remedy has the command; `raidtui recover` tries it again, any number of times.",
)


class SettingOfDevice(msgspec.Struct, frozen=True):
    """One setting of a step."""

    ref: str
    """Reference of the device; empty for a setting of the server."""
    file: str
    value: str


class Settings(msgspec.Struct, frozen=True):
    """Arguments of the tuning steps."""

    uuid: str
    settings: tuple[SettingOfDevice, ...]


class Setting(NamedTuple):
    """A file in /sys and its value."""

    file: str
    """Path below the device's folder in /sys/block, or a whole path for a setting of the server."""
    value: str
    """Value as written to the file."""
    words: str
    """`read_ahead 4MiB`"""


class DeviceQueue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Read-ahead and flushes of any block device (Documentation/ABI/stable/sysfs-block).

    Arrays, volumes and bcache pass requests on, so that they have neither queue nor scheduler.
    """

    read_ahead: Annotated[Size, Meta(examples=["128KiB", "4MiB"])] | None = None
    """Read-ahead of buffered reads; the kernel may round it to whole pages."""
    write_cache: Literal["write back", "write through"] | None = None
    """Kernel's view of the device's write cache: with `write back` the kernel sends flushes, with `write through` none. The
    cache in the device stays as it is."""

    def settings(self) -> Iterator[Setting]:
        """Yield the settings in the order in which they are written."""
        if self.read_ahead is not None:
            kib = self.read_ahead.bytes >> 10
            yield Setting("queue/read_ahead_kb", str(kib), f"read_ahead {self.read_ahead.text}")
        if self.write_cache is not None:
            yield Setting("queue/write_cache", self.write_cache, f"write_cache {self.write_cache}")

    def problems(self, place: str) -> Iterator[Problem]:
        """Yield the problems that the types do not rule out."""
        if self.read_ahead is not None and (self.read_ahead.bytes % 1024 or self.read_ahead.bytes > 1 << 40):
            text = f"a read-ahead of {self.read_ahead.text} is not a whole number of KiB up to 1TiB"
            yield TUNING_VALUE.problem(text, place=f"{place}.read_ahead", remedy='Such as "128KiB".')


class Queue(DeviceQueue, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Queue of a disk."""

    scheduler: Literal["none", "mq-deadline", "kyber", "bfq"] | None = None
    """The I/O scheduler."""
    nr_requests: Annotated[int, Meta(ge=1, le=65536)] | None = None
    """Requests in the queue; the kernel may round it."""

    def settings(self) -> Iterator[Setting]:
        """Yield the scheduler first, because a new scheduler changes nr_requests."""
        if self.scheduler is not None:
            yield Setting("queue/scheduler", self.scheduler, f"scheduler {self.scheduler}")
        if self.nr_requests is not None:
            yield Setting("queue/nr_requests", str(self.nr_requests), f"nr_requests {self.nr_requests}")
        yield from super().settings()


class RoleQueue(Queue, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The queues of one role's disks."""

    role: Annotated[str, Meta(pattern=ROLE_PATTERN, description="It is a role's name after an @.", examples=["@journal"])]
    """A role that is a direct input of this layer."""


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernel settings during the run; restored afterwards."""

    disks: Queue | None = None
    """Settings of all disks that are direct inputs of this layer."""
    roles: Annotated[tuple[RoleQueue, ...], Meta(max_length=64)] | None = None
    """Settings of the disks of single roles that differ from `disks`."""
    device: DeviceQueue | None = None
    """Settings of the block device that this layer creates."""
    governor: Literal["performance", "powersave", "schedutil", "ondemand", "conservative"] | None = None
    """Frequency governor of every CPU of the server. One run at a time can set it."""

    def queue_of(self, role: str) -> Queue:
        """Return the settings of a role's disks: those of the role, else those of `disks`."""
        own = [queue for queue in self.roles or () if queue.role == f"@{role}"]
        given = [value for value in (*own, self.disks) if value is not None]
        taken = {
            name: next((found for queue in given if (found := getattr(queue, name)) is not None), None)
            for name in Queue.__struct_fields__
        }
        return Queue(**taken)

    def server_settings(self) -> Iterator[Setting]:
        """Yield the settings of the whole server."""
        if self.governor is not None:
            yield Setting(GOVERNORS, self.governor, f"CPU governor {self.governor}")

    def early_settings(self) -> Iterator[Setting]:
        """Yield the settings that are written as soon as the layer's device exists."""
        yield from ()

    def problems(self, spec: Any, place: str) -> Iterator[Problem]:
        """Yield the reasons why the tuning does not fit a layer with these options."""
        if self.disks is not None:
            yield from self.disks.problems(f"{place}.disks")
        if self.device is not None:
            yield from self.device.problems(f"{place}.device")
        for index, queue in enumerate(self.roles or ()):
            yield from queue.problems(f"{place}.roles[{index}]")
            if queue.role in [other.role for other in (self.roles or ())[:index]]:
                text = f"{queue.role} is tuned twice"
                yield TUNING_TWICE.problem(text, place=f"{place}.roles[{index}].role", remedy="Give it once.")

    def words(self) -> str:
        """Return all settings as one short text; empty without settings."""
        groups = [
            ("", [setting.words for setting in (*self.server_settings(), *self.early_settings())]),
            ("disks ", [setting.words for setting in (self.disks or Queue()).settings()]),
            *((f"{queue.role} ", [setting.words for setting in queue.settings()]) for queue in self.roles or ()),
            ("device ", [setting.words for setting in (self.device or DeviceQueue()).settings()]),
        ]
        return ", ".join(f"{who}{', '.join(words)}" for who, words in groups if words)
