"""A plan of an array says what will run, word for word, and how large the array will be, to the byte."""

from __future__ import annotations

from typing import Any

import pytest
from md_cases import GIB, disks, plan, spec_of

from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Part
from raidtui.stack.md import LAYER
from raidtui.stack.md.size import array_bytes, bitmap_chunk_minimum, data_offset_sectors

CREATED = Names("abcd1234").new("md")
UUID = CREATED.uuid.replace("-", "")
MD_UUID = ":".join(UUID[i : i + 8] for i in range(0, 32, 8))
TAIL = ("--homehost", "any", "--uuid", MD_UUID)


def create_of(counts: dict[str, int], policy: Policy | None = None, **options: Any) -> tuple[str, ...]:
    (argv,) = plan(spec_of(**options), counts, policy=policy).build[0].commands
    return argv


def test_a_raid5_with_journal_and_spare_is_created_by_this_command() -> None:
    assert create_of(
        {"on": 3, "journal": 1, "spares": 1}, level="raid5", chunk="64KiB", journal="@j", spares="@s"
    ) == (
        "mdadm", "--create", f"/dev/md/{CREATED.name}", "--run", "--level=raid5", "--raid-devices=3",
        "--spare-devices=1", "--metadata=1.2", "--bitmap=none", "--chunk=64",
        "/dev/on0", "/dev/on1", "/dev/on2", "/dev/spares0",
        "--layout", "left-symmetric", "--consistency-policy", "journal", *TAIL, "--write-journal", "/dev/journal0",
    )  # fmt: skip


def test_a_raid0_has_neither_policy_nor_layout() -> None:
    assert create_of({"on": 2}, level="raid0") == (
        "mdadm", "--create", f"/dev/md/{CREATED.name}", "--run", "--level=raid0", "--raid-devices=2", "--metadata=1.2",
        "--bitmap=none", "--chunk=512", "/dev/on0", "/dev/on1", *TAIL,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "counts", "words"),
    [
        ({"level": "raid10", "layout": "far2"}, {"on": 4}, ("--layout", "f2")),
        ({"level": "raid10"}, {"on": 4}, ("--layout", "n2")),
        ({"level": "raid10", "layout": "offset3"}, {"on": 4}, ("--layout", "o3")),
        ({"level": "raid5", "consistency": "ppl"}, {"on": 4}, ("--consistency-policy", "ppl")),
        ({"level": "raid1", "bitmap": "internal"}, {"on": 2}, ("--consistency-policy", "bitmap")),
        ({"level": "raid1", "bitmap": "internal", "bitmap_chunk": "128MiB"}, {"on": 2}, ("--bitmap-chunk", "131072K")),
        ({"level": "raid6", "metadata": "1.0"}, {"on": 4}, ("--metadata=1.0",)),
    ],
)
def test_options_become_these_words(options: dict[str, Any], counts: dict[str, int], words: tuple[str, ...]) -> None:
    argv = create_of(counts, **options)
    assert any(argv[i : i + len(words)] == words for i in range(len(argv))), argv


def test_the_initial_sync_is_left_out_only_over_disks_that_can_be_proven_zero() -> None:
    skip = Policy(initial_sync="skip-if-zeroed")
    spec = spec_of(level="raid1")
    planned = plan(spec, {"on": 2}, policy=skip)
    assert planned.needs_zero
    assert "--assume-clean" in planned.build[0].commands[0]
    assert [draft.action for draft in planned.build] == ["md.create", "md.verify"]
    below = tuple(Part(f"md:rt{i}", f"/dev/md/rt{i}", 8 * GIB, 512, (f"a{i}", f"b{i}")) for i in range(2))
    stacked = LAYER.plan(spec, {"on": below}, Names("t"), skip)
    assert not stacked.needs_zero
    assert [draft.action for draft in stacked.build] == ["md.create", "md.sync", "md.verify"]
    assert stacked.build[1].title == "Wait for the initial sync, which is not skipped: only whole disks are proven zero"
    assert LAYER.plan(spec, {"on": below}, Names("t"), Policy()).build[1].title == "Wait for the initial sync"
    assert stacked.build[0].args.disks == ("a0", "b0", "a1", "b1")
    assert not plan(spec_of(level="raid0"), {"on": 2}, policy=skip).needs_zero


def test_every_step_knows_the_uuid_before_there_is_an_array() -> None:
    planned = plan(spec_of(level="raid5"), {"on": 3})
    assert planned.build[0].creates == CREATED
    for draft in (*planned.build, *planned.teardown):
        assert draft.args.uuid == CREATED.uuid
    assert LAYER.actions["md.create"].leaves(planned.build[0].args) == (("linux_raid_member", CREATED.uuid),)
    assert planned.teardown[0].commands == planned.build[0].undo
    assert planned.teardown[0].commands[0] == ("mdadm", "--stop", f"/dev/md/{CREATED.name}")
    assert planned.teardown[0].commands[1:] == tuple(("mdadm", "--zero-superblock", f"/dev/on{i}") for i in range(3))


@pytest.mark.parametrize(
    ("options", "counts", "may_fail", "penalty", "stripe"),
    [
        ({"level": "raid0"}, {"on": 4}, 0, 1, 4 * 512 << 10),
        ({"level": "raid1"}, {"on": 3}, 2, 3, None),
        ({"level": "raid5", "chunk": "64KiB"}, {"on": 4}, 1, 2, 3 * 64 << 10),
        ({"level": "raid5", "consistency": "ppl"}, {"on": 4}, 1, 3, 3 * 512 << 10),
        ({"level": "raid5", "journal": "@j"}, {"on": 4, "journal": 1}, 1, 4, 3 * 512 << 10),
        ({"level": "raid6"}, {"on": 6}, 2, 3, 4 * 512 << 10),
        ({"level": "raid10"}, {"on": 4}, 1, 2, 2 * 512 << 10),
        ({"level": "raid10", "layout": "near3"}, {"on": 4}, 2, 3, 4 * 512 << 10),
        ({"level": "raid10", "layout": "far2"}, {"on": 4}, 1, 2, 4 * 512 << 10),
    ],
)
def test_shape(options: dict[str, Any], counts: dict[str, int], may_fail: int, penalty: float, stripe: int | None) -> None:
    spec = spec_of(**options)
    parts = {name: disks(name, [8 * GIB] * count) for name, count in counts.items()}
    shape = LAYER.shape(spec, parts)
    assert (shape.may_fail, shape.write_penalty) == (may_fail, penalty)
    (offers,) = plan(spec, counts).offers
    assert offers.stripe_bytes == stripe
    assert offers.discard == (options["level"] in ("raid0", "raid1", "raid10"))


def test_a_member_too_small_for_its_superblock_is_refused() -> None:
    with pytest.raises(ProblemError) as caught:
        plan(spec_of(level="raid1"), {"on": 2}, size_bytes=1 << 20)
    assert caught.value.problems[0].code == "md-too-small"


def test_a_bitmap_chunk_too_fine_for_the_disks_is_refused() -> None:
    with pytest.raises(ProblemError) as caught:
        plan(spec_of(level="raid1", bitmap="internal", bitmap_chunk="4KiB"), {"on": 2}, size_bytes=8 << 40)
    assert caught.value.problems[0].code == "md-bitmap"
    assert bitmap_chunk_minimum(1 << 20) < bitmap_chunk_minimum(1 << 34)


def test_a_raid0_may_have_a_chunk_that_is_no_power_of_two() -> None:
    spec, chunk = spec_of(level="raid0", chunk="192KiB"), 384
    found = array_bytes(spec, [8 * GIB, 5 * GIB], [], None)
    offset = data_offset_sectors(spec, 8 * GIB)
    rooms = [(each >> 9) - offset for each in (8 * GIB, 5 * GIB)]
    assert found == 512 * sum(room // chunk * chunk & ~(chunk - 1) for room in rooms), "as raid0_size in raid0.c"
    shape = LAYER.shape(spec, {"on": disks("on", [8 * GIB] * 3)})
    assert (shape.chunk_bytes, shape.stripe_bytes) == (192 << 10, 576 << 10)
