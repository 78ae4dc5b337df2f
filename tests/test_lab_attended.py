"""What a step waits for on disks that are slow, and on one that hangs: the kernel decides what moves.

One process in the guest builds LVM volumes with checksums (`stack/attended_driver.py`), and gives up after seconds of
silence where a run gives up after minutes. Each test looks at one thing that was seen there.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from lab_harness import send_driver, slow_ones_run, start_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

HERE = Path(__file__).parent
SLOW_BYTES_S = 3 << 20
HUNG_BYTES_S = 1
Seen = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest) -> Seen:
    cases = "slow cancelled hung" if slow_ones_run(request) else "hung"
    lab = start_lab("attended", "2x2G")
    try:
        send_driver(lab, "lvm_driver.py", "attended_driver.py")
        run = f"/usr/bin/python3 /root/attended_driver.py {cases} > /root/seen 2> /root/error; echo $? > /root/ended"
        lab.run(f"setsid sh -c '{run}' < /dev/null > /dev/null 2>&1 &")
        done, until = "", time.monotonic() + 600
        while lab.run("test -e /root/ended", check=False).code and time.monotonic() < until:
            asked = lab.run("cat /run/attended-ask 2> /dev/null || true").text.strip()
            if asked and asked != done:
                what, *disks = asked.split()
                rate = {"slow": SLOW_BYTES_S, "hang": HUNG_BYTES_S}.get(what, 0)
                for disk in disks:
                    lab.throttle(disk, bytes_per_s=rate)
                lab.run("cat > /run/attended-done", input_bytes=asked.encode())
                done = asked
            time.sleep(0.2)
        assert lab.run("cat /root/ended").text.strip() == "0", lab.run("cat /root/error /root/seen").text
        found = [json.loads(line) for line in lab.run("cat /root/seen").text.splitlines()]
        print({case["case"]: case["took"] for case in found})
        return {case["case"]: case for case in found}
    finally:
        lab.down()


@pytest.mark.slow
def test_a_creation_that_writes_for_longer_than_nothing_may_move_is_not_given_up(seen: Seen) -> None:
    case = seen["slow"]
    assert case["result"] == "created"
    assert case["seconds"] > 4.0, "it was no creation that a limit of 4 s would have ended"
    assert case["left"] == {}


@pytest.mark.slow
def test_how_far_it_is_is_shown_meanwhile(seen: Seen) -> None:
    shown = [text for text in seen["slow"]["reports"] if text.startswith("lvm lvcreate: ")]
    assert any("MiB written" in text for text in shown), seen["slow"]["reports"]


@pytest.mark.slow
def test_a_cancel_ends_it_and_what_it_made_is_taken_away(seen: Seen) -> None:
    case = seen["cancelled"]
    assert case["stopped"][0] == "cancelled"
    assert case["left running"] == []
    assert case["left"] == {}


def test_a_disk_that_hangs_is_given_up_by_name(seen: Seen) -> None:
    case = seen["hung"]
    code, message, _ = case["stuck"]
    assert code == "stuck"
    assert message.startswith("lvm lvcreate has done nothing for ")
    assert f"{case['name']} has " in message
    assert "completes none: the device does not answer" in message


def test_a_disk_that_hangs_while_it_is_made_blank_is_given_up_by_name(seen: Seen) -> None:
    ((code, message),) = seen["hung"]["blank"]
    name = seen["hung"]["name"]
    assert code == "stuck"
    assert message.startswith(f"reading /dev/{name} has done nothing for "), "it is looked at before it is written to"
    assert f"{name} has " in message
    assert "completes none: the device does not answer" in message


def test_what_was_made_on_it_is_taken_away_once_it_answers(seen: Seen) -> None:
    assert seen["hung"]["left"] == {}
