"""Many servers: consent per server, exit codes, files, and work on all at once."""

import threading
from types import SimpleNamespace

import pytest

from raidtui.front.fleet.consent import by_server, check_consents, command_lines, erase_words, split_server
from raidtui.front.fleet.files import Outputs, check_folder
from raidtui.front.fleet.servers import each, exit_of_runs, gravest
from raidtui.model.disk import Fingerprint
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import Exit, ProblemError
from raidtui.model.refusals import FILE

NAMES = ("a", "sim:a", "root@[fe80::1]")


def plan(*disks):
    prints = tuple(Fingerprint(name, name, f"naa.{name}", "M", 10**12, 512, 1, "b") for name in disks)
    return Plan("d", "t", {}, Options(), {"data": prints}, (), (), disks, 1.0, 0)


def codes(error):
    return [problem.code for problem in error.value.problems]


def test_a_word_belongs_to_the_server_that_it_begins_with():
    assert split_server("a:data=S1", NAMES) == ("a", "data=S1")
    assert split_server("sim:a:S1:2,S3", NAMES) == ("sim:a", "S1:2,S3")
    assert split_server("root@[fe80::1]:S1", NAMES) == ("root@[fe80::1]", "S1")
    assert split_server("data=S1", NAMES) is None
    assert split_server("b:S1", NAMES) is None


def test_disks_without_a_server_of_the_list_are_refused():
    for word in ("S1,S2", "b:S1", ":S1", "A:S1"):
        with pytest.raises(ProblemError) as error:
            by_server([word], NAMES, "--erase", Exit.REFUSED)
        assert codes(error) == ["server-word"]
        assert error.value.exit == 3


def test_consent_is_per_server_and_one_wrong_name_refuses_all():
    plans = {"a": plan("S1", "S2"), "b": plan("S3")}
    assert check_consents(plans, {"a": ("S2", "S1"), "b": ("naa.S3",)}) == {"a": ("S1", "S2"), "b": ("S3",)}
    for named, wanted in (
        ({"a": ("S1", "S2")}, ["erase-too-few"]),
        ({"a": ("S1", "S2", "S3"), "b": ("S3",)}, ["erase-too-many"]),
        ({"a": ("S1", "S3"), "b": ("S2",)}, ["erase-too-many", "erase-too-few"] * 2),
        ({"b": ("S1", "S2", "S3")}, ["erase-too-few"] * 2 + ["erase-too-many"] * 2),
    ):
        with pytest.raises(ProblemError) as error:
            check_consents(plans, named)
        assert codes(error) == wanted
        assert {problem.exit for problem in error.value.problems} == {3}


def test_a_disk_with_the_same_serial_on_another_server_is_not_consented_to():
    plans = {"a": plan("S1"), "b": plan("S1")}
    with pytest.raises(ProblemError) as error:
        check_consents(plans, {"a": ("S1",)})
    assert codes(error) == ["erase-too-few"]
    assert error.value.problems[0].message.startswith("b: ")


def test_consents_may_be_in_a_file(tmp_path):
    (tmp_path / "consent").write_text("a:S1,S2\n# b is not here\n\nsim:a:S3 # the slow one\n")
    assert erase_words([f"@{tmp_path / 'consent'}", "b:S4"]) == ["a:S1,S2", "sim:a:S3", "b:S4"]


def test_the_command_has_a_line_of_consent_per_server():
    lines = command_lines({"a": plan("S1", "S2"), "b": plan(), "c": plan("S 3")}, ["raidtui", "--on", "a,b,c"])
    assert lines == ["raidtui --on a,b,c \\", "--erase a:S1,S2 \\", "--erase 'c:S 3'"]


@pytest.mark.parametrize(("runs", "others", "code"), [
    ([0, 0], [], 0), ([0, 5], [], 5), ([0, 130], [], 130), ([5, 130, 4], [], 4), ([130, 6, 4], [], 6), ([0, 1, 4], [], 1),
    # A server on which nothing began is a gap, and 2 and 3 promise that nothing was touched.
    ([0], [3], 5), ([0], [2], 5), ([0], [1], 1), ([4], [3], 4), ([], [2, 3], 3), ([], [2], 2),
])  # fmt: skip
def test_the_exit_code_is_that_of_the_gravest(runs, others, code):
    assert exit_of_runs(runs, others) == code


def test_without_codes_all_is_done():
    assert gravest([]) == 0


def test_results_get_the_servers_name_and_replace_nothing(tmp_path):
    outputs = Outputs(str(tmp_path / "out"), ("sim:a", "sim_a", "root@stor1"))
    outputs.check_free("x y", ("sim:a", "sim_a"))
    paths = [outputs.save(b"1", "x y", "RUN", server) for server in ("sim:a", "sim_a", "root@stor1")]
    assert [path.name for path in paths] == [
        "x_y.sim_a.result.json", "x_y.sim_a-2.result.json", "x_y.root_stor1.result.json"
    ]  # fmt: skip
    with pytest.raises(ProblemError) as error:
        outputs.check_free("x y", ("root@stor1",))
    assert codes(error) == ["output"]
    again = outputs.save(b"2", "x y", "RUN", "sim:a")
    assert (again.name, again.read_bytes(), paths[0].read_bytes()) == ("x_y.sim_a.2.result.json", b"2", b"1")
    assert len(list((tmp_path / "out").iterdir())) == 4, "nothing else is left there"


def test_a_folder_that_cannot_be_used_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "file").write_text("")
    check_folder(None)
    check_folder(str(tmp_path))
    check_folder(str(tmp_path / "new"))
    for path in (tmp_path / "file", tmp_path / "no" / "new"):
        with pytest.raises(ProblemError) as error:
            check_folder(str(path))
        assert codes(error) == ["output"]


def test_work_is_done_on_all_at_once_and_failures_have_the_servers_name():
    gate, outcomes = threading.Barrier(3, timeout=30), {}

    def work(name):
        gate.wait()  # passed only when all three are at work
        if name == "b":
            raise ProblemError(FILE.problem("no", place="x"))
        if name == "c":
            raise ValueError("a mistake")
        return name.upper()

    each(("a", "b", "c"), work, lambda name, outcome: outcomes.__setitem__(name, outcome))
    assert outcomes["a"] == "A"
    assert outcomes["b"].problems[0].place == "b: x"
    assert (outcomes["c"].problems[0].code, outcomes["c"].problems[0].place) == ("bug", "c")


def test_copies_of_one_installation_are_noted_and_one_kernel_is_refused():
    from raidtui.front.fleet.servers import Fleet

    def fleet(*hellos):
        made = Fleet(tuple(f"s{n}" for n in range(len(hellos))))
        made.engines = {f"s{n}": SimpleNamespace(hello=SimpleNamespace(boot_id=boot, machine_id=machine))
                        for n, (boot, machine) in enumerate(hellos)}  # fmt: skip
        return made

    same = fleet(("boot1", "m1"), ("boot2", "m2"), ("boot1", "m1"))
    with pytest.raises(ProblemError) as error:
        same._check_twice()
    assert codes(error) == ["server-twice"]
    assert "s0 and s2" in str(error.value)
    copies = fleet(("boot1", "m1"), ("boot2", "m1"), ("boot3", ""), ("boot4", ""))
    copies._check_twice()
    assert len(copies.notes) == 1
    assert copies.notes[0].startswith("s0 and s1 have the same machine-id")
