"""One scenario on many servers: which one is unlike the others, and in what."""

import msgspec
import pytest
from test_comparing import cell, result

from raidtui.model.disk import Disk
from raidtui.model.problem import ProblemError
from raidtui.model.result import Machine
from raidtui.results.extract import extract
from raidtui.results.server_lines import server_lines
from raidtui.results.servers import check_servers, compare_servers, server_names


def server(name, *rates, firmware="1.0", kernel="6.1", layout="raid5", machine_id="", **changes):
    made = result(*(cell(layout, "w", rate, round=n) for n, rate in enumerate(rates, 1)), order=(layout,))
    disk = Disk(f"S-{name}", "sda", 10**12, f"S-{name}", "", "MODEL", firmware=firmware, transport="nvme")
    machine = Machine(name, kernel, machine_id=machine_id)
    return extract(msgspec.structs.replace(made, run=f"run-{name}", disks=(disk,), machine=machine, **changes))


def compared(*extracts):
    return compare_servers({one.host: one for one in extracts})


def words(found):
    return "\n".join(f"{said.mark} {said.words}" for said in server_lines(found))


def test_the_slow_one_of_four_is_found_with_what_differs():
    found = compared(server("a", 100, 102), server("b", 101, 99), server("c", 99, 101), server("d", 60, 61, firmware="0.9"))
    (one,) = found.unlike
    assert (one.server, one.lines, one.of, one.facts) == ("d", 1, 1, ("firmware",))
    assert one.lowest == one.highest == pytest.approx(-0.395, abs=0.01)
    (difference,) = found.differences
    assert (difference.fact, difference.most, difference.servers) == ("firmware", "1.0", {"d": "0.9"})
    assert "✗ d is unlike the others in 1 of 1 layouts × workloads: -39 %; it differs in firmware" in words(found)
    assert "firmware: 1.0 on 3 servers; on d: 0.9" in words(found)


def test_one_round_per_server_is_said_where_a_server_is_named():
    rates = {name: [100 + n, 101 + n] for n, name in enumerate("abc")} | {"d": [60, 61]}
    assert "one round per server" in words(compared(*(server(name, of[0]) for name, of in rates.items())))
    assert "one round per server" not in words(compared(*(server(name, *of) for name, of in rates.items())))
    assert "one round per server" not in words(compared(*(server(name, 100) for name in rates)))


def test_a_fast_one_is_unlike_the_others_too():
    found = compared(*(server(name, rate) for name, rate in zip("abcde", (100, 101, 99, 100, 160), strict=True)))
    assert [one.server for one in found.unlike] == ["e"]


def test_three_servers_are_shown_without_a_verdict():
    found = compared(server("a", 100), server("b", 101), server("c", 50, kernel="6.12"))
    assert not found.unlike
    assert not any(value.unlike or value.z is not None for line in found.lines for value in line.values)
    assert found.lines[0].values[2].off == pytest.approx(-0.5)
    assert "that needs 4" in words(found)
    assert "kernel: 6.1 on 2 servers; on c: 6.12" in words(found)


def test_servers_that_agree_to_a_percent_make_no_outlier_of_one_that_is_two_percent_off():
    found = compared(*(server(name, rate) for name, rate in zip("abcd", (100, 100.1, 99.9, 97.9), strict=True)))
    assert abs(found.lines[0].values[3].z) > 3.5
    assert not found.unlike
    assert "No server is unlike the others" in words(found)


def test_servers_that_are_widely_spread_have_no_outlier():
    found = compared(*(server(name, rate) for name, rate in zip("abcde", (60, 80, 100, 120, 140), strict=True)))
    assert not found.unlike


def test_the_rule_counts_servers_with_a_number():
    """Only three of four servers have a valid cell, and a verdict needs four."""
    broken = result(cell("raid5", "w", 100, reasons=("degraded",)), order=("raid5",))
    last = extract(msgspec.structs.replace(broken, run="run-d", machine=Machine("d", "6.1")))
    found = compared(server("a", 100), server("b", 101), server("c", 50), last)
    assert not found.unlike
    value = found.lines[0].values[3]
    assert value.value is None
    assert value.why == "degraded"


def test_without_a_majority_all_values_are_named():
    found = compared(*(server(name, 1, kernel=kernel) for name, kernel in zip("abcd", "1122", strict=True)))
    (difference,) = found.differences
    assert (difference.most, difference.servers) == ("", {"a": "1", "b": "1", "c": "2", "d": "2"})


def test_layouts_of_one_name_that_are_defined_otherwise_are_not_mixed():
    other = server("b", 10)
    other = msgspec.structs.replace(other, layouts={"raid5": {**other.layouts["raid5"], "md.chunk": "1MiB"}})
    found = compared(server("a", 100), other)
    assert [line.layout for line in found.lines] == ["raid5", "raid5 (2)"]
    assert [[value.value is None for value in line.values] for line in found.lines] == [[False, True], [True, False]]


def test_one_machine_counts_once():
    again = msgspec.structs.replace(server("a", 2, machine_id="m"), run="x")
    twice = [("1.json", server("a", 1, machine_id="m")), ("2.json", again)]
    named = server_names(twice)
    assert list(named) == ["a (1.json)", "a (2.json)"]
    with pytest.raises(ProblemError) as error:
        check_servers(named)
    assert error.value.problems[0].code == "server-twice"
    copies = {"a": server("a", 1, machine_id="m"), "b": server("b", 1, machine_id="m")}
    check_servers(copies)
    assert "the same machine-id" in words(compare_servers(copies))
    unknown = server_names([("1.json", server("a", 1)), ("2.json", msgspec.structs.replace(server("a", 2), run="x"))])
    check_servers(unknown)
    assert "do not tell whether it is one machine" in words(compare_servers(unknown))
