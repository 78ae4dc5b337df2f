"""Scenario files from strangers: refused with the place named, and never more than read."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.engine.compose.reading import read_document
from raidtui.model.problem import Exit, ProblemError

GOOD: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "good",
    "roles": {"data": {"count": 4}, "journal": {"count": 1}},
    "layouts": {"raid5": {"md": {"level": "raid5", "on": "@data"}}},
    "workloads": {"w": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 1, "runtime": "5s"}}},
}


def with_(path: str, value: Any) -> dict[str, Any]:
    """GOOD with one place changed."""
    changed = copy.deepcopy(GOOD)
    *way, last = path.split(".")
    at = changed
    for key in way:
        at = at[key]
    at[last] = value
    return changed


def refusal(text: str) -> list[str]:
    with pytest.raises(ProblemError) as caught:
        read_document(text)
    assert caught.value.exit == Exit.USAGE
    return [f"{problem.place}: {problem.message}" for problem in caught.value.problems]


def test_the_good_one_is_read() -> None:
    assert list(read_document(json.dumps(GOOD)).scenario.layouts) == ["raid5"]


FIO = "workloads.w.fio"
MD = "layouts.raid5.md"
PLACED = [
    # fio options that run code, open paths or pick targets
    *((f"{FIO}.{key}", value) for key, value in {
        "exec_prerun": "touch /tmp/pwned", "exec_postrun": "id", "filename": "/dev/sda", "directory": "/",
        "ioengine": "exec", "include": "/etc/passwd", "write_bw_log": "/etc/cron.d/x", "write_iops_log": "x",
        "read_iolog": "/etc/shadow", "filename_format": "/dev/sda", "opendir": "/", "mem": "mmaphuge:/x",
        "trigger": "id", "server": "0.0.0.0", "job_file": "x.fio", "cmdline": "id", "allow_file_create": 1,
        "name": "x", "output": "/etc/x", "verify": "crc32c", "unlink": 1, "trim_verify_backlog": 1, "cpus_allowed": "0",
    }.items()),
    (f"{FIO}.ioengine", "external:/tmp/evil.so"),
    (f"{FIO}.rw", "write\nexec_prerun=touch /tmp/pwned"),
    (f"{FIO}.rw", "randtrim"),
    (f"{FIO}.bs", "4k"),
    (f"{FIO}.bs", "4KiB\n"),
    (f"{FIO}.bs", "`id`"),
    (f"{FIO}.bs", "${HOME}"),
    (f"{FIO}.bs", 4096),
    (f"{FIO}.bs", "-4KiB"),
    (f"{FIO}.bs", "9" * 400 + "KiB"),
    (f"{FIO}.iodepth", 0),
    (f"{FIO}.iodepth", 10**12),
    (f"{FIO}.iodepth", True),
    (f"{FIO}.iodepth", "1"),
    (f"{FIO}.iodepth", 1.5),
    (f"{FIO}.numjobs", 10**6),
    (f"{FIO}.runtime", "forever"),
    (f"{FIO}.runtime", "60"),
    (f"{FIO}.runtime", "999999999d"),
    (f"{FIO}.size", "0%"),
    (f"{FIO}.size", "101%"),
    (f"{FIO}.random_distribution", "zoned:60/10:30/20:8/30:2/40\n--exec_prerun=id"),
    # layers
    (f"{MD}.on", "/dev/sda"),
    (f"{MD}.on", "@nobody"),
    (f"{MD}.on", "@data\n"),
    (f"{MD}.on", "@../../etc"),
    (f"{MD}.on", ["@data", ["@journal"]]),
    (f"{MD}.on", []),
    (f"{MD}.on", None),
    (f"{MD}.on", {"md": {"level": "raid0"}}),
    (f"{MD}.level", "raid7"),
    (f"{MD}.level", "raid5; reboot"),
    (f"{MD}.chunk", "1KiB"),
    (f"{MD}.name", "md0"),
    (f"{MD}.force", True),
    (f"{MD}.device", "/dev/sda"),
    (f"{MD}.extra", ["--force"]),
    ("layouts.raid5", {"md": {"level": "raid5", "on": "@data"}, "disk": {"on": "@journal"}}),
    ("layouts.raid5", {"shell": {"command": "id"}}),
    ("layouts.raid5", "raid5"),
    ("layouts", {}),
    ("layouts", []),
    ("layouts", {"../x": GOOD["layouts"]["raid5"]}),
    ("layouts", {"a" * 80: GOOD["layouts"]["raid5"]}),
    ("layouts", {"\x1b[31mred": GOOD["layouts"]["raid5"]}),
    ("layouts", {"x\n": GOOD["layouts"]["raid5"]}),
    ("roles.data.count", 0),
    ("roles.data.count", -1),
    ("roles.data.count", 10**9),
    ("roles.data.device", "/dev/sda"),
    ("roles.data.serial", "X"),
    ("roles", {"DATA": {"count": 1}}),
    ("roles", {"data\n": {"count": 4}}),
    ("name", "../../etc/passwd"),
    ("name", "good\n"),
    ("name", ""),
    ("title", "x" * 5000),
    ("policy", {"rounds": 10**9}),
    ("policy", {"order": "backwards"}),
    ("policy", {"hook": "id"}),
    ("policy", {"initial_sync": "never"}),
    ("run", "id"),
    ("$ref", "/etc/passwd"),
    ("schema", "raidtui.scenario/2"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), PLACED, ids=[f"{p}={str(v)[:30]!r}" for p, v in PLACED])
def test_what_is_not_in_the_schema_is_refused_by_place(path: str, value: Any) -> None:
    refusals = refusal(json.dumps(with_(path, value)))
    section = path.split(".")[0]
    assert any(line.startswith(("$", section)) for line in refusals), refusals


TEXTS = {
    "not json": "{",
    "empty": "",
    "a job file": "[global]\nexec_prerun=touch /tmp/pwned\n[x]\nrw=write\n",
    "duplicate key": '{"schema": "raidtui.scenario/1", "name": "a", "name": "b"}',
    "duplicate deep": json.dumps(GOOD).replace('"rw":', '"rw": "read", "rw":'),
    "nan": json.dumps(with_(f"{FIO}.iodepth", 7)).replace("7", "NaN"),
    "infinity": json.dumps(with_(f"{FIO}.iodepth", 7)).replace("7", "1e999"),
    "long number": json.dumps(with_(f"{FIO}.iodepth", 7)).replace("7", "7" * 4301),
    "deep": "[" * 100_000,
    "deep and closed": "[" * 5000 + "]" * 5000,
    "deep objects": '{"a":' * 5000 + "1" + "}" * 5000,
    "lone surrogate": json.dumps(GOOD).replace('"good"', '"\\ud800"'),
    "nul": json.dumps(GOOD).replace('"good"', '"go\x00od"'),
    "large": json.dumps({**GOOD, "title": "x" * (2 << 20)}),
    "not an object": "[]",
    "a number": "7",
    "many empties": "[" + "{}," * 300_000 + "{}]",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_not_plain_bounded_json_is_refused(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"name": "a",\n "b": 1,\n "name": "c"}', "(lines 1, 3)"),
        ('{"a": "NaN",\n "b": NaN}', "(line 2)"),
        ('{"a": [1,\n\n 1e999]}', "(line 3)"),
        ('{"a": 1,\n "b": 1234567890123456789}', "(line 2)"),
        ('{\n"a": ' + "[" * 50, "line 2"),
    ],
)
def test_what_is_ambiguous_is_found_by_its_line(text: str, lines: str) -> None:
    assert refusal(text)[0].endswith(lines)


@pytest.mark.parametrize(
    ("path", "value", "remedy"),
    [
        (f"{MD}.level", "raid05", "Did you mean raid5 or raid0 or raid10?"),
        (f"{MD}.chunks", "64KiB", "Did you mean chunk?"),
        (f"{MD}.tuning", {"device": {"scheduler": "none"}}, "It may be: read_ahead, write_cache."),
        (f"{FIO}.iodeph", 4, "Did you mean iodepth or iodepth_low?"),
        (f"{FIO}.ioengine", "spdk", "It may be: io_uring, libaio, psync, pvsync2, sync."),
        ("polices", {}, "Did you mean policy?"),
        ("roles.1d", {"count": 1},
         "A role's name has lower-case letters, digits, _ and - and begins with a letter; 31 at most."),
    ],
)
def test_what_may_stand_there_instead_is_said(path: str, value: Any, remedy: str) -> None:
    with pytest.raises(ProblemError) as caught:
        read_document(json.dumps(with_(path, value)))
    assert remedy in [problem.remedy for problem in caught.value.problems]


def test_layers_cannot_be_nested_without_end() -> None:
    layer: Any = "@data"
    for _ in range(9):
        layer = {"md": {"level": "raid0", "on": layer}}
    assert any("deep" in line for line in refusal(json.dumps(with_("layouts.raid5", layer))))


def test_every_problem_is_told_at_once() -> None:
    bad = with_(f"{FIO}.filename", "/dev/sda")
    bad["layouts"]["raid5"]["md"]["level"] = "raid7"
    bad["roles"]["data"]["count"] = 0
    assert len(refusal(json.dumps(bad))) >= 3


def test_a_role_that_cannot_be_read_is_told_once() -> None:
    (told,) = refusal(json.dumps(with_("roles.data.count", "four")))
    assert told.startswith("$.roles.data.count: ")


def test_a_role_is_used_once_in_a_layout() -> None:
    assert any("twice" in line for line in refusal(json.dumps(with_(f"{MD}.journal", "@data"))))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(st.sampled_from([path for path, _ in PLACED]), _JSON)
def test_no_value_anywhere_does_more_than_be_refused(path: str, value: Any) -> None:
    try:
        read_document(json.dumps(with_(path, value)))
    except ProblemError as error:
        assert error.exit == Exit.USAGE  # noqa: PT017 - most values are refused, some happen to be good


@given(st.text(max_size=300))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with pytest.raises(ProblemError):
        read_document(text)
