"""SMART data as smartctl(8) prints them: ATA, SCSI and NVMe disks, and disks of which nothing is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.front.smart import smart_rows
from raidtui.inventory.smart import parse_smart, read_smart
from raidtui.model.disk import Disk

ATA = {
    "smart_status": {"passed": True}, "power_on_time": {"hours": 26_280},
    "ata_smart_attributes": {"table": [
        {"id": 5, "raw": {"value": 8}}, {"id": 197, "raw": {"value": 2}}, {"id": 198, "raw": {"value": 0}},
    ]},
    "ata_smart_data": {"self_test": {"status": {"value": 0, "string": "completed without error", "passed": True}}},
    "ata_smart_self_test_log": {"standard": {"table": [
        {"type": {"string": "Extended offline"}, "status": {"string": "Completed: read failure", "passed": False},
         "lifetime_hours": 26_000},
    ]}},
}  # fmt: skip
NVME = {
    "smart_status": {"passed": False}, "power_on_time": {"hours": 120},
    "nvme_smart_health_information_log": {"percentage_used": 7, "available_spare": 98, "media_errors": 1},
    "nvme_self_test_log": {"current_self_test_operation": {"value": 2, "string": "Extended self-test in progress"},
                           "current_self_test_completion_percent": 42},
}  # fmt: skip
SCSI = {
    "smart_status": {"passed": True}, "power_on_time": {"hours": 49_119}, "scsi_grown_defect_list": 3,
    "scsi_error_counter_log": {"read": {"total_uncorrected_errors": 0}, "write": {"total_uncorrected_errors": 2}},
    "scsi_percentage_used_endurance_indicator": 11,
    "scsi_self_test_0": {"code": {"string": "Background short"}, "result": {"value": 0, "string": "Completed"},
                         "power_on_time": {"hours": 49_108}},
}  # fmt: skip


@pytest.mark.parametrize(("said", "rows"), [
    (ATA, {"SMART": "passed", "powered on": "26,280 h (3.0 years)", "errors": "0 uncorrected, 8 reallocated, 2 pending !",
           "self-test": "Extended offline: Completed: read failure at 26000 h !"}),
    (NVME, {"SMART": "FAILED: the disk expects to fail !", "powered on": "120 h", "wear": "7 % of the rated endurance",
            "spare left": "98 %", "errors": "1 uncorrected !", "self-test": "Extended self-test in progress, 42 %"}),
    (SCSI, {"SMART": "passed", "powered on": "49,119 h (5.6 years)", "wear": "11 % of the rated endurance",
            "errors": "2 uncorrected, 3 reallocated !", "self-test": "Background short: Completed at 49108 h"}),
])  # fmt: skip
def test_every_kind_of_disk_says_its_condition_in_the_same_rows(said, rows):
    assert dict(smart_rows(parse_smart("S1", said))) == rows


@pytest.mark.parametrize(("said", "why"), [
    ({"power_mode": {"string": "STANDBY"}}, "STANDBY"),
    ({"smartctl": {"messages": [{"string": "/dev/vda: Unable to detect device type"}]}}, "Unable to detect device type"),
    ({}, "the disk reports no SMART data"),
])  # fmt: skip
def test_a_disk_that_tells_nothing_has_the_reason(said, why):
    assert why in dict(smart_rows(parse_smart("S1", said)))["SMART"]


anything = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                        lambda inner: st.lists(inner, max_size=3)
                        | st.dictionaries(st.sampled_from(sorted({*ATA, *NVME, *SCSI, "table", "status", "value", "raw"})),
                                          inner, max_size=4), max_leaves=12)  # fmt: skip


@given(anything)
def test_any_json_is_read(said):
    assert parse_smart("S1", said).disk == "S1"


def test_the_tool_itself_is_asked_and_a_disk_that_is_none_has_its_message():
    said = read_smart(Disk("S1", "no-such-disk", 0, "S1", "", "m"))
    assert said.problem
