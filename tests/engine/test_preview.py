"""A scenario while it is composed: figures without touching anything, and one wrong layout that spoils no other."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_planning import GIB, SCENARIO, disk

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.preview import preview
from raidtui.engine.compose.reading import read_document
from raidtui.engine.compose.settings import layer_settings, workload_settings
from raidtui.model.convert import encode
from raidtui.model.describe import LayerView, LayoutView, Preview, PreviewRequest, RoleView, Setting, WorkloadView
from raidtui.model.disk import Disk, Link, Reason
from raidtui.model.plan import Options
from raidtui.model.problem import ProblemError

LINK = Link(16.0, 4, 16.0, 4)
DISKS = [disk(n, link=LINK) for n in range(1, 5)]
BOUND = {"data": ("S1", "S2", "S3")}
FIO: dict[str, Any] = {"rw": "randread", "bs": "4KiB", "runtime": "60s"}


def see(
    disks: list[Disk] = DISKS,
    bind: dict[str, tuple[str, ...]] = BOUND,
    options: Options = Options(),  # noqa: B008
    **changes: Any,
) -> Preview:
    return preview(PreviewRequest(json.dumps({**SCENARIO, **changes}), bind, options), disks)


def layout(found: Preview, name: str) -> LayoutView:
    return next(view for view in found.layouts if view.name == name)


def workload(found: Preview, name: str) -> WorkloadView:
    return next(view for view in found.workloads if view.name == name)


def one(raw: Any, disks: list[Disk] = DISKS, **changes: Any) -> LayoutView:
    return layout(see(disks, layouts={"it": raw}, **changes), "it")


def setting(found: tuple[Setting, ...], field: str) -> Setting:
    return next(entry for entry in found if entry.field == field)


def test_members_on_one_disk_are_warned_of_in_preview_and_plan() -> None:
    half = {"partition": {"on": "@data", "use": "50%"}}
    raw: dict[str, Any] = {"md": {"level": "raid1", "on": [half, half]}}
    text = (
        "Members of the md are partitions of the same disk (disks of @data): "
        "they share its speed, and all of them fail with it."
    )
    assert text in one(raw).warnings
    assert not [warning for warning in one({"md": {"level": "raid1", "on": half}}).warnings if "same disk" in warning]
    scenario = read_document(json.dumps({**SCENARIO, "layouts": {"it": raw}})).scenario
    binding = bind(used_roles(scenario, Options()), BOUND, DISKS)
    assert text in make_plan(scenario, binding, Options(), token="preview0", boot_id="b").warnings


def test_a_whole_scenario_comes_to_what_its_plan_comes_to() -> None:
    found = see()
    scenario = read_document(json.dumps(SCENARIO)).scenario
    binding = bind(used_roles(scenario, Options()), BOUND, DISKS)
    plan = make_plan(scenario, binding, Options(), token="preview0", boot_id="b")
    assert found.problems == ()
    assert (found.seconds, found.writes_bytes, found.erases) == (plan.seconds, plan.writes_bytes, plan.erases)
    assert found.cells == len(plan.cells)
    (create,) = layout(found, "raid5").build
    assert next(argv for step in plan.steps if step.block == "raid5#1" for argv in step.commands) == create
    measured = {cell.workload: step.commands[0] for step in plan.steps if step.action == "measure"
                for cell in plan.cells if cell.id == step.cell}  # fmt: skip
    assert workload(found, "w").command[:5] == measured["w"][:5]


def test_a_plan_is_refused_with_everything_that_a_preview_shows() -> None:
    wrong = {
        "inner": {"filesystem": {"type": "xfs", "on": {"md": {"level": "raid9", "on": "@data"}}}},
        "both": {"filesystem": {"type": "zfs", "on": {"md": {"level": "raid6", "on": ["@nobody", "@data"]}}}},
        "kind": {"md": {"level": "raid5", "on": {"raid": {}}}},
        "few": {"md": {"level": "raid6", "on": "@data"}},
        "fine": SCENARIO["layouts"]["raid5"],
    }
    with pytest.raises(ProblemError) as refused:
        read_document(json.dumps({**SCENARIO, "layouts": wrong}))
    found = see(layouts=wrong)
    assert set(found.problems) == set(refused.value.problems)
    places = {problem.place.split(".")[2] for problem in found.problems}
    assert places == {"inner", "both", "kind", "few"}
    assert len([problem for problem in found.problems if problem.place.startswith("$.layouts.both")]) == 2
    assert layout(found, "fine").problems == ()
    assert layout(found, "fine").size_bytes is not None


def test_the_stack_is_drawn_from_disks_to_target() -> None:
    stack = layout(see(), "with-journal").stack
    assert stack is not None
    assert (stack.kind, stack.words) == ("md", "raid5 of 3, chunk 64KiB, consistency journal")
    assert stack.inputs["journal"] == (RoleView("journal", 1, ("S4",), 8 * GIB),)
    assert stack.stripe_bytes == 128 << 10


def test_without_disks_there_are_only_the_figures_that_need_none() -> None:
    found = see([], {})
    assert {problem.code for problem in found.problems} == {"too-few-disks"}
    view = layout(found, "raid5")
    assert (view.problems, view.size_bytes, view.raw_bytes, view.ceiling) == ((), None, None, None)
    assert (view.build, view.erases, found.seconds, found.erases) == ((), (), None, ())
    assert (view.may_fail, view.write_penalty, view.stripe_bytes) == (1, 2.0, 128 << 10)
    assert view.stack is not None
    assert (view.stack.words, view.stack.size_bytes) == ("raid5 of 3, chunk 64KiB", None)
    assert workload(found, "w").command


def test_what_only_the_size_of_disks_could_forbid_is_no_problem_before_they_are_chosen() -> None:
    bitmap = {"md": {"level": "raid5", "on": "@data", "bitmap": "internal", "bitmap_chunk": "4KiB"}}
    assert layout(see([], {}, layouts={"it": bitmap}), "it").problems == ()
    (problem,) = one(bitmap).problems
    assert problem.place == "$.layouts.it.md.bitmap_chunk"


def test_a_disk_that_was_chosen_and_is_not_free_still_has_figures() -> None:
    busy = [disk(1, link=LINK, reasons=(Reason("mounted", "mounted on /srv"),)), *DISKS[1:]]
    found = see(busy)
    assert "not-free.mounted" in {problem.code for problem in found.problems}
    assert layout(found, "raid5").size_bytes
    assert found.seconds is None


def test_a_role_is_bound_by_itself_where_one_choice_fits() -> None:
    stack = layout(see(), "with-journal").stack
    assert stack is not None
    (role,) = stack.inputs["journal"]
    assert isinstance(role, RoleView)
    assert role.disks == ("S4",)


@pytest.mark.parametrize(
    "wrong",
    [
        None, 7, [], {}, {"md": 7}, {"md": {}}, {"nothing": {}}, {"md": {"level": "raid5"}}, {"md": {"on": "@data"}},
        {"md": {"level": "raid5", "on": "@nobody"}}, {"md": {"level": "raid6", "on": "@data"}},
        {"md": {"level": "raid5", "on": {"disk": {"on": "@data"}}}}, {"md": {"level": "raid5", "on": [[]]}},
        {"md": {"level": "raid1", "on": "@data", "chunk": "64KiB"}}, {"md": {"level": "raid5", "on": ["@data", "@data"]}},
    ],
)  # fmt: skip
def test_one_wrong_layout_spoils_no_other(wrong: Any) -> None:
    found = see(layouts={"wrong": wrong, "wrong.er": SCENARIO["layouts"]["raid5"], "raid5": SCENARIO["layouts"]["raid5"]})
    assert layout(found, "wrong").problems
    assert all(problem.place.startswith("$.layouts.wrong") for problem in layout(found, "wrong").problems)
    for name in ("wrong.er", "raid5"):
        assert layout(found, name).problems == ()
        assert layout(found, name).size_bytes
    assert set(layout(found, "wrong").problems) <= set(found.problems)
    assert found.seconds is None


@pytest.mark.parametrize("name", ["RAID5", "größe", "a/b", "", "x" * 64])
def test_a_layout_whose_name_is_refused_says_so_itself(name: str) -> None:
    found = see(layouts={name: SCENARIO["layouts"]["raid5"]})
    (problem,) = layout(found, name).problems
    assert problem.place == f"$.layouts.{name}"
    assert problem in found.problems


def test_what_is_wrong_above_leaves_what_is_below_in_the_drawing() -> None:
    view = one({"md": {"level": "raid9", "on": {"md": {"level": "raid5", "on": "@data"}}}})
    assert view.stack is not None
    (below,) = view.stack.inputs["on"]
    assert isinstance(below, LayerView)
    assert below.size_bytes
    assert view.stack.problems[0].place == "$.layouts.it.md.level"
    assert below.problems == ()


def test_layers_of_layers_multiply_what_may_fail_and_what_is_written() -> None:
    mirror = {"md": {"level": "raid1", "on": "@data"}}
    roles = {"data": {"count": 2}, "more": {"count": 2}}
    other = {"md": {"level": "raid1", "on": "@more"}}
    found = see(roles=roles, bind={"data": ("S1", "S2"), "more": ("S3", "S4")},
                layouts={"it": {"md": {"level": "raid5", "on": [mirror, other]}}})  # fmt: skip
    view = layout(found, "it")
    assert view.may_fail == 3
    assert view.write_penalty == 4.0
    assert "in each md below: all of the 2 members but one" in view.may_fail_words
    assert len(view.build) == 3
    assert view.raw_bytes == 32 * GIB


def test_which_disks_may_fail_is_said_in_words() -> None:
    found = see()
    assert layout(found, "with-journal").may_fail == 1
    assert layout(found, "with-journal").may_fail_words == (
        "any 1 of the 3 members; the journal: the array becomes read-only, no data is lost"
    )
    assert layout(found, "each").may_fail == 0


def test_what_may_fail_of_a_cluster_is_told_by_its_pool_in_failure_domains() -> None:
    view = one({"rbd": {"size": "1GiB", "images": 2, "replicated": {"size": 3, "min_size": 2}}})
    assert (view.may_fail, view.fails) == (2, "failure domain")
    assert view.may_fail_words == "any 2 of the hosts that keep an object's 3 copies; writes wait after more than 1"
    pieces = {"size": "1GiB", "images": 2, "through": "nbd", "erasure": {"k": 4, "m": 2}, "failure_domain": "osd"}
    assert one({"vitastor": pieces}).may_fail_words == "any 2 of the osds that keep an object's 6 pieces (4+2)"
    # Both members of the mirror are in one pool, and are lost with it.
    above = one({"md": {"level": "raid1", "on": {"vitastor": pieces}}})
    assert (above.may_fail, above.fails) == (2, "failure domain")
    existing: dict[str, Any] = {"rbd": {"size": "1GiB", "pool": "bench"}}
    assert [one(raw).may_fail for raw in (existing, {"filesystem": {"type": "xfs", "on": existing}})] == [None, None]
    alone = one({"vitastor": {"size": "1GiB", "replicated": {"size": 1}}})
    assert (alone.may_fail, alone.fails, alone.may_fail_words) == (0, "failure domain", "no host: there is one copy")


def test_a_workload_is_shown_on_the_first_layout_whatever_kinds_of_targets_there_are() -> None:
    image: dict[str, Any] = {"vitastor": {"size": "1GiB"}}  # the smallest target
    plain: dict[str, Any] = {"md": {"level": "raid0", "on": "@data"}}
    device, opened = (workload(see(layouts=layouts), "w").command for layouts in (
        {"a": plain, "b": image}, {"a": image, "b": plain},
    ))  # fmt: skip
    assert any(word.startswith("--filename=/dev/md") for word in device)
    assert any(word.startswith("--image=rt") for word in opened)


def test_the_ceiling_is_that_of_the_links_less_what_is_no_data() -> None:
    lane = 16e9 * 128 / 130 / 8
    found = layout(see(), "raid5").ceiling
    assert found is not None
    assert found.read_bytes_per_s == pytest.approx(3 * 4 * lane)
    assert found.write_bytes_per_s == pytest.approx(2 * 4 * lane, rel=0.01)
    each = layout(see(), "each").ceiling
    assert each is not None
    assert each.read_bytes_per_s == pytest.approx(4 * lane)


def test_without_link_figures_there_is_no_ceiling() -> None:
    assert layout(see([disk(n) for n in range(1, 5)]), "raid5").ceiling is None


def test_old_links_are_encoded_with_ten_bits_a_byte() -> None:
    old = [disk(n, link=Link(5.0, 4, 5.0, 4)) for n in range(1, 5)]
    found = layout(see(old), "each").ceiling
    assert found is not None
    assert found.read_bytes_per_s == 4 * 5e9 / 10


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "other"}, "are of different models"),
        ({"size_bytes": 9 * GIB}, "differ in size"),
        ({"transport": "sata", "rotational": True}, "rotating ones and flash"),
        ({"link": Link(8.0, 4, 16.0, 4)}, "below its maximum"),
        ({"logical_sector_bytes": 4096}, "differ in their logical sectors"),
    ],
)
def test_disks_that_do_not_go_together_are_a_warning(changes: dict[str, Any], words: str) -> None:
    found = see([disk(1, **{"link": LINK, **changes}), *DISKS[1:]])
    assert any(words in warning for warning in layout(found, "raid5").warnings)
    assert all(warning.endswith(".") for view in found.layouts for warning in view.warnings)


def test_roles_that_do_not_go_together_in_one_layer_are_a_warning() -> None:
    disks = [*DISKS[:2], disk(3, transport="sata", rotational=True), disk(4, transport="sata", rotational=True)]
    found = see(disks, {"a": ("S1", "S2"), "b": ("S3", "S4")}, roles={"a": {"count": 2}, "b": {"count": 2}},
                layouts={"it": {"md": {"level": "raid5", "on": ["@a", "@b"]}}})  # fmt: skip
    assert (
        "The disks of roles a and b are rotating ones and flash: the rotating ones set the pace."
        in layout(found, "it").warnings
    )


def test_a_journal_slower_than_its_members_is_a_warning() -> None:
    slow = [*DISKS[:3], disk(4, link=Link(8.0, 1, 8.0, 1))]
    assert any("at the pace of the journal" in warning for warning in layout(see(slow), "with-journal").warnings)
    disks = [*DISKS[:3], disk(4, transport="sata", rotational=True)]
    assert any("slower kind of disk" in warning for warning in layout(see(disks), "with-journal").warnings)


def test_writes_that_fill_no_stripe_are_a_warning_on_both_sides() -> None:
    small = {"small": {"fio": {"rw": "randwrite", "bs": "4KiB", "runtime": "60s"}}, "w": SCENARIO["workloads"]["w"]}
    found = see(workloads=small)
    (warning,) = layout(found, "raid5").warnings
    assert warning.startswith("Workload small: writes do not fill the stripe of 128 KiB")
    assert any(text.startswith("On raid5") for text in workload(found, "small").warnings)
    assert workload(found, "w").warnings == ()
    assert layout(found, "each").warnings == ()


@pytest.mark.parametrize(
    ("filesystem", "warning"),
    [
        ({"type": "ext4", "journal_mode": "journal"}, "direct I/O goes through the page cache"),
        ({"type": "btrfs"}, "direct I/O in less than 4.0 KiB goes through the page cache"),
        ({"type": "xfs"}, ""),
    ],
)
def test_direct_io_that_a_filesystem_does_not_do_is_a_warning(filesystem: dict[str, Any], warning: str) -> None:
    small = {"small": {"fio": {"rw": "randread", "bs": "512B", "size": "64MiB", "runtime": "60s"}}}
    found = see(layouts={"it": {"filesystem": {**filesystem, "on": "@journal"}}}, workloads=small)
    said = [text for text in layout(found, "it").warnings if "page cache" in text]
    assert [text.startswith(f"Workload small: {warning}") for text in said] == ([True] if warning else [])


def test_blocks_that_are_no_whole_sectors_are_a_warning() -> None:
    disks = [disk(n, logical_sector_bytes=4096) for n in range(1, 5)]
    found = see(disks, workloads={"odd": {"fio": {"rw": "randread", "bs": "512B", "runtime": "60s"}}})
    assert any("not whole logical sectors of 4.0 KiB" in warning for warning in layout(found, "each").warnings)


def test_a_workload_that_does_not_fit_its_target_is_a_problem_of_the_workload() -> None:
    found = see(workloads={"big": {"fio": {**FIO, "size": "1TB"}}})
    (problem,) = set(workload(found, "big").problems)
    assert problem.place == "$.workloads.big.fio.size"
    assert found.seconds is None


def test_an_unfinished_workload_has_settings_and_spoils_no_other() -> None:
    found = see(workloads={"new": {"fio": {"rw": "read"}}, "r": SCENARIO["workloads"]["r"]})
    assert workload(found, "new").problems[0].place.startswith("$.workloads.new")
    assert setting(workload(found, "new").settings, "fsync").refused
    assert workload(found, "r").command


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"schema": "raidtui.scenario/1"}', '{"layouts": 7, "extra": 1}'])
def test_what_is_no_scenario_yet_is_a_problem_and_nothing_worse(text: str) -> None:
    assert preview(PreviewRequest(text), DISKS).problems


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5)
    | st.sampled_from(["@data", "raid5", "4KiB", "60s"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["md", "disk", "fio", "on", "level", "journal", "chunk", "rw", "bs", "x"]), inner,
                      max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values, json_values)
def test_no_half_typed_document_breaks_it(one: Any, other: Any) -> None:
    found = see(layouts={"a": one, "raid5": SCENARIO["layouts"]["raid5"]}, workloads={"w": other})
    assert layout(found, "raid5").size_bytes
    assert msgspec.json.decode(encode(found), type=Preview) == found


def test_only_the_chosen_layouts_are_looked_at() -> None:
    found = see(options=Options(layouts=("raid5",), workloads=("w",)), bind={})
    assert [view.name for view in found.layouts] == ["raid5"]
    assert [view.name for view in found.workloads] == ["w"]


# Settings


def test_what_is_left_out_says_what_it_comes_to_and_why() -> None:
    found = layer_settings("md", {"level": "raid5", "on": "@data"}, {"on": 3})
    assert setting(found, "chunk") == Setting("chunk", None, "512KiB", "mdadm's default")
    assert setting(found, "layout").value == "left-symmetric"
    assert setting(found, "consistency").value == "resync"
    journaled = layer_settings("md", {"level": "raid5", "on": "@data", "journal": "@j"}, {"on": 3, "journal": 1})
    assert setting(journaled, "consistency").value == "journal"
    assert setting(journaled, "journal").given == "@j"


def test_what_linux_would_refuse_together_is_refused_with_the_reason() -> None:
    mirror = layer_settings("md", {"level": "raid1", "on": "@data"}, {"on": 2})
    assert setting(mirror, "chunk").refused == "raid1 does not stripe and has no chunk"
    assert setting(mirror, "journal").refused == "raid1 has no write journal"
    assert "raid6" in setting(mirror, "level").refused_choices
    assert "raid0" not in setting(mirror, "level").refused_choices
    assert setting(mirror, "spares").refused == ""
    logged = layer_settings("md", {"level": "raid5", "on": "@data", "consistency": "ppl"}, {"on": 3})
    assert setting(logged, "bitmap").refused_choices.keys() == {"internal"}


def test_workload_options_exclude_each_other_in_the_same_way() -> None:
    reading = workload_settings("fio", FIO)
    assert setting(reading, "fsync").refused == "randread only reads: fsync has no effect"
    assert setting(reading, "sync").refused
    assert setting(reading, "random_distribution").refused == ""
    assert setting(workload_settings("fio", {**FIO, "ioengine": "psync"}), "iodepth").refused


def test_fields_that_need_each_other_do_not_lock_each_other_out() -> None:
    found = workload_settings("fio", {**FIO, "iodepth": 32})
    assert setting(found, "latency_target").refused == ""
    assert setting(found, "latency_window").refused == ""
    assert setting(workload_settings("fio", FIO), "direct").refused_choices == {}
    assert setting(workload_settings("fio", FIO), "latency_target").refused


def test_nothing_is_refused_for_a_choice_that_was_not_made_yet() -> None:
    assert not any(entry.refused or entry.refused_choices for entry in layer_settings("md", {}, {}))
    assert not any(entry.refused or entry.refused_choices for entry in workload_settings("fio", {"bs": 7}))


def test_a_value_that_cannot_be_read_leaves_the_other_fields_their_settings() -> None:
    found = layer_settings("md", {"level": "raid1", "on": "@data", "bitmap_chunk": 12, "spares": "@s"}, {"on": 2})
    assert setting(found, "chunk").refused
    assert setting(found, "bitmap_chunk").given == 12


def said_of(raw: Any, slow: Disk) -> list[str]:
    """What is said of a device, S4, that is slower than those behind it."""
    view = one(raw, [*DISKS[:3], slow], roles={**SCENARIO["roles"], "one": {"count": 1}, "two": {"count": 1}},
               bind={"one": ("S1",), "two": ("S2",), "journal": ("S4",)})  # fmt: skip
    assert view.problems == ()
    return [text for text in view.warnings if "waits for it" in text or "at the pace" in text]


SLOW_KIND = disk(4, transport="sata", rotational=True)
SLOW_LINK = disk(4, link=Link(8.0, 1, 8.0, 1))


@pytest.mark.parametrize(
    ("options", "writes"),
    [
        ({"mode": "writethrough"}, "every write that does not follow others for more than 4MiB"),
        ({"mode": "writeback", "sequential_cutoff": "1MiB"}, "every write that does not follow others for more than 1MiB"),
        ({"mode": "writeback", "sequential_cutoff": "0B"}, "every write that does not go past a slow cache"),
        ({"mode": "writeback", "sequential_cutoff": "0B", "congestion": "off"}, "every write"),
        ({"mode": "writearound"}, None),
        ({"mode": "none"}, None),
    ],
)
def test_what_waits_for_a_cache_of_bcache_depends_on_its_mode(options: dict[str, Any], writes: str | None) -> None:
    raw = {"bcache": {"on": "@one", "cache": "@journal", **options}}
    expected = [f"The cache is a slower kind of disk than those behind it: {writes} waits for it."] if writes else []
    assert said_of(raw, SLOW_KIND) == expected
    through = writes is not None and options.get("sequential_cutoff") == "0B"
    assert any("at the pace of the cache" in text for text in said_of(raw, SLOW_LINK)) == through


@pytest.mark.parametrize(
    ("options", "writes", "paced"),
    [
        ({"cache": {"on": "@journal", "mode": "writeback"}}, "every write to a block that it holds", False),
        ({"cache": {"on": "@journal", "mode": "writethrough"}}, "every write to a block that it holds", False),
        ({"cache": {"on": "@journal", "mode": "passthrough"}}, None, False),
        ({"writecache": {"on": "@journal"}}, "every write while it has room", True),
    ],
)
def test_what_waits_for_a_cache_of_lvm_depends_on_its_kind_and_mode(
    options: dict[str, Any], writes: str | None, paced: bool
) -> None:
    raw = {"lvm": {"on": "@one", **options}}
    name = next(iter(options))
    expected = [f"The {name} is a slower kind of disk than those behind it: {writes} waits for it."] if writes else []
    assert said_of(raw, SLOW_KIND) == expected
    assert any(f"at the pace of the {name}" in text for text in said_of(raw, SLOW_LINK)) == paced


@pytest.mark.parametrize(
    ("extra", "writes"),
    [
        ({"log": "@journal"}, "every synchronous write"),
        ({"log": "@journal", "inherited": {"sync": "always"}}, "every write"),
        ({"log": "@journal", "inherited": {"sync": "disabled"}}, None),
        ({"log": "@journal", "inherited": {"logbias": "throughput"}}, None),
        ({"cache": "@journal"}, None),
    ],
)
def test_a_log_of_zfs_takes_synchronous_writes_and_an_l2arc_none(extra: dict[str, Any], writes: str | None) -> None:
    raw = {"zpool": {"vdevs": [{"stripe": "@one"}, {"stripe": "@two"}], "volume": {"size": "50%"}, **extra}}
    expected = [f"The log is a slower kind of disk than those behind it: {writes} waits for it."] if writes else []
    assert said_of(raw, SLOW_KIND) == expected
