"""Commands that ask once and print: disks, runs, doctor, explain, schema, scenarios, cancel, recover."""

import json

import made
from made import HOSTILE

from raidtui.cli.printers import ProgressLines
from raidtui.model.problem import Problem
from raidtui.model.protocol import Check, Checkup, Recovered, RecoveredDisk, RecoveredRun, RecoverProgress, RunInfo, RunList


def test_disks_tells_every_reason_under_its_disk(engine):
    engine.answers(disks={"result": made.disk_list()})
    said = engine.run("disks")
    lines = said.out.splitlines()
    second = next(i for i, line in enumerate(lines) if line.startswith("S64GNE0R100002"))
    assert said.code == 0
    assert lines[second].endswith("in use")
    assert [line.strip() for line in lines[second + 1 : second + 5]] == [
        "↓ its link runs below its maximum: x4 16 GT/s",
        "✗ mounted on /srv (ext4, nvme2n1p1) [mounted]",
        "→ Unmount it, if nothing needs it any more.",
        "✗ open by postgres (pid 812) [open]",
    ]
    assert lines[-1] == "4 disks on stor1, 2 free, looked at 2026-01-31 12:00:00 UTC"


def test_disks_as_json_is_the_document_in_plain_ascii(engine):
    engine.answers(disks={"result": made.disk_list()})
    said = engine.run("disks", "--json")
    assert said.out.isascii()
    assert "\x1b" not in said.out
    assert "\x7f" not in said.out
    document = json.loads(said.out)
    assert document["schema"] == "raidtui.disks/1"
    assert document["disks"][3]["serial"] == HOSTILE


def test_no_disks_is_a_sentence(engine):
    engine.answers(disks={"result": {**made.plain(made.disk_list()), "disks": []}})
    assert engine.run("disks").out.startswith("No disks were found on stor1.")


def test_watching_disks_prints_one_document_a_line_whenever_one_changed(engine):
    one = made.plain(made.disk_list())
    warmer = [{**disk, "temperature_c": 50} for disk in one["disks"]]
    later = {**one, "at": "2026-01-31T12:00:30.456+00:00", "disks": warmer}
    other = {**later, "disks": later["disks"][:2]}
    engine.answers(watch_disks={"events": [one, one, later, other, one]})
    said = engine.run("disks", "--watch", "--json")
    assert [len(json.loads(line)["disks"]) for line in said.out.splitlines()] == [4, 2, 4]
    assert json.loads(said.out.splitlines()[1])["at"] == later["at"]


def test_hostile_strings_reach_the_terminal_as_escapes(engine):
    info = RunInfo(made.RUN, HOSTILE, "finished", "", (), 0, HOSTILE)
    engine.answers(disks={"result": made.disk_list()}, runs={"result": RunList("raidtui.runs/1", (info,))})
    for words in (["disks"], ["runs"]):
        out = engine.run(*words).out
        assert not set("\x1b\x7f\x9b\u202e") & set(out)
        assert "\\x1b[31m" in out.replace("\n", "")


def test_place_may_stand_before_or_after_the_command(engine, capsys):
    from raidtui.cli.main import main

    engine.answers(runs={"result": RunList("raidtui.runs/1", ())})
    assert main(["runs", "--on", "stor1"]) == 0
    assert capsys.readouterr().out == "No runs yet: `raidtui replay SCENARIO` makes one.\n"


def test_runs_says_how_to_recover_an_interrupted_one(engine):
    runs = (RunInfo(made.RUN, "tiny", "interrupted", "", (), cells_done=1, cells=2, rehearsal=True),)
    engine.answers(runs={"result": RunList("raidtui.runs/1", runs)})
    assert [line.rstrip() for line in engine.run("runs").out.splitlines()] == [
        "RUN                       SCENARIO  STATE        CELLS  EXIT  OUTCOME",
        "20260131-120000-abcd1234  tiny      interrupted    1/2     –  (rehearsal)",
        "→ run 20260131-120000-abcd1234 left something behind: `raidtui recover 20260131-120000-abcd1234` undoes it",
    ]


def test_doctor_marks_by_word_and_gives_the_remedy(engine):
    checks = (
        Check("fio", True, "3.39", "measuring"),
        Check("zfs", False, "not installed", "zpool layouts", "apt-get install zfsutils-linux"),
    )
    engine.answers(doctor={"result": Checkup("raidtui.doctor/1", "stor1", checks)})
    said = engine.run("doctor")
    assert said.code == 0
    assert "✓ ok       fio" in said.out
    assert "✗ missing  zfs" in said.out
    assert said.out.splitlines()[-1] == "→ zfs: apt-get install zfsutils-linux"


def test_doctor_tells_what_can_be_built_and_what_every_layer_still_needs(engine):
    checks = (Check("root", True, "yes"), Check("udev", False, "not running"))
    found = Checkup("raidtui.doctor/1", "stor1", checks, ("disk", "lvm (without VDO)"), ("md", "zpool"))
    engine.answers(doctor={"result": found})
    last = engine.run("doctor").out.splitlines()[-1]
    assert last == "· can build, once it has udev: disk, lvm (without VDO); cannot: md, zpool"
    told = json.loads(engine.run("doctor", "--json").out)
    assert (told["can_build"], told["cannot_build"]) == (["disk", "lvm (without VDO)"], ["md", "zpool"])


def test_explain_prints_one_code_or_all(engine):
    one = {"code": "far-away", "title": "a filesystem is mounted", "meaning": "It is in use.", "way_out": "Unmount."}
    engine.answers(explain={"result": one})
    assert engine.run("explain", "far-away").out == "far-away: a filesystem is mounted\n  It is in use.\n  → Unmount.\n"
    engine.answers(explain={"result": [one]})
    listed = engine.run("explain").out.splitlines()
    assert any(line.split(maxsplit=1) == ["far-away", "a filesystem is mounted"] for line in map(str.rstrip, listed))
    assert any(line.startswith("lab.qemu ") for line in listed)


def test_explain_needs_no_engine_for_the_refusals_of_the_front_end(engine):
    said = engine.run("explain", "lab.qemu")
    assert said.code == 0
    assert said.out.startswith("lab.qemu: QEMU failed\n")
    assert said.requests == []


def test_recover_shows_an_action_once_and_its_fraction_at_intervals(capsys):
    show = ProgressLines()
    for fraction in (0.1, 0.2, 0.3):
        show(RecoverProgress("run-1", "bringing to zeroes", fraction))
    show(RecoverProgress("run-1", "undoing: create array", None))
    assert capsys.readouterr().err == "run run-1: bringing to zeroes (10 %)\nrun run-1: undoing: create array\n"


def test_schema_is_printed_as_json(engine):
    engine.answers(schema={"result": {"type": "object"}})
    said = engine.run("schema", "scenario")
    assert json.loads(said.out) == {"type": "object"}
    assert said.requests == [{"method": "schema", "params": {"of": "scenario"}}]


def test_scenarios_lists_the_shipped_ones(engine):
    said = engine.run("scenarios")
    assert said.code == 0
    assert {"quick", "md-local"} <= {line.split()[0] for line in said.out.splitlines()[1:]}
    assert said.requests == []


def test_cancel_says_what_happens(engine):
    engine.answers(cancel={"result": RunInfo(made.RUN, "tiny", "running", "", ())})
    assert engine.run("cancel").out == f"run {made.RUN} is being cancelled: what it built is taken down\n"


def test_recover_says_what_was_undone_and_then_that_there_is_nothing(engine):
    engine.answers(recover={"result": Recovered((RecoveredRun(made.RUN, 0, ("stopped md array rtabcd1234a",)),))})
    said = engine.run("recover")
    assert (said.code, said.out) == (0, f"run {made.RUN}: recovered\n  stopped md array rtabcd1234a\n")
    engine.answers(recover={"result": Recovered(())})
    said = engine.run("recover")
    assert (said.code, said.out) == (0, "Nothing to recover: no run left anything behind.\n")


def test_recover_says_of_every_disk_what_became_of_it(engine):
    disks = (RecoveredDisk("S1", "blank"), RecoveredDisk("S2", "left", "mounted"), RecoveredDisk("S3", "missing"),
             RecoveredDisk("S4", "given up"))  # fmt: skip
    engine.answers(recover={"result": Recovered((RecoveredRun(made.RUN, 6, ("S1: made blank (discard)",), (), disks),))})
    assert engine.run("recover").out.splitlines()[1:] == [
        "  S1: made blank (discard)",
        "  S2: not touched, and still held by the run",
        "  S3: not here, and still held by the run",
        "  S4: given up, as --without says",
    ]


def test_runs_says_which_run_a_restart_of_the_server_ended(engine):
    runs = (RunInfo(made.RUN, "tiny", "interrupted", "", (), restarted=True),)
    engine.answers(runs={"result": RunList("raidtui.runs/1", runs)})
    assert "was ended by a restart of the server" in engine.run("runs").out


def test_recover_exits_6_while_something_is_left(engine):
    problem = Problem("stuck", "md127 cannot be stopped", "md127", "Wait for the disk.", exit=6)
    engine.answers(recover={"result": Recovered((RecoveredRun(made.RUN, 6, (), (problem,)),))})
    said = engine.run("recover")
    assert said.code == 6
    assert "  left behind: md127: md127 cannot be stopped [stuck]\n    → Wait for the disk." in said.out


def test_a_refusal_is_a_sentence_with_its_code_and_a_way_out(engine):
    problem = Problem("not-free.mounted", "disk S1 is not free: mounted on /srv", "S1", "Unmount it.", exit=3)
    engine.answers(cancel={"failure": [problem]})
    said = engine.run("cancel")
    assert said.code == 3
    assert said.out == ""
    assert said.err == (
        "refused: S1: disk S1 is not free: mounted on /srv [not-free.mounted]\n  → Unmount it.\n"
        "`raidtui --on stor1 explain not-free.mounted` explains it.\n"
    )
    said = engine.run("cancel", "--json")
    assert json.loads(said.out) == {"schema": "raidtui.problems/1", "exit": 3, "problems": [made.plain(problem)]}
