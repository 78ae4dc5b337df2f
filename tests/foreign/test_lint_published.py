"""What contradicts itself in the five campaigns that ship as tables: worked out by hand, from the tables and their text.

A finding is named by its code and by the line of the source that its number or its command stands in.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source

PUBLISHED = Path(__file__).parents[2] / "scenarios" / "published"

# One block for each kind of error. A line: place, what was published, what it should be.
HABR = {
    "label-command": """
        # The list of tests says -numjobs=4 in both random tests over a deep queue; the tables call them jobs=16.
        88 16 4
        88 16 4
        # The read with one operation at a time has no -fsync=1, and could not make anything durable: its label has.
        88 1 0
        # Names of jobs: T1Q1N1 for -iodepth=32 (twice), T1Q128N1 for -numjobs=4 (twice).
        88 1 32
        88 1 32
        88 1 4
        88 1 4
    """,
    "iops-bandwidth": """
        # 49,445.24 IOPS of 4 KiB are 202.5 MB/s, not 31.20: the IOPS of another row. (31.20 MB/s are 7,617 IOPS.)
        479 31.2 202.528
    """,
    "repeated-value": """
        # 49,445.24 IOPS of the random write over a deep queue stand again at the durable write of the same layout …
        481 49445.24 469
        # … and, with a digit more, at the next layout, whose bandwidth is 203 and not 202 MB/s.
        509 49445.235 469
        # So do 2,407,383.56 (9,858.00 beside 9,816.50 MB/s) and 21,266.52 (87.10 beside 87.25 MB/s).
        515 2407383.56 475
        527 21266.52 487
    """,
    "unit-slip": """
        # Averages of fio's GB/s times 1024 instead of 1000, as the IOPS say: 2,817,002.93 × 4,096 are 11,538.4 MB.
        261 11827.2 11538.4
        267 11622.4 11353.7
        307 10444.8 10252.7
        347 10444.8 10248.5
        387 10547.2 10307.2
        427 14080 13760.9
        433 14080 13758
        # The same without IOPS: every sequential number above 10,000 is so many times 51.2, which is 0.05 × 1024.
        249 11980.8 11700
        255 20275.2 19800
        295 20172.8 19700
        335 19558.4 19100
        375 20172.8 19700
        415 10905.6 10650
        421 20480 20000
        461 18995.2 18550
        501 19302.4 18850
        541 19046.4 18600
        # The other way round: 1,534.41 × 4 KiB = 6,138 KiB/s became 6.14 MB/s by dividing with 1000; so did 1,594 KiB/s.
        608 6.14 6.28494
        651 1.59 1.63254
    """,
    "percent-mismatch": """
        # lvm-raid5 and its alloc-normal follow from no number of the article: 1,427.50 ÷ 1,398.50 is 102 %, not 76 %.
        1621 76.02 102.07
        1629 59.52 94.16
        1637 90.87 77.69
        1645 88.71 93.98
        1653 56.87 88.64
        1661 87.18 96.57
        1623 77.2 96.68
        1631 56.98 95.69
        1639 92.09 78.08
        1647 88.28 94.38
        1655 74.31 89.2
        1663 91.69 96.4
        # VDO, ZFS 8k, 16k and 64k and zfs64 follow from an mdadm-raid5 that was measured earlier and is not printed:
        # 1,524, 246.5, 30.95 and 62.0 MB/s. (The sequential and the deep random read hardly changed: within one point.)
        1625 15.12 16.48
        1641 32.25 30.58
        1665 55.24 37.91
        1683 67.95 74.04
        1687 111.61 121.63
        1689 246.59 268.72
        1707 62.07 58.85
        1711 62.68 59.42
        1713 63.29 60
        1731 35.22 30.97
        1735 36.51 32.1
        1737 57.84 50.85
        1743 37.82 25.95
        1747 46.37 31.82
        1749 117.98 80.96
        1761 64.37 70.15
        1763 103.61 112.91
        1765 240.06 261.6
        1777 76.06 72.12
        1779 75.46 71.54
        1781 71.81 68.08
        1793 445.88 392.05
        1795 445.88 392.05
        1797 413.57 363.64
        1801 1950 1338.13
        1803 1618.55 1110.68
        1805 813.71 558.38
    """,
}
ISER = {
    "label-command": """
        # The list of tests says of the third one 80 % seq; its rows are called 80randompct.
        78 80 20
    """,
    "outlier": """
        # Through PCIe passthrough one of six like disks reads at half the speed of the others.
        401 2328 4697
    """,
    "claim-broken": """
        # "within the measurement error of 5%": the two tests with one operation at a time are 9.9 % and 5.2 % apart.
        132 5 9.91
        140 5 5.23
        # "within 2% of error": on every disk but one the random reads are 3 % up, and what runs one at a time differs by
        # 3 to 17 %; of the other model, only the latter.
        239 2 16.16
        245 2 5.94
        275 2 3.16
        281 2 -17.02
        287 2 -10.64
        317 2 2.89
        323 2 -15.84
        329 2 -10.63
        359 2 3.12
        365 2 -16.51
        371 2 -11.61
        401 2 -49.37
        407 2 -3.12
        413 2 -3.26
        443 2 3.04
        449 2 -16.06
        455 2 -10.82
        485 2 3.5
        491 2 -10.92
        497 2 -9.41
    """,
}
DIGOAL = {
    "outlier": """
        # iostat on twelve like disks under one striped volume: two of them get 28,988 kB/s, ten get 328.
        699 28988 328
        700 28988 328
    """,
}


def expected(blocks):
    lines = [(code, line.split()) for code, block in blocks.items() for line in block.splitlines()]
    return Counter((code, *map(float, words)) for code, words in lines if words and words[0] != "#")


def found(name, *, without=""):
    path = PUBLISHED / f"{name}.json"
    findings = lint(read_table(Source(path.name, path.read_bytes())))
    return Counter(
        (f.code, float(re.search(r":(\d+)\)", f.where)[1]), number(f.published), number(f.computed))
        for f in findings
        if not (without and f.code == without)
    )


def number(value):
    """The last number of a text: `within 5 %`, `equal to … (file.txt:469)`."""
    return float(re.findall(r"-?\d+(?:\.\d+)?", value)[-1]) if isinstance(value, str) else float(value)


def test_habr_753322():
    assert found("habr-753322") == expected(HABR)


def test_iser_nvmeof():
    assert found("iser-nvmeof", without="unit-slip") == expected(ISER)


def test_vdbench_writes_mb_and_means_mib():
    """All forty bandwidths of vdbench are IOPS × block size ÷ 2²⁰, in columns that say MB/s; those of fio are MB/s."""
    table = read_table(Source("x", (PUBLISHED / "iser-nvmeof.json").read_bytes()))
    slips = [f for f in lint(table) if f.code == "unit-slip"]
    assert len(slips) == 40 == 8 * 5
    assert all("randompct" in f.where and "MiB/s" in f.sentence for f in slips)
    assert all(f.computed == pytest.approx(f.published * 1.048576, rel=4e-4) for f in slips)


def test_digoal_lvm_cache():
    assert found("digoal-lvm-cache") == expected(DIGOAL)


@pytest.mark.parametrize("name", ["vitastor-ceph", "zpool-performances"])
def test_nothing_in_these_contradicts_itself(name):
    # Vitastor's round numbers agree with their latencies and give no two rates of one cell. The ZFS percentages come
    # without their numbers, every label is what its command does, and 104 % and 97 % are one measurement told twice.
    assert found(name) == Counter()


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("habr-753322", 440),
        ("iser-nvmeof", 278),
        ("digoal-lvm-cache", 616),
        ("vitastor-ceph", 56),
        ("zpool-performances", 24),
    ],
)
def test_every_number_says_where_it_stands(name, figures):
    table = read_table(Source(name, (PUBLISHED / f"{name}.json").read_bytes()))
    assert len(table.figures) == figures
    assert table.source
    assert all(re.fullmatch(r"[\w.]+:\d+", f.place) and f.text for f in table.figures)
    cells = Counter((f.layout, f.workload, f.metric, f.direction, f.unit, f.of, f.place) for f in table.figures)
    assert max(cells.values()) == 1
