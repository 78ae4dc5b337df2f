"""What Linux refuses is refused when the scenario is read, with its place and a way out; everything else can be planned."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from md_cases import disks, plan, spec_of

from raidtui.model.plan import Names
from raidtui.model.problem import REFUSALS, ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.md import LAYER

REFUSED: list[tuple[str, dict[str, Any], dict[str, int], str]] = [
    ("md-too-few", {"level": "raid0"}, {"on": 1}, "on"),
    ("md-too-few", {"level": "raid1"}, {"on": 1}, "on"),
    ("md-too-few", {"level": "raid5"}, {"on": 1}, "on"),
    ("md-too-few", {"level": "raid6"}, {"on": 3}, "on"),
    ("md-too-few", {"level": "raid10"}, {"on": 1}, "on"),
    ("md-too-many", {"level": "raid6"}, {"on": 257}, "on"),
    ("md-too-many", {"level": "raid1"}, {"on": 1921}, "on"),
    ("md-spares", {"level": "raid0", "spares": "@s"}, {"on": 2, "spares": 1}, "spares"),
    ("md-chunk", {"level": "raid1", "chunk": "64KiB"}, {"on": 2}, "chunk"),
    ("md-chunk", {"level": "raid5", "chunk": "2KiB"}, {"on": 3}, "chunk"),
    ("md-chunk", {"level": "raid5", "chunk": "48KiB"}, {"on": 3}, "chunk"),
    ("md-chunk", {"level": "raid10", "chunk": "192KiB"}, {"on": 4}, "chunk"),
    ("md-chunk", {"level": "raid0", "chunk": "6KiB"}, {"on": 3}, "chunk"),
    ("md-chunk", {"level": "raid0", "chunk": "2GiB"}, {"on": 3}, "chunk"),
    ("md-layout", {"level": "raid1", "layout": "near2"}, {"on": 2}, "layout"),
    ("md-layout", {"level": "raid4", "layout": "left-symmetric"}, {"on": 3}, "layout"),
    ("md-layout", {"level": "raid5", "layout": "far2"}, {"on": 3}, "layout"),
    ("md-layout", {"level": "raid10", "layout": "left-symmetric"}, {"on": 4}, "layout"),
    ("md-layout", {"level": "raid10", "layout": "near1"}, {"on": 4}, "layout"),
    ("md-layout", {"level": "raid10", "layout": "far5"}, {"on": 4}, "layout"),
    ("md-journal", {"level": "raid1", "journal": "@j"}, {"on": 2, "journal": 1}, "journal"),
    ("md-journal", {"level": "raid10", "journal": "@j"}, {"on": 4, "journal": 1}, "journal"),
    ("md-journal", {"level": "raid0", "journal": "@j"}, {"on": 4, "journal": 1}, "journal"),
    ("md-journal", {"level": "raid5", "journal": "@j"}, {"on": 4, "journal": 2}, "journal"),
    ("md-journal", {"level": "raid5", "journal": "@j"}, {"on": 204, "journal": 1}, "on"),
    ("md-journal", {"level": "raid5", "consistency": "journal"}, {"on": 4}, "consistency"),
    ("md-consistency", {"level": "raid5", "journal": "@j", "consistency": "ppl"}, {"on": 4, "journal": 1}, "consistency"),
    ("md-consistency", {"level": "raid0", "consistency": "resync"}, {"on": 2}, "consistency"),
    ("md-ppl", {"level": "raid6", "consistency": "ppl"}, {"on": 4}, "consistency"),
    ("md-ppl", {"level": "raid4", "consistency": "ppl"}, {"on": 4}, "consistency"),
    ("md-ppl", {"level": "raid5", "consistency": "ppl"}, {"on": 65}, "on"),
    ("md-bitmap", {"level": "raid0", "bitmap": "internal"}, {"on": 2}, "bitmap"),
    ("md-bitmap", {"level": "raid5", "journal": "@j", "bitmap": "internal"}, {"on": 4, "journal": 1}, "bitmap"),
    ("md-bitmap", {"level": "raid5", "consistency": "ppl", "bitmap": "internal"}, {"on": 4}, "bitmap"),
    ("md-bitmap", {"level": "raid5", "consistency": "resync", "bitmap": "internal"}, {"on": 4}, "bitmap"),
    ("md-bitmap", {"level": "raid5", "consistency": "bitmap", "bitmap": "none"}, {"on": 4}, "bitmap"),
    ("md-bitmap", {"level": "raid5", "bitmap_chunk": "64MiB"}, {"on": 4}, "bitmap_chunk"),
    ("md-bitmap", {"level": "raid5", "bitmap": "internal", "bitmap_chunk": "3MiB"}, {"on": 4}, "bitmap_chunk"),
]


@pytest.mark.parametrize(("code", "options", "counts", "where"), REFUSED)
def test_what_linux_refuses_is_refused_at_reading(
    code: str, options: dict[str, Any], counts: dict[str, int], where: str
) -> None:
    problems = LAYER.check(spec_of(**options), counts, "$.layouts.x.md")
    found = [p for p in problems if p.code == code and p.place == f"$.layouts.x.md.{where}"]
    assert found, problems
    assert all(p.remedy and p.exit == 2 and p.code in REFUSALS for p in problems)


ALLOWED: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({"level": "raid0"}, {"on": 2}),
    ({"level": "raid1"}, {"on": 2}),
    ({"level": "raid1", "bitmap": "internal", "spares": "@s"}, {"on": 2, "spares": 2}),
    ({"level": "raid4", "journal": "@j"}, {"on": 3, "journal": 1}),
    ({"level": "raid5", "consistency": "ppl"}, {"on": 4}),
    ({"level": "raid5", "consistency": "bitmap", "layout": "parity-first", "chunk": "4KiB"}, {"on": 2}),
    ({"level": "raid5", "journal": "@j", "consistency": "journal", "bitmap": "none"}, {"on": 3, "journal": 1}),
    ({"level": "raid6", "layout": "right-asymmetric", "metadata": "1.0"}, {"on": 4}),
    ({"level": "raid10", "layout": "offset3", "bitmap": "internal", "bitmap_chunk": "128MiB"}, {"on": 5}),
    ({"level": "raid10"}, {"on": 3}),
    ({"level": "raid0", "chunk": "192KiB"}, {"on": 2}),
]


@pytest.mark.parametrize(("options", "counts"), ALLOWED)
def test_what_linux_builds_is_planned(options: dict[str, Any], counts: dict[str, int]) -> None:
    spec = spec_of(**options)
    assert LAYER.check(spec, counts, "$") == []
    assert plan(spec, counts).build[0].action == "md.create"


@st.composite
def specs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, int]]:
    """Any options that the schema lets through, and any number of devices."""
    maybe = {
        "chunk": st.sampled_from(["4KiB", "48KiB", "64KiB", "512KiB", "1MiB", "3KiB", "4GiB"]),
        "layout": st.sampled_from(["near2", "far2", "offset2", "far3", "near1", "left-symmetric", "parity-last", "near40"]),
        "bitmap": st.sampled_from(["none", "internal"]),
        "bitmap_chunk": st.sampled_from(["4KiB", "64MiB", "5MiB"]),
        "consistency": st.sampled_from(["resync", "bitmap", "journal", "ppl"]),
        "metadata": st.sampled_from(["1.0", "1.1", "1.2"]),
        "journal": st.just("@journal"),
        "spares": st.just("@spares"),
    }
    options: dict[str, Any] = {"level": draw(st.sampled_from(["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]))}
    for name, values in maybe.items():
        if draw(st.booleans()):
            options[name] = draw(values)
    counts = {"on": draw(st.integers(1, 12))}
    counts |= {name: draw(st.integers(1, 3)) for name in ("journal", "spares") if name in options}
    return options, counts


@given(
    specs(),
    st.lists(st.integers(1 << 16, 1 << 45), min_size=1, max_size=18),
    st.sampled_from(["wait", "skip-if-zeroed"]),
)
def test_any_array_is_either_refused_with_reasons_or_planned_whole(
    drawn: tuple[dict[str, Any], dict[str, int]], sizes: list[int], initial_sync: Any
) -> None:
    options, counts = drawn
    spec = spec_of(**options)
    problems = LAYER.check(spec, counts, "$.x")
    if problems:
        assert all(p.code in REFUSALS and p.remedy and p.place.startswith("$.x.") for p in problems)
        return
    parts = {name: disks(name, [sizes[i % len(sizes)] & ~511 for i in range(count)]) for name, count in counts.items()}
    try:
        planned = LAYER.plan(spec, parts, Names("t"), Policy(initial_sync=initial_sync))
    except ProblemError as error:
        if {p.code for p in error.problems} <= {"md-too-small", "md-bitmap"}:
            return
        raise
    whole = sum(part.size_bytes for part in parts["on"])
    assert 0 < planned.offers[0].size_bytes <= whole
    shape = LAYER.shape(spec, parts)
    assert shape.size_bytes == planned.offers[0].size_bytes == planned.targets[0].size_bytes
    assert 0 <= shape.may_fail < counts["on"]
    assert shape.write_penalty >= 1
    for draft in (*planned.build, *planned.teardown):
        for argv in (*draft.commands, *draft.undo):
            assert not {"--force", "-f", "-ff"} & set(argv)
            assert all(isinstance(word, str) and word and " " not in word for word in argv)
        assert draft.action in LAYER.actions
    (create,) = planned.build[0].commands
    consistency = [create[i + 1] for i, word in enumerate(create) if word == "--consistency-policy"]
    bitmaps = [word for word in create if word.startswith("--bitmap=")]
    assert len(bitmaps) == 1, "the bitmap is always said"
    assert (consistency == []) == (options["level"] == "raid0")
    assert (bitmaps == ["--bitmap=internal"]) == (consistency == ["bitmap"]), "policy and bitmap never contradict"
    assert ("--assume-clean" in create) == planned.needs_zero
    assert ("md.sync" in [draft.action for draft in planned.build]) == (
        options["level"] != "raid0" and not planned.needs_zero
    )
