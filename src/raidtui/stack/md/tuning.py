"""What can be tuned of an md array (Documentation/admin-guide/md.rst)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

from msgspec import Meta

from raidtui.model.problem import Problem
from raidtui.model.units import Size
from raidtui.stack.tuning.spec import Setting, Tuning, refusal

_WITH_STRIPES: Final = ("raid4", "raid5", "raid6")
_SPEED: Final = Meta(examples=["100MB", "1GiB"])


class MdTuning(Tuning, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernel settings while the array stands, put back afterwards as they were found."""

    stripe_cache_size: Annotated[int, Meta(ge=17, le=32768)] | None = None
    """raid4, raid5, raid6: stripes that the cache holds, each a page of memory per member; the kernel has 256."""
    group_thread_cnt: Annotated[int, Meta(ge=0, le=8192)] | None = None
    """raid4, raid5, raid6: threads per NUMA node that work on stripes; the kernel has 0: one thread in all."""
    sync_speed_min: Annotated[Size, _SPEED] | None = None
    """What a resync of this array takes per second even when others use its disks."""
    sync_speed_max: Annotated[Size, _SPEED] | None = None
    """What a resync of this array takes per second at most; the initial one too."""

    def early_settings(self) -> Iterator[Setting]:
        for name in ("stripe_cache_size", "group_thread_cnt"):
            if (count := getattr(self, name)) is not None:
                yield Setting(f"md/{name}", str(count), f"{name} {count}")
        for name in ("sync_speed_max", "sync_speed_min"):
            if (speed := getattr(self, name)) is not None:
                yield Setting(f"md/{name}", str(speed.bytes >> 10), f"{name} {speed.text}")

    def problems(self, spec: Any, place: str) -> Iterator[Problem]:
        yield from super().problems(spec, place)
        for name in ("stripe_cache_size", "group_thread_cnt"):
            if getattr(self, name) is not None and spec.level not in _WITH_STRIPES:
                text = f"{spec.level} has no stripe cache, and no threads that work on it"
                yield refusal("tuning-md", text, f"{place}.{name}", f"Remove {name}.")
        for name in ("sync_speed_min", "sync_speed_max"):
            speed = getattr(self, name)
            if speed is not None and spec.level == "raid0":
                yield refusal("tuning-md", "raid0 is never synced", f"{place}.{name}", f"Remove {name}.")
            elif speed is not None and not 1 << 10 <= speed.bytes < 1 << 41:
                text = f"a speed of {speed.text} per second is not between 1KiB and 2TiB"
                yield refusal("tuning-value", text, f"{place}.{name}", 'Such as "100MB".')
        if None not in (low := self.sync_speed_min, high := self.sync_speed_max) and low.bytes > high.bytes:  # type: ignore[union-attr]
            text = "sync_speed_min is more than sync_speed_max"
            yield refusal("tuning-value", text, f"{place}.sync_speed_min", "Lower it.")
