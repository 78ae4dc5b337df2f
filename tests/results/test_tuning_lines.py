"""Tuning as a page says it."""

from __future__ import annotations

from raidtui.model.result import Built, Tuned
from raidtui.results.notes import tuning_lines


def test_alike_settings_of_several_disks_are_one_line() -> None:
    tuned = {
        "S1 queue/scheduler": Tuned("none", "bfq", "none", "bfq"),
        "S2 queue/scheduler": Tuned("none", "bfq", "none", "bfq"),
        "S3 queue/scheduler": Tuned("none", "mq-deadline", "none", "mq-deadline"),
        "rtaa md/stripe_cache_size": Tuned("4096", "256", "4096", "gone with its device"),
        "S1 queue/read_ahead_kb": Tuned("130", "256", "128"),
        "zfs_txg_timeout": Tuned("11", "5", "11", "5"),
        "S1 queue/nr_requests": Tuned("70000", "64", "", "64"),
    }
    assert tuning_lines(Built("it", 1, "built", tuning=tuned)) == [
        "queue/scheduler none of 2 devices; was bfq, put back",
        "queue/scheduler none of S3; was mq-deadline, put back",
        "md/stripe_cache_size 4096 of rtaa; was 256, gone with its device",
        "queue/read_ahead_kb 128 (asked 130) of S1; was 256, NOT put back",
        "zfs_txg_timeout 11; was 5, put back",
        "queue/nr_requests 70000 of S1: not set; put back",
    ]
