"""What Linux refuses is refused when the scenario is read, with its place and a way out; everything else can be planned."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lvm_cases import PLACE, disks, plan, spec_of

from raidtui.model.plan import Names
from raidtui.model.problem import REFUSALS, ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.lvm import LAYER

FAST = {"on": 1, "cache.on": 1}
SLOW = {"on": 1, "writecache.on": 1}
REFUSED: list[tuple[str, dict[str, Any], dict[str, int], str]] = [
    ("lvm-too-few", {"type": "striped"}, {"on": 1}, "on"),
    ("lvm-too-few", {"type": "striped", "stripes": 4}, {"on": 3}, "on"),
    ("lvm-too-few", {"type": "raid0"}, {"on": 1}, "on"),
    ("lvm-too-few", {"type": "raid1"}, {"on": 1}, "on"),
    ("lvm-too-few", {"type": "raid1", "mirrors": 3}, {"on": 3}, "on"),
    ("lvm-too-few", {"type": "raid4"}, {"on": 2}, "on"),
    ("lvm-too-few", {"type": "raid5"}, {"on": 2}, "on"),
    ("lvm-too-few", {"type": "raid5", "stripes": 3}, {"on": 3}, "on"),
    ("lvm-too-few", {"type": "raid6"}, {"on": 4}, "on"),
    ("lvm-too-few", {"type": "raid10"}, {"on": 3}, "on"),
    ("lvm-mirrors", {"type": "raid10", "mirrors": 2}, {"on": 6}, "mirrors"),
    ("lvm-too-many", {"type": "raid1"}, {"on": 65}, "on"),
    ("lvm-too-many", {"type": "mirror"}, {"on": 9}, "on"),
    ("lvm-stripes", {"type": "linear", "stripes": 2}, {"on": 2}, "stripes"),
    ("lvm-stripes", {"type": "linear", "stripe_size": "64KiB"}, {"on": 2}, "stripe_size"),
    ("lvm-stripes", {"type": "raid1", "stripe_size": "64KiB"}, {"on": 2}, "stripe_size"),
    ("lvm-stripes", {"type": "striped", "stripes": 1}, {"on": 2}, "stripes"),
    ("lvm-stripes", {"type": "raid5", "stripes": 1}, {"on": 3}, "stripes"),
    ("lvm-stripes", {"type": "raid6", "stripes": 2}, {"on": 5}, "stripes"),
    ("lvm-stripes", {"type": "raid10", "stripes": 1}, {"on": 4}, "stripes"),
    ("lvm-stripe-size", {"type": "striped", "stripe_size": "2KiB"}, {"on": 2}, "stripe_size"),
    ("lvm-stripe-size", {"type": "striped", "stripe_size": "48KiB"}, {"on": 2}, "stripe_size"),
    ("lvm-stripe-size", {"type": "raid5", "stripe_size": "8MiB"}, {"on": 3}, "stripe_size"),
    ("lvm-mirrors", {"type": "striped", "mirrors": 1}, {"on": 2}, "mirrors"),
    ("lvm-mirrors", {"type": "raid5", "mirrors": 1}, {"on": 3}, "mirrors"),
    ("lvm-extent-size", {"extent_size": "1100KiB"}, {"on": 1}, "extent_size"),
    ("lvm-extent-size", {"extent_size": "3MiB", "type": "mirror"}, {"on": 2}, "extent_size"),
    ("lvm-extent-size", {"extent_size": "6MiB", "type": "striped", "stripe_size": "4MiB"}, {"on": 2}, "extent_size"),
    ("lvm-extent-size", {"extent_size": "512KiB"}, {"on": 1}, "extent_size"),
    ("lvm-region-size", {"type": "striped", "region_size": "2MiB"}, {"on": 2}, "region_size"),
    ("lvm-region-size", {"type": "raid1", "region_size": "3MiB"}, {"on": 2}, "region_size"),
    ("lvm-region-size", {"type": "raid5", "region_size": "16KiB"}, {"on": 3}, "region_size"),
    ("lvm-mirrors", {"type": "raid1", "mirror_log": "core"}, {"on": 2}, "mirror_log"),
    ("lvm-integrity", {"type": "striped", "integrity": {}}, {"on": 2}, "integrity"),
    ("lvm-integrity", {"type": "raid1", "integrity": {"block_size": "8KiB"}}, {"on": 2}, "integrity.block_size"),
    ("lvm-cache", {"cache": {"on": "@f", "chunk": "48KiB"}}, FAST, "cache.chunk"),
    ("lvm-cache", {"cache": {"on": "@f", "chunk": "2GiB"}}, FAST, "cache.chunk"),
    (
        "lvm-cache",
        {"cache": {"on": "@f", "chunk": "1MiB", "migration_threshold": "1MiB"}},
        FAST,
        "cache.migration_threshold",
    ),
    ("lvm-cache", {"cache": {"on": "@f", "mode": "writeback", "policy": "cleaner"}}, FAST, "cache.policy"),
    ("lvm-cache", {"cache": {"on": "@f", "kind": "cachevol", "policy": "cleaner"}}, FAST, "cache.policy"),
    ("lvm-too-few", {"cache": {"on": "@f"}}, {"on": 1}, "cache.on"),
    ("lvm-writecache", {"writecache": {"on": "@f", "block_size": "8KiB"}}, SLOW, "writecache.block_size"),
    ("lvm-writecache", {"writecache": {"on": "@f", "low_watermark": 60}}, SLOW, "writecache.low_watermark"),
    ("lvm-writecache", {"writecache": {"on": "@f", "high_watermark": 40}}, SLOW, "writecache.high_watermark"),
    ("lvm-vdo", {"vdo": {"slab_size": "64MiB"}}, {"on": 1}, "vdo.slab_size"),
    ("lvm-vdo", {"vdo": {"index_memory": "300MiB"}}, {"on": 1}, "vdo.index_memory"),
    ("lvm-vdo", {"vdo": {"virtual_size": "5PiB"}}, {"on": 1}, "vdo.virtual_size"),
    ("lvm-vdo", {"vdo": {"logical_threads": 0}}, {"on": 1}, "vdo.logical_threads"),
    ("lvm-vdo", {"vdo": {"physical_threads": 2, "hash_zone_threads": 0}}, {"on": 1}, "vdo.hash_zone_threads"),
    ("lvm-vdo", {"vdo": {"logical_threads": 9}}, {"on": 1}, "vdo.logical_threads"),
    ("lvm-vdo", {"vdo": {"block_map_cache": "64MiB"}}, {"on": 1}, "vdo.block_map_cache"),
    ("lvm-vdo", {"vdo": {"block_map_cache": "128MiB", "logical_threads": 9}}, {"on": 1}, "vdo.block_map_cache"),
    ("lvm-together", {"on": {"lvm": {"on": "@d", "vdo": {}}}, "vdo": {}}, {"on": 1}, "vdo"),
    (
        "lvm-together",
        {"on": [{"md": {"level": "raid1", "on": {"lvm": {"on": "@d", "thin": {}}}}}], "vdo": {}},
        {"on": 1},
        "vdo",
    ),
    ("lvm-thin", {"thin": {"chunk": "32KiB"}}, {"on": 1}, "thin.chunk"),
    ("lvm-together", {"writecache": {"on": "@f"}, "vdo": {}}, SLOW, "vdo"),
    ("lvm-together", {"cache": {"on": "@f"}, "writecache": {"on": "@g"}}, {**FAST, **SLOW}, "writecache"),
    ("lvm-together", {"type": "mirror", "thin": {}}, {"on": 2}, "thin"),
    ("lvm-together", {"type": "raid1", "integrity": {}, "thin": {}}, {"on": 2}, "thin"),
    ("lvm-together", {"type": "raid1", "integrity": {}, "vdo": {}}, {"on": 2}, "vdo"),
]


@pytest.mark.parametrize(("code", "options", "counts", "where"), REFUSED)
def test_what_linux_refuses_is_refused_at_reading(
    code: str, options: dict[str, Any], counts: dict[str, int], where: str
) -> None:
    problems = LAYER.check(spec_of(**options), counts, PLACE)
    found = [p for p in problems if p.code == code and p.place == f"{PLACE}.{where}"]
    assert found, problems
    assert all(p.remedy and p.exit == 2 and p.code in REFUSALS for p in problems)


ALLOWED: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({}, {"on": 1}),
    ({"type": "striped"}, {"on": 2}),
    ({"type": "striped", "stripes": 2, "stripe_size": "4MiB"}, {"on": 5}),
    ({"type": "raid0"}, {"on": 2}),
    ({"type": "raid1"}, {"on": 2}),
    ({"type": "raid1", "mirrors": 1, "region_size": "64KiB"}, {"on": 4}),
    ({"type": "raid4"}, {"on": 3}),
    ({"type": "raid5", "stripes": 2, "allocation": "anywhere"}, {"on": 6}),
    ({"type": "raid6"}, {"on": 5}),
    ({"type": "raid10"}, {"on": 5}),
    ({"type": "raid10", "mirrors": 1}, {"on": 6}),
    ({"type": "mirror"}, {"on": 2}),
    ({"type": "raid1", "integrity": {"mode": "bitmap", "block_size": "512B"}}, {"on": 2}),
    ({"type": "raid5", "cache": {"on": "@f", "kind": "pool", "mode": "writeback"}}, {"on": 3, "cache.on": 2}),
    ({"type": "striped", "cache": {"on": "@f", "chunk": "1MiB", "migration_threshold": "8MiB"}}, {"on": 2, "cache.on": 1}),
    ({"writecache": {"on": "@f", "block_size": "512B", "low_watermark": 10, "high_watermark": 40}}, SLOW),
    ({"type": "raid5", "vdo": {"virtual_size": "8TB", "compression": False}}, {"on": 6}),
    ({"type": "raid5", "cache": {"on": "@f", "mode": "writeback"}, "vdo": {}}, {"on": 3, "cache.on": 1}),
    ({"cache": {"on": "@f", "kind": "pool"}, "thin": {}}, FAST),
    ({"writecache": {"on": "@f"}, "thin": {"chunk": "128KiB"}}, SLOW),
    ({"type": "raid1", "integrity": {}, "cache": {"on": "@f"}}, {"on": 2, "cache.on": 1}),
    ({"type": "raid1", "integrity": {}, "writecache": {"on": "@f"}}, {"on": 2, "writecache.on": 1}),
    ({"vdo": {"hash_zone_threads": 0, "logical_threads": 0, "physical_threads": 0, "ack_threads": 0}}, {"on": 1}),
    ({"vdo": {"logical_threads": 8}}, {"on": 1}),
    ({"extent_size": "6MiB"}, {"on": 1}),
    ({"extent_size": "1152KiB", "type": "raid5", "stripe_size": "128KiB"}, {"on": 3}),
    ({"vdo": {"logical_threads": 9, "block_map_cache": "144MiB"}}, {"on": 1}),
    ({"vdo": {"physical_threads": 2, "bio_threads": 8, "block_map_cache": "256MiB"}}, {"on": 1}),
    ({"on": {"lvm": {"on": "@d", "type": "striped"}}, "vdo": {}}, {"on": 1}),
    ({"type": "raid6", "thin": {"virtual_size": "50%", "chunk": "1MiB"}}, {"on": 5}),
    ({"type": "raid5", "vdo": {"virtual_size": "1TB"}, "thin": {"virtual_size": "10%"}}, {"on": 3}),
    ({"cache": {"on": "@f"}, "vdo": {}, "thin": {}}, FAST),
]


@pytest.mark.parametrize(("options", "counts"), ALLOWED)
def test_what_linux_builds_is_planned(options: dict[str, Any], counts: dict[str, int]) -> None:
    spec = spec_of(**options)
    assert LAYER.check(spec, counts, PLACE) == []
    assert plan(spec, counts).build[0].action == "lvm.group"


ON_TOP = ["", "integrity", "cache", "writecache", "vdo", "thin"]
ON_TOP += ["cache vdo", "vdo thin", "writecache thin", "integrity cache"]


@st.composite
def specs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, int]]:
    """Any options that the schema lets through, and any number of devices."""
    types = ["linear", "striped", "mirror", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]
    maybe = {
        "stripes": st.integers(1, 8),
        "mirrors": st.integers(1, 4),
        "stripe_size": st.sampled_from(["4KiB", "48KiB", "64KiB", "1MiB", "8MiB", "3KiB"]),
        "size": st.sampled_from(["100%", "50%", "0.1%", "1GiB", "5MB", "10TiB"]),
        "allocation": st.sampled_from(["normal", "contiguous", "cling", "anywhere"]),
        "extent_size": st.sampled_from(["1MiB", "4MiB", "32MiB", "5MiB"]),
        "region_size": st.sampled_from(["4KiB", "2MiB", "3MiB"]),
        "integrity": st.sampled_from([{}, {"mode": "bitmap", "block_size": "4KiB"}]),
        "cache": st.sampled_from([{"on": "@f"}, {"on": "@f", "kind": "pool", "mode": "writeback", "size": "1GiB"}]),
        "writecache": st.sampled_from([{"on": "@g"}, {"on": "@g", "high_watermark": 70, "size": "50%"}]),
        "vdo": st.sampled_from([{}, {"virtual_size": "1TB", "slab_size": "128MiB"}]),
        "thin": st.sampled_from([{}, {"virtual_size": "10%", "zero": False}]),
    }
    options: dict[str, Any] = {"type": draw(st.sampled_from(types))}
    on_top = draw(st.sampled_from(ON_TOP)).split()
    for name, values in maybe.items():
        known = name in ("integrity", "cache", "writecache", "vdo", "thin")
        if name in on_top or (not known and draw(st.booleans())):
            options[name] = draw(values)
    counts = {"on": draw(st.integers(1, 12))}
    counts |= {f"{name}.on": draw(st.integers(1, 3)) for name in ("cache", "writecache") if name in options}
    return options, counts


@given(
    specs(),
    st.lists(st.integers(1 << 16, 1 << 45), min_size=1, max_size=12),
    st.sampled_from(["wait", "skip-if-zeroed"]),
)
def test_any_volume_is_either_refused_with_reasons_or_planned_whole(
    drawn: tuple[dict[str, Any], dict[str, int]], sizes: list[int], initial_sync: Any
) -> None:
    options, counts = drawn
    spec = spec_of(**options)
    problems = LAYER.check(spec, counts, PLACE)
    if problems:
        assert all(p.code in REFUSALS and p.remedy and p.place.startswith(PLACE) for p in problems)
        return
    parts = {name: disks(name, [sizes[i % len(sizes)] & ~511 for i in range(count)]) for name, count in counts.items()}
    try:
        planned = LAYER.plan(spec, parts, Names("t"), Policy(initial_sync=initial_sync))
    except ProblemError as error:
        may = {
            "lvm-too-small": True,
            "lvm-cache": spec.cache is not None and spec.cache.chunk is not None,
            "lvm-region-size": spec.region_size is not None,
            "lvm-vdo": spec.vdo is not None and spec.vdo.slab_size is not None,
        }
        if all(may.get(problem.code) for problem in error.problems):
            return
        raise
    assert planned.offers
    assert planned.offers[0].size_bytes > 0
    if spec.vdo is None and spec.thin is None:
        assert planned.offers[0].size_bytes <= sum(part.size_bytes for part in parts["on"])
    shape = LAYER.shape(spec, parts)
    assert shape.size_bytes == planned.offers[0].size_bytes == planned.targets[0].size_bytes
    assert 0 <= shape.may_fail < counts["on"]
    assert shape.write_penalty >= 1
    assert planned.offers[0].size_bytes % planned.build[0].args.extent_bytes == 0
    lines = [argv for d in (*planned.build, *planned.teardown) for argv in (*d.commands, *d.undo)]
    for argv in lines:
        assert not {"--force", "-f", "-ff"} & set(argv)
        assert all(word and " " not in word for word in argv)
        everything = [part.path for name in ("on", "cache.on", "writecache.on") for part in parts.get(name, ())]
        assert argv[argv.index("--devices") + 1] == ",".join(everything)
    assert all(draft.action in LAYER.actions for draft in (*planned.build, *planned.teardown))
    (create,) = planned.build[1].commands
    assert ("--nosync" in create) == planned.needs_zero
    assert not planned.needs_zero or spec.type != "raid6"
    redundant = spec.type in ("mirror", "raid1", "raid4", "raid5", "raid6", "raid10")
    assert ("lvm.sync" in [draft.action for draft in planned.build]) == (redundant and not planned.needs_zero)
