"""What a scenario can say about fio, and what it can not."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest

from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode, plain, schema_of
from raidtui.model.problem import ProblemError

PLACE = "$.workloads.w.fio"
GOOD: dict[str, Any] = {"rw": "randread", "bs": "4KiB", "runtime": "60s"}


def test_the_options_of_the_campaigns_are_read() -> None:
    spec = decode(FioSpec, {"rw": "randwrite", "bs": "4KiB", "iodepth": 128, "numjobs": 4, "runtime": "60s"}, PLACE)
    assert (spec.rw, spec.bs and spec.bs.bytes, spec.iodepth, spec.numjobs) == ("randwrite", 4096, 128, 4)
    assert spec.direct
    assert not spec.randrepeat


def test_a_spec_survives_being_written_and_read() -> None:
    options = {**GOOD, "size": "80%", "rate": "10MB", "random_distribution": "zipf:1.2", "ramp_time": "5s"}
    assert plain(decode(FioSpec, options)) == options


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Options that run code, open paths, pick targets or write files do not exist.
        ("exec_prerun", "touch /tmp/owned"),
        ("exec_postrun", "touch /tmp/owned"),
        ("filename", "/dev/sda"),
        ("filename_format", "/etc/$jobnum"),
        ("directory", "/etc"),
        ("opendir", "/etc"),
        ("include", "/etc/passwd"),
        ("write_bw_log", "/etc/cron.d/x"),
        ("write_iolog", "/etc/x"),
        ("read_iolog", "/etc/passwd"),
        ("log_hist_msec", 1),
        ("mem", "mmaphuge:/etc/x"),
        ("server", "0.0.0.0"),
        ("client", "host"),
        ("trigger", "reboot"),
        ("trigger_remote", "reboot"),
        ("thread", 0),
        ("allow_file_create", 1),
        ("allow_mounted_write", 1),
        ("group_reporting", 0),
        ("name", "x --exec_prerun=id"),
        ("verify", "crc32c"),
        ("buffer_pattern", "'/etc/shadow'"),
        ("profile", "tiobench"),
        ("output", "/etc/x"),
        ("aux-path", "/etc"),
        ("--output", "/etc/x"),
        # Values that would be other options, other engines or other files.
        ("ioengine", "exec"),
        ("ioengine", "external:/tmp/evil.so"),
        ("ioengine", "libaio\nexec_prerun=id"),
        ("ioengine", "null"),
        ("rw", "trim"),
        ("rw", "randwrite\nexec_prerun=id"),
        ("rw", "randread:8"),
        ("rw", "${HOME}"),
        ("bs", "4k"),
        ("bs", 4096),
        ("bs", "${HOME}"),
        ("bs", "4KiB\x00"),
        ("bssplit", "4KiB/60:64KiB/40\n"),
        ("bssplit", "4KiB/60\nexec_prerun=id"),
        ("bssplit", "4KiB/100:" * 32 + "4KiB/100"),
        ("random_distribution", "zipf:1.2\n"),
        ("random_distribution", "zipf:`id`"),
        ("random_distribution", "zipf:-1"),
        ("random_distribution", "zoned:50/5:30/15\nexec_prerun=id"),
        ("random_distribution", "zoned_abs:50/5G"),
        ("sync", "1\nexec_prerun=id"),
        ("size", "10g"),
        ("size", "101%"),
        ("runtime", "60"),
        ("runtime", 60),
        ("iodepth", 0),
        ("iodepth", 4097),
        ("iodepth", "32"),
        ("iodepth", True),
        ("iodepth", 1.5),
        ("numjobs", 257),
        ("rwmixread", 101),
        ("fsync", -1),
        ("direct", 1),
        ("direct", "true"),
        ("latency_percentile", 0),
        ("why_buffered", ""),
        ("why_buffered", "x" * 201),
    ],
)
def test_anything_else_is_refused_naming_the_place(name: str, value: object) -> None:
    with pytest.raises(ProblemError) as refused:
        decode(FioSpec, {**GOOD, name: value}, PLACE)
    assert refused.value.problems[0].place == f"{PLACE}.{name}"


@pytest.mark.parametrize("name", ["rw", "runtime"])
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(ProblemError, match=name):
        decode(FioSpec, {key: value for key, value in GOOD.items() if key != name})


def test_the_published_schema_says_the_same() -> None:
    schema, definitions = schema_of(FioSpec)
    whole = {**schema, "$defs": definitions}
    jsonschema.validate(GOOD, whole)
    for bad in ({**GOOD, "exec_prerun": "id"}, {**GOOD, "random_distribution": "zipf:1\n"}, {**GOOD, "iodepth": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, whole)


def test_there_are_few_enough_options_to_know_them_all() -> None:
    assert len(msgspec.structs.fields(FioSpec)) <= 42
