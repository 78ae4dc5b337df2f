"""A right table gives no finding, however its numbers are rounded; one error in it gives exactly its code."""

import csv
import io
from itertools import combinations
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source

BLOCKS = {
    "rand read 4k qd=32": 4096,
    "rand write 8k qd=16": 8192,
    "seq read 128k qd=8": 131072,
    "seq write 4M qd=4": 4 << 20,
}
LAYOUTS = ("raid0", "raid5", "raid6", "raid10", "zfs")
UNITS = {"MB/s": 1e6, "MiB/s": 2.0**20}
QUICK = settings(max_examples=60, deadline=None, derandomize=True)


class Made:
    """A table of true numbers, as somebody publishes them."""

    def __init__(self, draw, *, percents=True, layouts=LAYOUTS, spread=True):
        self.unit = draw(st.sampled_from(list(UNITS)))
        self.iops_places, self.mb_places, self.percent_places = (draw(st.integers(*b)) for b in ((0, 2), (1, 2), (0, 2)))
        self.percents, self.layouts = percents, layouts
        self.rows = []
        # Numbers as chance makes them: drawn one by one they would be equal far more often than measurements are.
        chance = Random(draw(st.integers(0, 1 << 32)))
        for workload, block in BLOCKS.items():
            first = (chance.uniform(2e9, 9e9) if spread else chance.uniform(2.5e9, 2.6e9)) / block
            for index, layout in enumerate(layouts):
                share = (chance.uniform(0.3, 0.97) if index else 1.0) if spread else chance.uniform(0.98, 1.02)
                iops = first * share
                # The bandwidth is a sum over the run, the operations an average of samples: they differ a little.
                rate = iops * block * chance.uniform(0.997, 1.003)
                self.rows.append([layout, workload, iops, rate / UNITS[self.unit], rate])
        if spread:
            # Two right numbers that are equal by accident look like a copy: that is rare, and not what is tried here.
            for column, places in ((2, self.iops_places), (3, self.mb_places)):
                while any(f"{a[column]:.{places}f}" == f"{b[column]:.{places}f}" for a, b in combinations(self.rows, 2)):
                    for row in self.rows:
                        row[column] *= chance.uniform(0.999, 1.001)
        base = {row[1]: row[4] for row in self.rows if row[0] == layouts[0]}
        for row in self.rows:
            row[4] = row[4] / base[row[1]] * 100

    def text(self, extra=(), notes=()):
        """As CSV; `extra` are further columns by heading."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["layout", "workload", "IOPS", f"bandwidth ({self.unit})"]
                        + ([f"% of {self.layouts[0]}"] if self.percents else []) + [name for name, _ in extra])  # fmt: skip
        for layout, workload, iops, rate, percent in self.rows:
            cells = [layout, workload, f"{iops:.{self.iops_places}f}", f"{rate:.{self.mb_places}f}"]
            cells += [f"{percent:.{self.percent_places}f}%"] if self.percents else []
            writer.writerow(cells + [value(layout, workload) for _, value in extra])
        return out.getvalue() + "".join(f"# {note}\n" for note in notes)

    def row(self, index):
        return self.rows[index % len(self.rows)]


made = st.composite(lambda draw, **given_: Made(draw, **given_))
PICK = st.integers(0, 10_000)


def codes(text):
    return {finding.code for finding in lint(read_table(Source("t.csv", text.encode())))}


@QUICK
@given(made(), st.booleans())
def test_a_right_table_gives_no_finding(table, with_percents):
    table.percents = with_percents
    assert codes(table.text()) == set()


@QUICK
@given(made(percents=False, layouts=("sda", "sdb", "sdc", "sdd", "sde", "sdf"), spread=False))
def test_like_disks_give_no_finding_not_even_where_they_do_the_same(table):
    assert codes(table.text()) == set()


@QUICK
@given(made(), PICK, st.sampled_from([0.25, 0.5, 0.83, 0.9, 1.11, 1.2, 1.5, 2, 3]))
def test_a_bandwidth_that_its_operations_do_not_give(table, pick, factor):
    table.row(pick)[3] *= factor
    assert codes(table.text()) == {"iops-bandwidth"}


@QUICK
@given(
    made(), PICK, st.sampled_from([1.024, 1 / 1.048576, 1.048576, 1.073741824, 1 / 1.073741824, 8, 1 / 8, 1000, 1 / 1024])
)
def test_a_unit_that_slipped(table, pick, factor):
    row = table.row(pick)
    assume(row[3] * factor > 0.5)
    row[3] *= factor
    if factor < 0.01:
        table.mb_places = 4
    assert codes(table.text()) == {"unit-slip"}


@QUICK
@given(made(), PICK, st.floats(2.2, 40), st.booleans())
def test_a_percentage_that_does_not_follow(table, pick, points, up):
    table.row(pick)[4] += points if up or table.row(pick)[4] < points + 1 else -points
    assert codes(table.text()) == {"percent-mismatch"}


@QUICK
@given(made(), PICK)
def test_a_percentage_of_another_baseline(table, pick):
    row = table.row(pick)
    other = next(r for r in table.rows if r[1] == row[1] and r[0] == "zfs")
    assume(row[0] not in ("raid0", "zfs"))
    changed = row[3] / other[3] * 100
    assume(abs(changed - row[4]) > 2.5)
    row[4] = changed
    assert codes(table.text()) == {"percent-mismatch"}


@QUICK
@given(made(percents=False), PICK, st.integers(1, 4))
def test_a_cell_that_was_copied_from_another_layout(table, pick, further):
    table.iops_places, table.mb_places = 2, 2
    row = table.row(pick)
    beside = [r for r in table.rows if r[1] == row[1]]
    source = beside[(beside.index(row) + further) % len(beside)]
    # A number that ends in a zero may be a coarser one, and two coarse numbers may well be equal.
    assume(not f"{source[2]:.2f}".endswith("0") and not f"{source[3]:.2f}".endswith("0"))
    row[2], row[3] = source[2], source[3]
    assert codes(table.text()) == {"repeated-value"}


@QUICK
@given(made(percents=False, layouts=("sda", "sdb", "sdc", "sdd", "sde", "sdf"), spread=False), PICK, st.floats(0.3, 0.85))
def test_one_of_like_disks_that_is_slower(table, pick, share):
    row = table.row(pick)
    row[2] *= share
    row[3] *= share
    assert codes(table.text()) == {"outlier"}


@QUICK
@given(made(percents=False, layouts=("pvscsi", "nvme"), spread=False), PICK, st.floats(1.08, 1.4))
def test_a_claim_that_one_number_breaks(table, pick, factor):
    claim = ["claim: nvme is within 5 % of pvscsi"]
    assert codes(table.text(notes=claim)) == set()
    index = [i for i, row in enumerate(table.rows) if row[0] == "nvme"][pick % len(BLOCKS)]
    table.rows[index][2] *= factor
    table.rows[index][3] *= factor
    assert codes(table.text(notes=claim)) == {"claim-broken"}


COMMANDS = {
    "rand read 4k qd=32": "fio --name=a --rw=randread --bs=4k --iodepth=32",
    "rand write 8k qd=16": "fio -name=b -rw=randwrite -bs=8k -iodepth=16 -numjobs=4",
    "seq read 128k qd=8": "fio --name=c --rw=read --bs=128k --iodepth=8 --direct=1",
    "seq write 4M qd=4": "fio --name=d --rw=write --bs=4M --iodepth=4",
}
SLIPS = (
    ("--bs=4k", "--bs=8k"),
    ("--iodepth=8", "--iodepth=64"),
    ("-rw=randwrite", "-rw=randread"),
    ("--rw=write", "--rw=randwrite"),
)


@QUICK
@given(made(percents=False), st.sampled_from(SLIPS))
def test_a_label_that_is_not_its_command(table, slip):
    right = table.text(extra=[("command", lambda _, workload: COMMANDS[workload])])
    assert codes(right) == set()
    assert codes(right.replace(*slip)) == {"label-command"}
