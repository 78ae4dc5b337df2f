"""A workload that does what it was asked to do on a device with nothing wrong is no bad cell: every option, and pairs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from fio_cases import CASES, OPTIONS, TARGET_BYTES, in_directory, spec_of, target_of, workload
from raidtui.load.fio import ENGINE
from raidtui.load.fio.engine import asked_of
from raidtui.load.fio.report import read_report, summary_of
from raidtui.load.fio.spec import FioSpec
from raidtui.load.fio.verdict import Ended, problems_of, remarks_of

RECORDED = Path(__file__).parents[1] / "data" / "fio"
VERSIONS = ("3.33", "3.39")
REPORTS: dict[str, dict[str, Any]] = {
    version: json.loads(gzip.decompress((RECORDED / version / "cases.json.gz").read_bytes())) for version in VERSIONS
}
FIELDS = {field.name: field for field in msgspec.structs.fields(FioSpec)}
SYNCED = [name for name, options in CASES.items() if options.get("fsync") or options.get("fdatasync")]


def report_of(version: str, name: str) -> Any:
    return read_report(json.dumps(REPORTS[version][name]).encode())


@pytest.mark.parametrize("option", FIELDS)
def test_every_option_has_a_case_that_gives_it(option: str) -> None:
    assert OPTIONS.get(option), f"no workload in fio_cases.py gives {option}: add one, and record it"
    for name, options in OPTIONS[option].items():
        assert option in workload(options), f"the case {name} does not give {option}"


@pytest.mark.parametrize("option", FIELDS)
def test_every_value_of_a_closed_list_has_a_case(option: str) -> None:
    hint = get_type_hints(FioSpec)[option]
    values = set(get_args(hint)) if get_origin(hint) is Literal else {True, False} if hint is bool else set()
    given = {workload(options)[option] for options in OPTIONS[option].values()}
    assert values <= given | {FIELDS[option].default}


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_accepted(name: str) -> None:
    options = CASES[name]
    spec, kind = spec_of(options), target_of(options).kind
    assert ENGINE.check(spec, "$") == []
    assert ENGINE.check_target(spec, "$", TARGET_BYTES, kind=kind) == []
    assert (kind == "directory") == in_directory(options)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CASES)
def test_what_fio_reported_of_it_is_no_bad_cell(version: str, name: str) -> None:
    assert name in REPORTS[version], "not recorded: see tests/data/fio/record_cases.py"
    spec, report = spec_of(CASES[name]), report_of(version, name)
    assert report.version == version
    ended = Ended(code=0, stderr="", text="", span_s=report.group.runtime_s + 10)
    assert list(problems_of(asked_of(spec, target_of(CASES[name])), ended, report)) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SYNCED)
def test_syncs_are_counted_and_timed_where_fio_times_them(version: str, name: str) -> None:
    spec, report = spec_of(CASES[name]), report_of(version, name)
    sync = summary_of(report, 1, timed_syncs=spec.times_syncs).sync
    assert sync is not None
    assert sync.ios > 0
    assert (sync.latency.mean_us is not None) == (spec.ioengine != "libaio")
    remarks = list(remarks_of(asked_of(spec, target_of(CASES[name])), report))
    assert any("does not time syncs" in remark for remark in remarks) == (spec.ioengine == "libaio")


def test_more_syncs_than_were_asked_for_are_said() -> None:
    """fio 3.33 repeats a sync where reads come between, and with io_uring."""
    for name in ("fdatasync-mix-psync", "fsync-deep-uring"):
        old, new = (
            list(remarks_of(asked_of(spec_of(CASES[name]), target_of(CASES[name])), report_of(version, name)))
            for version in VERSIONS
        )
        assert [remark for remark in old if remark.startswith("fio 3.33 did ") and "were requested" in remark]
        assert new == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name in SYNCED if "fdatasync" in CASES[name]])
def test_a_short_read_beside_fdatasyncs_is_still_found(version: str, name: str) -> None:
    """fio counts fdatasyncs as short reads: one more of those is a short read."""
    report, asked = report_of(version, name), asked_of(spec_of(CASES[name]), target_of(CASES[name]))
    assert report.group.read.short_ios == report.group.syncs - report.group.sync.ios > 0
    ended = Ended(code=0, stderr="", text="", span_s=report.group.runtime_s + 10)

    def said(asked: Any, **changes: Any) -> list[str]:
        group = msgspec.structs.replace(report.group, **changes)
        return list(problems_of(asked, ended, msgspec.structs.replace(report, group=group)))

    read, write = report.group.read, report.group.write
    one_more = msgspec.structs.replace(read, short_ios=read.short_ios + 1)
    sentence = f"fio {version} counted 1 {{}} of less than a block: the target ends before the region"
    assert said(asked, read=one_more) == [sentence.format("reads")]
    assert said(asked, write=msgspec.structs.replace(write, short_ios=1)) == [sentence.format("writes")]
    # Where no fdatasync was asked for, none of them is one.
    assert any(f"counted {read.short_ios} reads" in one for one in said(asked._replace(fdatasync=0)))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name, options in CASES.items() if "bssplit" in options])
def test_a_mix_of_blocks_that_moved_less_than_its_smallest_is_still_found(version: str, name: str) -> None:
    spec, report = spec_of(CASES[name]), report_of(version, name)
    smallest = min(size for size, _ in spec.block_sizes)
    few = msgspec.structs.replace(
        report.group, read=msgspec.structs.replace(report.group.read, bytes=0),
        write=msgspec.structs.replace(report.group.write, bytes=report.group.ios * smallest - 1),
    )  # fmt: skip
    ended = Ended(code=0, stderr="", text="", span_s=report.group.runtime_s + 10)
    asked = asked_of(spec, target_of(CASES[name]))._replace(min_bytes=0)
    (sentence,) = problems_of(asked, ended, msgspec.structs.replace(report, group=few))
    assert "a device probably went away" in sentence
    assert sentence.startswith(f"fio {version} counted ")
