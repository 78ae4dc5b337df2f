"""What labels and commands say of a workload, in several languages, and what they do not say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.foreign.labels import Said, job_name, read_command, read_label


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("Случайная запись 4k qd=128 jobs=16", Said(4096, 128, 16, None, "write", True)),
        ("Последовательное чтение 4M qd=32", Said(4 << 20, 32, None, None, "read", False)),
        ("Random reading 4k qd=1 fsync=1", Said(4096, 1, None, 1, "read", True)),
        ("rand-write-4k-t4q128", Said(4096, 128, 4, None, "write", True)),
        ("8k-75rdpct-80randompct", Said(8192, None, None, None, "mixed", None, 75, 80)),
        ("VDbench – 64k – 80% seq – 75/25 r/w – 8 thread per disk", Said(65536, None, None, None, "mixed", None, 75, 20)),
        ("4k-100rdpct-100randompct", Said(4096, None, None, None, "read", None, 100, 100)),
        ("rand write 4k, 8 threads", Said(4096, None, 8, None, "write", True)),
        ("Q32T16 4KiB read", Said(4096, 32, 16, None, "read")),
        ("random read of a 100G file", Said(pattern="read", random=True)),
        ("already spread", Said()),
        ("seq_mbs_write_T1Q1N1", Said(None, 1, 1, None, "write", False)),
    ],
)
def test_a_label(label, said):
    assert read_label(label) == said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "fio -name=a -bs=4M -iodepth=32 -rw=write -filename=/dev/nvme1n1 && fio -bs=4k",
            Said(4 << 20, 32, 1, 0, "write", False),
        ),
        ("fio --rw randrw --bs 8k --rwmixread 70 --numjobs 4", Said(8192, 1, 4, 0, "mixed", True, 70)),
        ("sudo /usr/bin/fio --name=x --rw=randwrite --fsync=1", Said(4096, 1, 1, 1, "write", True)),
        ("dd if=/dev/zero of=/mnt/1 obs=4K oflag=sync count=1", Said(4096, 1, 1, None, "write", False)),
        ("iozone -a -s 8g -r 64 -f t", Said(65536)),
        ("VDbench – 4k – 100% rng – 0/100 r/w", Said(4096, None, None, None, "write", None, 0, 100)),
        ("vdbench xfersize=8k,rdpct=70,seekpct=100,threads=8", Said(8192, None, 8, None, "mixed", None, 70, 100)),
        ("vdbench rdpct=100 xfersize=64k", Said(65536, None, None, None, "read", None, 100)),
        ("fio job.fio", None),
        ("fio --name=a --rw=read --name=b --rw=write", None),
        ("sysbench fileio run", None),
    ],
)
def test_a_command(command, said):
    assert read_command(command) == said


def test_the_name_of_a_job():
    assert job_name("fio -name=rand_T1Q128N1 -bs=4k") == "rand_T1Q128N1"
    assert job_name("dd if=a of=b") == ""


@given(st.text(max_size=200))
def test_no_text_breaks_them(text):
    read_label(text)
    read_command(text)
    read_command(f"fio {text}")
    job_name(text)
