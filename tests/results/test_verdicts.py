"""What a comparison says beside its numbers: told apart or not, how sure, and what else differs."""

import math
import random
import re

import pytest
from test_comparing import cell, result, slim

from raidtui.model.disk import Disk
from raidtui.model.result import Built, Machine, Tuned
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import extract
from raidtui.results.formats.text import table_lines
from raidtui.results.lines import confounder_lines


def changed(one, **fields):
    import msgspec

    return msgspec.structs.replace(one, **fields)


def rounds(layout, seed, *, count=5, noise=0.015, factor=1.0, workload="w"):
    draw = random.Random(seed)
    return [cell(layout, workload, 1000 * factor * math.exp(draw.gauss(0, noise)), round=n) for n in range(1, count + 1)]


def with_layouts(one, **layouts):
    one.scenario["layouts"] = layouts
    return one


def entries(comparison, label):
    return next(row for row in comparison.rows if row.label == label).entries


def test_a_planted_difference_is_found_and_its_interval_holds_it():
    found = entries(compare(result(*rounds("a", 1), *rounds("b", 2, factor=0.9))), "b")[0]
    assert found.verdict == "different"
    assert found.share_low < 0.9 < found.share_high < 1
    assert found.rank_p < 0.05
    assert found.p < 0.05


def test_two_measurements_of_the_same_are_not_told_apart():
    comparison = compare(result(*rounds("a", 1), *rounds("b", 3)))
    found = entries(comparison, "b")[0]
    assert (found.verdict, entries(comparison, "a")[0].verdict) == ("not told apart", "")
    assert found.share_low < 1 < found.share_high
    assert any("~" in str(line) for line in table_lines(comparison, 100))


def test_in_a_campaign_of_identical_layouts_hardly_any_pair_is_called_different():
    names = [f"l{n}" for n in range(21)]
    verdicts = []
    for seed in range(20):
        cells = [one for n, name in enumerate(names) for one in rounds(name, f"{seed}/{n}", noise=0.03)]
        comparison = compare(result(*cells, order=names))
        verdicts += [row.entries[0].verdict for row in comparison.rows[1:]]
    assert len(verdicts) == 400
    assert verdicts.count("different") <= 0.05 * len(verdicts)


def test_three_rounds_are_too_few_and_that_is_said():
    comparison = compare(result(*rounds("a", 1, count=3), *rounds("b", 2, count=3, factor=0.5)))
    assert entries(comparison, "b")[0].verdict == "too few rounds"
    shown = "\n".join(map(str, table_lines(comparison, 100)))
    assert shown.count("too few rounds") == 1
    assert " 50 %" in shown
    assert "%?" not in shown


def test_different_is_marked_as_such_and_each_sign_that_is_shown_has_its_legend():
    cells = [*rounds("a", 1), *rounds("b", 2, factor=0.5), *rounds("c", 3, factor=2), *rounds("d", 4),
             *rounds("e", 5, count=2, factor=0.7), cell("f", "w", 9, reasons=["lost"])]  # fmt: skip
    comparison = compare(result(*cells, order="abcdefg"))
    lines = table_lines(comparison, 120)
    table, legend = ["\n".join(str(line) for line in lines if line.sentence is kind) for kind in (False, True)]
    for sign in ("▲", "▼", "~", "✗", "±", "["):
        assert sign in table
        assert sign in legend
    assert "a share without a sign: too few rounds" in legend
    plain = "\n".join(map(str, table_lines(compare(result(*rounds("a", 1))), 120)))
    assert not re.search("[▲▼~✗]", plain)


def test_an_invalid_round_is_no_round():
    lost = [cell("b", "w", 500, round=n, reasons=["lost"]) for n in range(6, 9)]
    comparison = compare(result(*rounds("a", 1), *rounds("b", 2, count=2, factor=0.5), *lost))
    assert entries(comparison, "b")[0].verdict == "too few rounds"


def test_many_comparisons_are_judged_together():
    alone = compare(result(*rounds("a", 1), *rounds("b", 2, factor=0.965)))
    many = [one for n in range(30) for one in rounds(f"c{n}", 100 + n)]
    together = compare(result(*rounds("a", 1), *rounds("b", 2, factor=0.965), *many, order=("a", "b")))
    assert entries(together, "b")[0].p > entries(alone, "b")[0].p
    assert entries(together, "b")[0].rank_p == entries(alone, "b")[0].rank_p


def test_the_geometric_mean_is_over_the_shares_that_there_are():
    cells = [cell("a", "w", 100), cell("a", "v", 100), cell("b", "w", 50), cell("b", "v", 200), cell("c", "w", 25)]
    comparison = compare(result(*cells, order=("a", "b", "c"), loads=("w", "v")))
    means = {row.label: (row.geometric_mean, row.shares) for row in comparison.rows}
    assert means == {"a": (None, 0), "b": (pytest.approx(1.0), 2), "c": (pytest.approx(0.25), 1)}


def test_one_layout_measured_twice_in_a_run_gives_the_noise_floor():
    same = {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}
    other = {"md": {"level": "raid6", "on": "@data", "chunk": "64KiB"}}
    drifted = [*rounds("a", 1), *rounds("again", 2, factor=1.06), *rounds("b", 3, factor=1.05)]
    comparison = compare(with_layouts(result(*drifted), a=same, again=same, b=other))
    assert comparison.same == (("a", "again"),)
    assert 0.04 < comparison.noise_floors[0] < 0.08
    assert entries(comparison, "b")[0].verdict == "not told apart"  # it differs by less than the same layout did
    assert any("or apart by no more than the noise floor" in str(line) for line in table_lines(comparison, 100))
    assert entries(comparison, "again")[0].verdict == "different"  # which is what the pair itself shows
    assert "noise floor" in "\n".join(map(str, table_lines(comparison, 100)))


def test_without_such_a_pair_there_is_no_noise_floor():
    assert compare(result(*rounds("a", 1), *rounds("b", 2))).noise_floors == (None,)


def test_layouts_on_other_disks_are_not_the_same():
    fast, slow = ({"md": {"level": "raid5", "on": role}} for role in ("@nvme", "@hdd"))
    cells = [*rounds("a", 1), *rounds("b", 2, factor=0.1), *rounds("c", 3, factor=0.5)]
    comparison = compare(with_layouts(result(*cells), a=fast, b=slow, c=md("raid6")))
    assert (comparison.same, comparison.noise_floors) == ((), (None,))
    assert [entries(comparison, name)[0].verdict for name in "bc"] == ["different", "different"]
    assert facts(comparison, "b") == []  # where it stands is part of what it is


def test_noise_under_one_workload_hides_nothing_under_another():
    same = md("raid5", chunk="64KiB")
    cells = [*rounds("a", 1), *rounds("again", 2), *rounds("b", 3, factor=0.9)]
    cells += [*rounds("a", 4, workload="v"), *rounds("again", 5, workload="v", factor=1.3),
              *rounds("b", 6, workload="v", factor=0.9)]  # fmt: skip
    comparison = compare(with_layouts(result(*cells, loads=("w", "v")), a=same, again=same, b=md("raid6", chunk="64KiB")))
    assert comparison.noise_floors[0] < 0.03 < 0.2 < comparison.noise_floors[1]
    assert [one.verdict for one in entries(comparison, "b")] == ["different", "not told apart"]


def md(level, **options):
    return {"md": {"level": level, "on": "@data", **options}}


def facts(comparison, label):
    return [one.fact for row in comparison.rows if row.label == label for one in row.confounders]


def test_a_layout_is_meant_to_differ_in_what_it_is_and_in_nothing_else():
    cells = [*rounds("a", 1), *rounds("b", 2), *rounds("c", 3), *rounds("d", 4)]
    comparison = compare(with_layouts(
        result(*cells), a=md("raid5", chunk="64KiB", bitmap="none"), b=md("raid6", chunk="64KiB", bitmap="none"),
        c=md("raid6", chunk="512KiB", bitmap="none"), d=md("raid5", chunk="512KiB", bitmap="none"),
    ))  # fmt: skip
    assert facts(comparison, "b") == []
    assert facts(comparison, "c") == ["md.chunk"]
    assert facts(comparison, "d") == []  # one option of one layout: that is what was meant
    assert [tuple(one) for one in comparison.rows[2].confounders] == [("md.chunk", "512KiB", "64KiB")]


def test_what_was_left_out_is_compared_as_the_kernel_built_it():
    built = [Built("a", 1, "built", read_back={"x": {"level": "raid5", "chunk_bytes": 65536, "uuid": "1"}}),
             Built("b", 1, "built", read_back={"y": {"level": "raid6", "chunk_bytes": 524288, "uuid": "2"}})]  # fmt: skip
    comparison = compare(
        with_layouts(result(*rounds("a", 1), *rounds("b", 2), layouts=built), a=md("raid5"), b=md("raid6"))
    )
    assert facts(comparison, "b") == ["as built: chunk_bytes"]


def test_what_was_built_otherwise_is_said_though_one_option_was_meant_to_differ():
    sides = (("a", 65536, "resync", "none"), ("b", 524288, "bitmap", "internal"))
    built = [Built(name, 1, "built", read_back={"x": {"chunk_bytes": chunk, "consistency": after, "bitmap": bitmap}})
             for name, chunk, after, bitmap in sides]  # fmt: skip
    one = result(*rounds("a", 1), *rounds("b", 2), layouts=built)
    chunks = compare(with_layouts(one, a=md("raid5", chunk="64KiB"), b=md("raid5", chunk="512KiB")))
    assert facts(chunks, "b") == ["as built: consistency", "as built: bitmap"]
    asked = compare(with_layouts(one, a=md("raid5", consistency="resync"), b=md("raid5", consistency="bitmap")))
    assert facts(asked, "b") == ["as built: chunk_bytes"]  # a bitmap follows from what was asked


def test_a_round_that_failed_does_not_hide_what_the_others_were_done_with():
    one, other = result(*rounds("a", 1)), result(cell("b", "w", 0, reasons=["lost"]), *rounds("b", 2))
    with_fio = {"fio version": "fio-3.39", "global options": {"direct": "1"}}
    one = changed(one, cells=tuple(changed(c, report=with_fio) for c in one.cells))
    buffered = {**with_fio, "global options": {"direct": "0"}}
    other = changed(other, cells=(other.cells[0], *(changed(c, report=buffered) for c in other.cells[1:])))
    assert facts(compare_many([one, other]), "b") == ["fio direct"]


def test_load_from_hosts_has_the_options_of_its_first_host():
    one, other = result(*rounds("a", 1)), result(*rounds("b", 2))
    local = {"fio version": "fio-3.39", "global options": {"direct": "1", "bs": "4k"}}
    hosts = [{"hostname": f"clients-{number}.sock", "port": 8765, "direct": "0", "bs": "4k"} for number in (1, 2)]
    one = changed(one, cells=tuple(changed(c, report=local) for c in one.cells))
    other = changed(other, cells=tuple(changed(c, report={**local, "global options": hosts}) for c in other.cells))
    assert facts(compare_many([one, other]), "b") == ["fio direct"]


def test_what_was_tuned_is_compared_as_it_was_read_back():
    tuned = [{f"S{n} queue/scheduler": Tuned("none", "bfq", found) for n in (1, 2)} for found in ("none", "mq-deadline")]
    built = [Built(name, 1, "built", tuning=of) for name, of in zip("ab", tuned, strict=True)]
    comparison = compare(
        with_layouts(result(*rounds("a", 1), *rounds("b", 2), layouts=built), a=md("raid5"), b=md("raid6"))
    )
    assert [tuple(one) for one in comparison.rows[1].confounders] == [("as built: scheduler", "mq-deadline", "none")]


def disk(scheduler):
    return Disk("S", "sda", 1, "S", "w", "M", scheduler=scheduler)


def test_servers_kernels_tools_and_schedulers_are_confounders_counted_and_listed():
    one = changed(result(*rounds("a", 1)), machine=Machine("h", "6.12", tools={"fio": "3.39"}), disks=(disk("none"),))
    other = changed(result(*rounds("b", 2)), machine=Machine("h", "6.13", tools={"fio": "3.33"}), disks=(disk("bfq"),))
    comparison = compare_many([one, other])
    assert facts(comparison, "b") == ["kernel", "tool fio", "scheduler"]
    moved = changed(one, machine=Machine("h", "6.12", "Ubuntu 24.04", numa_nodes=2, tools={"fio": "3.39"}))
    there = changed(one, machine=Machine("h", "6.12", "Debian 13", tools={"fio": "3.39"}))
    assert facts(compare_many([there, moved]), "a:2") == ["distribution", "NUMA nodes"]
    assert confounder_lines(comparison)[0].startswith("confounders: 3, ")
    assert "confounder kernel: 6.13 with b; 6.12 with a" in confounder_lines(comparison)
    assert facts(compare_many([one, other], meant=frozenset({"kernel"})), "b") == ["tool fio", "scheduler"]


def test_one_disk_more_of_the_same_is_one_confounder():
    one, other = result(*rounds("a", 1)), result(*rounds("b", 2))
    one, other = changed(one, disks=(disk("none"),) * 2), changed(other, disks=(disk("none"),) * 3)
    assert facts(compare_many([one, other]), "b") == ["disks"]
    one, other = changed(one, disks=(disk("none"), disk("bfq"))), changed(other, disks=(disk("none"),) * 2)
    assert facts(compare_many([one, other]), "b") == ["scheduler"]


def test_what_holds_of_several_results_is_said_once():
    some = [changed(result(*rounds(name, 1)), rehearsal=name != "c", run=name) for name in "abcd"]
    some[3] = changed(some[3], complete=False)
    assert compare_many(some).notes[:2] == (
        "results 1-2, 4 are rehearsals (--quick): good for trying, not for comparing",
        "result 4 is not complete: not every planned cell was measured",
    )


def test_how_the_regions_were_filled_and_what_fio_says_it_did_are_confounders():
    one, other = result(*rounds("a", 1)), result(*rounds("b", 2))
    one.scenario["policy"], other.scenario["policy"] = {"prefill": True}, {"prefill": False}
    reports = [{"fio version": "fio-3.39", "global options": {"direct": d, "buffer_compress_percentage": c, "name": d}}
               for d, c in (("1", "0"), ("0", "50"))]  # fmt: skip
    one, other = (changed(r, cells=tuple(changed(c, report=said) for c in r.cells))
                  for r, said in zip((one, other), reports, strict=True))  # fmt: skip
    assert facts(compare_many([one, other]), "b") == ["policy prefill", "fio direct", "fio buffer_compress_percentage"]


def test_what_the_policy_leaves_out_is_what_holds_then():
    from raidtui.model.scenario import Policy

    one, other = result(*rounds("a", 1)), result(*rounds("b", 2))
    one.scenario["policy"] = {}
    other.scenario["policy"] = {"prefill": True, "order": "interleaved", "cooldown": "0s", "caches": "warm"}
    assert facts(compare_many([one, other]), "b") == []
    out = Policy()
    assert (out.prefill, out.order, out.cooldown.text, out.caches) == (True, "interleaved", "0s", "warm")
    other.scenario["policy"] = {"cooldown": "60s", "order": "random", "caches": "cold", "prefill": False}
    assert facts(compare_many([one, other]), "b") == [f"policy {x}" for x in ("prefill", "order", "cooldown", "caches")]


def test_an_option_of_fio_that_one_side_leaves_out_is_a_confounder():
    one, other = result(*rounds("a", 1)), result(*rounds("b", 2))
    reports = [{"fio version": "fio-3.39", "global options": options}
               for options in ({"direct": "1"}, {"dedupe_percentage": "0"})]  # fmt: skip
    one, other = (changed(r, cells=tuple(changed(c, report=said) for c in r.cells))
                  for r, said in zip((one, other), reports, strict=True))  # fmt: skip
    assert [tuple(found) for found in compare_many([one, other]).rows[1].confounders] == [
        ("fio dedupe_percentage", "0", "not given"), ("fio direct", "not given", "1"),
    ]  # fmt: skip
    unknown = result(*rounds("c", 3))
    assert facts(compare_many([one, unknown]), "c") == []  # without a report nothing is known of its options


def test_the_same_result_twice_has_no_confounders():
    one = result(*rounds("a", 1))
    assert not any(row.confounders for row in compare_many([one, one]).rows)


def with_histogram(one, bins):
    return changed(one, report={"jobs": [{"write": {"clat_ns": {"bins": bins}}}]})


def test_percentiles_of_several_rounds_are_those_of_the_merged_histograms():
    fast = with_histogram(cell("a", "w", 100), {"1000": 990, "2000": 10})
    slow = with_histogram(cell("a", "w", 100, round=2), {"50000": 1000})
    found = entries(compare(result(fast, slow)), "a")[0].latency["write"]
    assert (found.p50_us, found.p99_us, found.p999_us) == (2.0, 50.0, 50.0)


def test_without_a_histogram_of_each_round_there_are_no_percentiles():
    found = entries(compare(result(with_histogram(cell("a", "w", 1), {"1000": 990}), cell("a", "w", 1, round=2))), "a")[0]
    assert found.latency["write"].p99_us is None


def test_a_histogram_that_is_none_is_none():
    odd = [with_histogram(cell("a", "w", 1, round=n), bins) for n, bins in enumerate(({"x": 1}, {"1": None}, [1], None), 1)]
    assert entries(compare(result(*odd)), "a")[0].latency["write"].p50_us is None


def test_numbers_alone_compare_like_whole_cells():
    one = result(*rounds("a", 1), *rounds("b", 2, factor=0.9))
    whole, numbers = compare(one), compare_many([slim(extract(one))])
    assert [e.verdict for e in entries(whole, "b")] == [e.verdict for e in entries(numbers, "b")]
    assert [e.share_low for e in entries(whole, "b")] == [e.share_low for e in entries(numbers, "b")]


def again(*cells):
    return [changed(one, again=True, id=f"{one.id}/again") for one in cells]


def test_the_second_building_is_no_round_of_the_first_but_gives_the_noise_floor():
    twice = [*rounds("a", 1), *again(*rounds("a", 2, factor=1.06)), *rounds("b", 3, factor=1.05)]
    comparison = compare(result(*twice))
    assert [row.label for row in comparison.rows] == ["a", "b"]
    of_a = entries(comparison, "a")[0]
    assert (of_a.cells, len(of_a.points), len(of_a.again)) == (5, 5, 5)
    assert of_a.median == entries(compare(result(*rounds("a", 1), *rounds("b", 3))), "a")[0].median
    assert comparison.same == (("a", "a again"),)
    assert 0.04 < comparison.noise_floors[0] < 0.08
    assert entries(comparison, "b")[0].verdict == "not told apart"  # it differs by less than the same layout did
    assert any("a and a again, which are the same" in str(line) for line in table_lines(comparison, 200))


def test_a_layout_that_is_told_apart_from_itself_is_said_to_be():
    drifted = compare(result(*rounds("a", 1), *again(*rounds("a", 2, factor=0.7)), *rounds("b", 3)))
    assert [note for note in drifted.notes if "told apart from itself" in note]
    assert not compare(result(*rounds("a", 1), *again(*rounds("a", 2)), *rounds("b", 3))).notes


def test_both_buildings_are_among_the_cells_of_every_export():
    from raidtui.results.comparison import without_cells
    from raidtui.results.formats import FORMATS
    from raidtui.results.formats.page import cells_table
    from raidtui.results.lines import tidy

    comparison = compare(result(*rounds("a", 1), *again(*rounds("a", 2)), *rounds("b", 3)))
    labels = [line["layout"] for line in tidy(comparison)]
    assert (labels.count("a"), labels.count("a again"), labels.count("b")) == (5, 5, 5)
    assert cells_table(comparison).count("a again") == 5
    assert FORMATS["xlsx"].write(comparison)
    assert not any(entry.again for row in without_cells(comparison).rows for entry in row.entries)


def test_rounds_that_share_one_build_are_said_to():
    one = result(*rounds("a", 1), *rounds("b", 2))
    one.scenario["policy"] = {"order": "grouped", "rounds": 5}
    assert any("share one build" in note for note in compare(one).notes)
    single = result(*rounds("a", 1, count=1))
    single.scenario["policy"] = {"order": "grouped"}
    assert not compare(single).notes


def test_of_layouts_measured_against_themselves_hardly_any_are_called_different():
    """A/A by drawing: 200 pairs of five rounds from one source, each pair judged alone, where nothing is corrected for."""
    verdicts = []
    for seed in range(200):
        first, second = rounds("a", f"{seed}/1", noise=0.03), rounds("same", f"{seed}/2", noise=0.03)
        verdicts.append(entries(compare(result(*first, *second)), "same")[0].verdict)
    assert verdicts.count("different") <= 0.05 * len(verdicts)
