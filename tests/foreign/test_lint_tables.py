"""Tables of raidtui's own form as others write them: less said than could be, one error or none."""

import json
import random
from collections import Counter

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError

READ = {"label": "Random read 4k QD32", "command": "fio --name=r --rw=randread --bs=4k --iodepth=32"}


def figure(layout, workload, metric, value, unit, **more):
    return {"layout": layout, "workload": workload, "metric": metric, "value": value, "unit": unit, **more}


def document(figures, *, layouts=None, workloads=None, **more):
    named = {f["layout"]: {} for f in figures} | (layouts or {})
    return {"schema": "raidtui.table/1", "name": "t", "layouts": named, "workloads": workloads or {"w": READ},
            "figures": figures, **more}  # fmt: skip


def read(value, name="t.json"):
    return read_table(Source(name, value.encode() if isinstance(value, str) else json.dumps(value).encode()))


def codes(value):
    return Counter(finding.code for finding in lint(read(value)))


def rates(layout, iops, mb_s, **more):
    return [figure(layout, "w", "iops", iops, "IOPS", **more), figure(layout, "w", "bandwidth", mb_s, "MB/s", **more)]


@pytest.mark.parametrize("asked", [
    {"label": "Random read 4k QD32"}, {"command": READ["command"]}, {"command": "fio --rw=randread"}, {"block_bytes": 4096},
])  # fmt: skip
def test_a_block_size_is_known_from_field_command_or_label(asked):
    assert codes(document(rates("a", 100000, 409.6), workloads={"w": asked})) == {}
    assert codes(document(rates("a", 100000, 509.6), workloads={"w": asked})) == {"iops-bandwidth": 1}


def test_where_label_and_command_differ_that_is_the_one_error():
    asked = {"label": "Random read 4k", "block_bytes": 4096, "command": "fio --rw=randread --bs=8k"}
    for mb_s in (409.6, 819.2):
        assert codes(document(rates("a", 100000, mb_s), workloads={"w": asked})) == {"label-command": 1}


def test_a_mix_of_block_sizes_has_none():
    for sizes in ("--bssplit=4k/50:64k/50", "--bs=4k,64k", "--bsrange=4k-64k"):
        command = f"fio --rw=randread {sizes}"
        assert codes(document(rates("a", 100000, 3000), workloads={"w": {"label": "mix", "command": command}})) == {}


def test_a_cell_that_was_measured_twice_belongs_together_one_by_one():
    assert codes(document(rates("a", 100000, 409.6) + rates("a", 106213, 435.0))) == {}
    assert codes(document(rates("a", 100000, 409.6) + rates("a", 106213, 409.6))) == {"iops-bandwidth": 1}


def test_one_wrong_rate_in_two_units_is_one_finding():
    mib = figure("a", "w", "bandwidth", 485.99, "MiB/s")
    assert codes(document([*rates("a", 100000, 509.6), mib])) == {"iops-bandwidth": 1}


def shares(*values, of=None):
    raw = [figure(n, "w", "iops", iops, "IOPS") for n, iops in (("a", 200000), ("b", 150000), ("c", 100000))]
    more = {"of": of} if of else {}
    return raw + [figure(n, "w", "share", value, "%", **more) for n, value in zip("abc", values, strict=True)]


def test_percentages_of_nothing_are_of_the_layout_that_has_100_everywhere():
    assert codes(document(shares(100, 75, 50))) == {}
    assert codes(document(shares(100, 75, 57))) == {"percent-mismatch": 1}
    assert codes(document(shares(90, 75, 57))) == {}


@pytest.mark.parametrize(("label", "command", "wrong"), [
    ("raid5 chunk 64k", "mdadm --create /dev/md0 --level=5 --chunk=512 -n 4 a b c d", "64k"),
    ("raid5 64k xfs", "mdadm --create /dev/md0 --level=5 --chunk=64 -n 4 a b c d; mkfs.ext4 /dev/md0", "xfs"),
    ("stripe 64k", "lvcreate --type striped -i4 -I 128 -L 1T vg", "64k"),
    ("raidz1 lz4", "zpool create -O compression=zstd t raidz1 a b c", "lz4"),
    ("RAID 5", "mdadm -C /dev/md0 -l6 -n4 a b c d", "raid5"),
    ("RAID 5, 8 disks", "mdadm -C /dev/md0 --level=5 --raid-devices=6 a b c d e f", "8 disks"),
    ("raid5 ppl", "mdadm -C /dev/md0 -l5 -n4 --consistency-policy=bitmap a b c d", "ppl"),
    ("zfs stripe no compression", "zpool create -O compression=lz4 t a b c", "no compress"),
    ("raidz1 sync=disabled", "zpool create t raidz1 a b c; zfs set sync=standard t", "disabled"),
    ("writeback cache", "lvconvert --type cache --cachemode writethrough --cachepool vg/c vg/d", "writeback"),
    ("zfs raid10", "zpool create t mirror a b", "raid10"),
    ("raid10", "mdadm -C /dev/md0 --level=mirror -n2 a b", "raid10"),
])  # fmt: skip
def test_a_layout_that_is_not_its_command(label, command, wrong):
    value = document([figure("a", "w", "iops", 1, "IOPS")], layouts={"a": {"label": label, "command": command}})
    (found,) = lint(read(value))
    assert (found.code, found.published) == ("label-command", wrong)


def test_a_layout_that_is_its_command():
    for label, command in (
        ("raid5 64k xfs", "mdadm --create /dev/md0 --level=5 --chunk=64 -n 4 a b c d; mkfs.xfs -f /dev/md0"),
        ("RAID-10 far2", "mdadm -C /dev/md0 -l10 -n4 -p f2 a b c d"),
        ("RAID 6 of 5 disks, one spare", "mdadm -C /dev/md0 -l 6 -n4 -x1 a b c d e"),
        ("raid5 randwrite 4k", "mdadm -C /dev/md0 -l5 -n4 --chunk=512 a b c d"),
        ("LVM stripe 4x 256k", "lvcreate -i4 -I256 -L1T vg"),
        ("stripe 64k", "lvcreate --type striped -i4 -I64 -L 1T vg"),
        ("ext4 beside xfs", "mkfs.xfs /dev/md0"),
        ("zfs raid10", "zpool create t mirror a b mirror c d"),
        ("zfs raid1", "zpool create t mirror a b"),
        ("raid1", "mdadm -C /dev/md0 --level=mirror -n2 a b"),
        ("raid0", "mdadm -C /dev/md0 --level=stripe -n2 a b"),
    ):
        value = document([figure("a", "w", "iops", 1, "IOPS")], layouts={"a": {"label": label, "command": command}})
        assert codes(value) == {}


@pytest.mark.parametrize("label", ["4k random 70/30 QD16", "randrw 70:30 4k", "4k 70r/30w", "R70/W30 4k", "4k 70% read"])
def test_halves_of_a_mix(label):
    asked = {"label": label, "command": "fio --rw=randrw --rwmixread=70 --bs=4k --iodepth=16"}
    assert codes(document([figure("a", "w", "iops", 1, "IOPS")], workloads={"w": asked})) == {}
    asked["command"] = asked["command"].replace("70", "50")
    assert codes(document([figure("a", "w", "iops", 1, "IOPS")], workloads={"w": asked})) == {"label-command": 1}


def claimed(sentence, percent, first, second, metric="iops", unit="IOPS"):
    value = document([figure("a", "w", metric, first, unit), figure("b", "w", metric, second, unit)])
    return codes(value | {"claims": [{"sentence": sentence, "within_percent": percent, "pairs": [["a", "b"]]}]})


def test_a_claim_about_latencies_is_held_against_latencies():
    assert claimed("mean latency within 10 %", 10, 101.2, 131.8, "latency", "us") == {"claim-broken": 1}
    assert claimed("mean latency within 10 %", 10, 101.2, 105.8, "latency", "us") == {}


def test_a_claim_of_one_side_is_broken_on_that_side_only():
    for sentence in ("b is at most 5 % slower than a", "b is never below 95 % of a", "b is not slower"):
        assert claimed(sentence, 5, 1000, 900) == {"claim-broken": 1}
    assert claimed("b is at most 5 % slower than a", 5, 1000, 1500) == {}
    assert claimed("b is never below 95 % of a", 5, 1000, 1500) == {}
    assert claimed("b is not slower than a", 0, 1000, 1500) == {}
    assert claimed("b costs at most 5 % more latency than a", 5, 100, 50, "latency", "us") == {}


def like(values, metric="bandwidth", unit="MB/s", names="like"):
    keys = [f"d{i}" if names == "like" else f"/dev/nvme{i}n1" for i in range(len(values))]
    said = {key: {"like": "X"} for key in keys} if names == "like" else {}
    return codes(document([figure(k, "w", metric, v, unit) for k, v in zip(keys, values, strict=True)], layouts=said))


def test_disks_that_are_unlike_the_others():
    assert like([3187.2, 3190.1, 1602.3]) == {"outlier": 1}
    assert like([3187.2, 3190.1, 2702.3]) == {}
    assert like([3187.2, 3190.1, 1602.3, 3181.0], names="row") == {"outlier": 1}
    assert like([101.2, 99.8, 318.4, 100.7, 101.9], "latency", "us") == {"outlier": 1}


def test_few_digits_say_little_of_how_far_disks_lie_apart():
    assert like([0.03, 0.03, 0.03, 0.03, 0.04, 0.03], "latency", "ms") == {}


@pytest.mark.parametrize(("change", "place", "words"), [
    ({"value": -5}, "$.figures[0].value", "less than nothing"),
    ({"value": 1e300}, "$.figures[0].value", "more than anything"),
    ({"unit": "MB"}, "$.figures[0].unit", "not counted in MB"),
    ({"workload": "x"}, "$.figures[0]", "'x'"),
    ({"value": "5"}, "$.figures[0].value", "number"),
])  # fmt: skip
def test_what_no_number_can_be_is_refused_with_file_and_place(change, place, words):
    one = figure("a", "w", "iops", 1, "IOPS")
    with pytest.raises(ProblemError) as caught:
        read(document([one | change], layouts={"a": {}}), "mine.json")
    assert caught.value.problems[0].place == f"mine.json: {place}"
    assert words in caught.value.problems[0].message


@pytest.mark.parametrize(("text", "code", "words"), [
    ("", "import-unknown", "empty"),
    ('{"schema": "raidtui.table/1", "name": ', "json", "line 1"),
    ('{"schema": "raidtui.table/2"}', "import-unknown", "'raidtui.table/2'"),
    ('{"figures": []}', "import-unknown", "no schema"),
    ("layout,workload,IOPS\na,4k read,-5\n", "table-unreadable", "less than nothing"),
    ('{"fio version": "3", "jobs": [{"job options": {"rw": "read", "bs": "9999999999g"}, "read": {"iops": 5}}]}',
     "table-unreadable", "block_bytes"),
    ('{"fio version": "3", "jobs": [{"read": {"iops": NaN}}]}', "json", "NaN is not a number"),
    ('{"sysstat": {"hosts": [{"statistics": [{"disk": [{"r/s": NaN}]}]}]}}', "json", "NaN is not a number"),
    ('{"schema": "raidtui.table/1", "name": "x", "layouts": {"": {}}}', "schema",
     "a key here has to be text of length at least 1"),
])  # fmt: skip
def test_what_is_no_table_is_refused_by_what_is_wrong_with_it(text, code, words):
    with pytest.raises(ProblemError) as caught:
        read(text, "mine.x")
    assert caught.value.problems[0].code == code
    assert "mine.x" in caught.value.problems[0].place
    assert words in caught.value.problems[0].message


@pytest.mark.parametrize(("text", "words"), [
    ("layout,4k randread\nraid10,120k\nraid5,118k\n", "t.csv:2: nothing says which unit 120k has"),
    ("hello,world\nthis,is\n", "no number"),
])  # fmt: skip
def test_a_file_that_says_by_its_name_that_it_is_a_table_is_told_what_it_lacks(text, words):
    with pytest.raises(ProblemError, match=words):
        read(text, "t.csv")


@pytest.mark.parametrize(("label", "options", "wrong"), [
    ("4k randread depth 32", "--rw=randread --iodepth=16", True),
    ("4k randread depth 32", "--rw=randread --iodepth=32", False),
    ("8k 25% writes", "--rw=randrw --rwmixwrite=25 --bs=8k", False),
    ("8k 25% writes", "--rw=randrw --rwmixwrite=52 --bs=8k", True),
    ("4k randwrite with fsync", "--rw=randwrite", True),
    ("4k randwrite with fsync", "--rw=randwrite --fdatasync=1", False),
    ("4k randwrite with fsync", "--rw=randwrite --ioengine=sync", True),
    ("4k randwrite, no fsync", "--rw=randwrite", False),
])  # fmt: skip
def test_what_labels_say_in_words(label, options, wrong):
    asked = {"label": label, "command": f"fio --name=x {options}"}
    found = codes(document([figure("a", "w", "iops", 1, "IOPS")], workloads={"w": asked}))
    assert found == ({"label-command": 1} if wrong else {})


def beside(seed, noise):
    """Twelve layouts with IOPS and MB/s; without noise MB/s are computed from them."""
    draw = random.Random(seed)
    operations = [draw.randrange(20_000, 600_000) for _ in range(12)]
    return [(iops, round(iops * 4096 / 1e6 * (1 + draw.uniform(-noise, noise)), 1)) for iops in operations]


def sentences(pairs):
    figures = [one for number, (iops, mb_s) in enumerate(pairs) for one in rates(f"raid-{number}", iops, mb_s)]
    return [finding.sentence for finding in lint(read(document(figures)))]


@pytest.mark.parametrize("seed", range(20))
def test_a_number_that_is_off_by_less_than_a_percent_is_found_where_all_others_agree(seed):
    pairs = beside(seed, 0.0)
    assert sentences(pairs) == []
    iops, mb_s = pairs[seed % 12]
    pairs[seed % 12] = (iops, round(mb_s * 1.006, 1))
    (sentence,) = sentences(pairs)
    assert "11 others agree to the last digit" in sentence
    assert sentences(beside(seed, 0.004)) == [], "two counts of one cell differ a little everywhere"
