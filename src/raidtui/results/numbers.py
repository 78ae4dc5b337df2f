"""Measured numbers as text: the same on every machine, whatever its locale. MB is 10⁶ bytes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Unit = Literal["IOPS", "MB/s", "%"]
"""`%` where a table has nothing but percentages of one of its layouts."""

SCALE: Mapping[Unit, float] = MappingProxyType({"IOPS": 1.0, "MB/s": 1e-6, "%": 1.0})
"""Of what is kept (operations, bytes per second, percent) to what is shown."""

NOTHING = "–"
"""Stands where nothing was measured; never 0."""


def iops_text(value: float) -> str:
    """`2,817,003`, `412`, `8.3`: whole numbers, with one digit more where there are few."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def mb_s_text(bytes_per_s: float) -> str:
    """`20,275`, `90.4`: MB/s."""
    mb = bytes_per_s / 1e6
    return f"{mb:,.0f}" if mb >= 100 else f"{mb:.1f}"


def rate_text(value: float | None, unit: Unit) -> str:
    """A rate without its unit; `value` is operations or bytes per second, or percent."""
    if value is None:
        return NOTHING
    if unit == "%":
        return f"{value:.1f}".removesuffix(".0")
    return iops_text(value) if unit == "IOPS" else mb_s_text(value)


def latency_text(us: float | None) -> str:
    """`85 µs`, `1.24 ms`, `2.10 s`."""
    if us is None:
        return NOTHING
    if us < 1000:
        return f"{us:.0f} µs" if us >= 10 else f"{us:.1f} µs"
    return f"{us / 1000:.2f} ms" if us < 1e6 else f"{us / 1e6:.2f} s"


def ratio_text(value: float | None) -> str:
    """`2.01×`."""
    return NOTHING if value is None else f"{value:.2f}×"


def percent_text(share: float | None) -> str:
    """`84 %` of 0.84; one digit more below 10 %."""
    if share is None:
        return NOTHING
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"
