"""A cache of flash was not all that was measured, where the layout is of a cache and disks behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.frame import CacheState
from raidtui.model.mark import Mark
from raidtui.model.units import size_text

MEMORY: Final = ("arc", "l2arc")
MOST_PERCENT: Final = 95.0
FEWEST: Final = 100

FITS = Meaning(
    "fits-cache",
    "caution",
    "The whole data set fits into the cache",
    "The cache device answered nearly everything: the number is that of the cache alone, and the disks behind it could be "
    "any.",
    'Use a region several times the size of the cache; or say "caches": "warm" in the policy where the cache alone is what '
    "is to be measured.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    if evidence.caches == "warm" or not evidence.region_bytes:
        return
    for name, cache in evidence.cell.caches.items():
        size = cache.size_bytes
        if name in MEMORY or name not in evidence.cell.devices or size is None or evidence.region_bytes >= size:
            continue
        hits, misses = _answered(cache)
        if hits + misses >= FEWEST and 100 * hits / (hits + misses) >= MOST_PERCENT:
            yield FITS.mark(
                f"the cache answered {100 * hits / (hits + misses):.0f} % of the operations: "
                f"the region of {size_text(evidence.region_bytes)} fits into its {size_text(size)}",
                about=name,
            )


def _answered(cache: CacheState) -> tuple[int, int]:
    return cache.hits + (cache.write_hits or 0), cache.misses + (cache.write_misses or 0)


CHECK = Check(find, (FITS,))
