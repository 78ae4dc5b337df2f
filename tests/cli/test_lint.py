"""`raidtui lint`, and tables in `raidtui compare` and `raidtui import`."""

import json
from pathlib import Path

import made
import pytest

from raidtui.engine.explain import explain
from raidtui.model import findings
from raidtui.model.convert import encode
from raidtui.model.problem import Refusal

WRONG = "layout,workload,IOPS,MB/s\nraid5,rand write 4k qd=1,49445.24,31.20\nraid5,rand write 4k qd=128,63857.62,261.00\n"
RIGHT = "layout,workload,IOPS,MB/s\nraid5,rand write 4k qd=1,7617.19,31.20\n"


@pytest.fixture
def wrong(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_text(WRONG)
    return str(path)


@pytest.fixture
def right(tmp_path):
    path = tmp_path / "right.csv"
    path.write_text(RIGHT)
    return str(path)


def test_what_contradicts_itself_is_told_and_the_exit_code_says_so(engine, wrong):
    said = engine.run("lint", wrong)
    assert (said.code, said.err, said.requests) == (5, "", [])
    assert "iops-bandwidth: 1" in said.out
    assert "wrong.csv:2" in said.out


def test_findings_as_json(engine, wrong, right):
    said = engine.run("lint", "--json", wrong)
    (finding,) = json.loads(said.out)["findings"]
    assert {"code", "where", "sentence", "published", "computed"} <= set(finding)
    assert (finding["code"], finding["published"], finding["computed"]) == ("iops-bandwidth", 31.2, 202.528)
    assert (said.code, said.err) == (5, "")
    said = engine.run("lint", "--json", right)
    assert (said.code, json.loads(said.out)["findings"]) == (0, [])


SLIPPED = "layout,workload,IOPS,MB/s\n" + "".join(
    f"raid{n},rand write 4k,{iops},{iops / 256:.2f}\n" for n, iops in ((0, 51700), (5, 53400), (6, 55100))
)


def test_findings_of_one_kind_are_one_sentence_with_a_list_behind(engine, tmp_path):
    (tmp_path / "slip.csv").write_text(SLIPPED)
    said = engine.run("lint", "slip.csv")
    assert [line.rstrip() for line in said.out.splitlines()[1:]] == [
        "unit-slip: 3",
        "  All 3 numbers in MB/s are MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes):",
        "    raid0, rand write 4k (slip.csv:2): 51700 IOPS of 4,096 bytes are 211.8 MB/s,",
        "    not 201.95 MB/s.",
        "    raid5, rand write 4k (slip.csv:3): 53400 IOPS of 4,096 bytes are 218.7 MB/s,",
        "    not 208.59 MB/s.",
        "    raid6, rand write 4k (slip.csv:4): 55100 IOPS of 4,096 bytes are 225.7 MB/s,",
        "    not 215.23 MB/s.",
        "`raidtui explain CODE` explains a code.",
    ]


def test_groups_stand_beside_the_findings_as_json(engine, tmp_path, wrong):
    (tmp_path / "slip.csv").write_text(SLIPPED)
    document = json.loads(engine.run("lint", "--json", "slip.csv").out)
    assert len(document["findings"]) == 3
    assert document["groups"] == [{
        "file": "slip.csv", "code": "unit-slip",
        "sentence": "All 3 numbers in MB/s are MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes).",
        "where": [finding["where"] for finding in document["findings"]],
    }]  # fmt: skip
    both = json.loads(engine.run("lint", "--json", "slip.csv", wrong).out)
    assert [(group["file"], len(group["where"])) for group in both["groups"]] == [("slip.csv", 3), (wrong, 1)]
    assert both["groups"][1]["sentence"] == both["findings"][3]["sentence"]


def test_of_several_files_each_finding_names_its_file(engine, wrong, right):
    said = engine.run("lint", "--json", right, wrong)
    assert [finding["where"].startswith(wrong) for finding in json.loads(said.out)["findings"]] == [True]
    assert said.code == 5


def test_a_clean_file_is_a_sentence(engine, right):
    said = engine.run("lint", right)
    assert said.code == 0
    said_together = "".join(said.out.split())  # a long path is cut anywhere
    assert said_together.startswith(f"{right}:nocontradictionswerefoundin2numbers.Checked:claimsofthetext,")


def test_a_file_of_nearly_this_name_is_named(engine, right):
    said = engine.run("lint", right.replace("right", "rihgt"))
    assert said.code == 2
    assert f"Didyoumean{right}?" in "".join(said.err.split())


def test_shipped_tables_and_kept_runs_of_nearly_this_name_are_named(engine, tmp_path):
    assert "Did you mean habr-753322?" in engine.run("lint", "habr-75332").err
    assert "Did you mean habr-753322?" in engine.run("compare", "habr-75332").err
    results = tmp_path / "state" / "raidtui" / "results"
    for folder in (results.parent, results):
        folder.mkdir(mode=0o700, exist_ok=True, parents=True)
    (results / f"tiny-{made.RUN}.result.json").write_bytes(encode(made.result()))
    assert f"Did you mean {made.RUN}?" in engine.run("show", made.RUN[:-1]).err
    (tmp_path / "mine.csv").write_text(RIGHT)
    assert "Did you mean mine.csv?" in engine.run("show", "mime.csv").err


def test_show_of_a_published_table_names_the_article_and_its_tables(engine, right):
    said = engine.run("show", "habr-753322")
    assert said.code == 0
    assert "Software NVMe RAIDs of mdadm" in said.out
    assert "Published: https://habr.com/ru/articles/753322/" in said.out
    assert "Сводная таблица по дискам в системе: 42 numbers" in said.out
    assert json.loads(engine.run("show", "--json", "habr-753322").out)["run"] == "habr-753322"
    compared = " ".join(engine.run("compare", "habr-753322").out.split())
    assert "31 tables of it: 'Сводная таблица по дискам в системе', 'MDADM: RAID 0'" in compared
    assert "Source: a plain table (CSV, tabs, Markdown)" in engine.run("show", right).out


def test_what_was_not_understood_is_said_beside_the_findings(engine, tmp_path):
    (tmp_path / "x.csv").write_text(f"# claim: as fast as raid5\n{RIGHT}")
    said = engine.run("lint", "--json", "x.csv")
    assert (said.code, json.loads(said.out)["findings"]) == (0, [])
    assert said.err.startswith("x.csv:1: The bound of this claim was not understood")
    assert engine.run("lint", "habr-753322").err == ""


def test_a_result_of_raidtui_is_looked_at_too(engine, tmp_path):
    path = tmp_path / "one.json"
    path.write_bytes(encode(made.result()))
    assert engine.run("lint", str(path)).code == 0
    document = json.loads(encode(made.result()))
    for cell in document["cells"]:
        if cell.get("summary", {}).get("write"):
            cell["summary"]["write"]["bytes_per_s"] *= 3
            break
    path.write_text(json.dumps(document))
    said = engine.run("lint", "--json", str(path))
    assert {finding["code"] for finding in json.loads(said.out)["findings"]} == {"iops-bandwidth"}


def test_a_shipped_table_is_known_by_its_name(engine):
    assert engine.run("lint", "vitastor-ceph").code == 0
    assert engine.run("lint", "scenarios/published/habr-753322.json", "--json").code == 5


def test_every_code_is_explained(engine):
    for code in (one.code for one in vars(findings).values() if isinstance(one, Refusal)):
        assert explain(code)["code"] == code


def test_columns_may_be_mapped(engine, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("Aufbau;Lauf;Tempo;Vorgänge\nraid5;rand write 4k;31.2;49445.24\n")
    columns = (
        "--map",
        "layout=Aufbau",
        "--map",
        "workload=Lauf",
        "--map",
        "bandwidth:MB/s=Tempo",
        "--map",
        "iops=Vorgänge",
    )
    assert engine.run("lint", str(path)).code == 2
    said = engine.run("lint", "--json", str(path), *columns)
    assert [finding["computed"] for finding in json.loads(said.out)["findings"]] == [202.528]
    document = json.loads(engine.run("import", "table", str(path), *columns).out)
    assert [(f["metric"], f["unit"], f["place"]) for f in document["figures"]] == [
        ("bandwidth", "MB/s", "odd.csv:2"), ("iops", "IOPS", "odd.csv:2"),
    ]  # fmt: skip
    assert engine.run("lint", str(path), "--map", "colour=Tempo").code == 2


def test_what_holds_no_numbers_is_refused_by_name(engine, tmp_path):
    for name, content in (("a.json", '{"schema": "raidtui.scenario/1"}'), ("b.txt", "nothing\n"), ("c.json", "{")):
        (tmp_path / name).write_text(content)
        said = engine.run("lint", name)
        assert said.code == 2
        assert name in said.err


def test_hostile_labels_reach_the_terminal_as_escapes(engine, tmp_path):
    (tmp_path / "x.csv").write_text(f"layout,workload,IOPS,MB/s\n{made.HOSTILE},4k read,100,900\n")
    said = engine.run("lint", "x.csv")
    assert said.code == 5
    assert not set("\x1b\x7f\u202e") & set(said.out)


def test_a_table_stands_beside_a_result_and_like_workloads_share_a_column(engine, tmp_path):
    path = tmp_path / "my.json"
    path.write_bytes(encode(made.result()))
    (tmp_path / "theirs.csv").write_text(
        "layout,workload,IOPS\ntheir raid1,durable write,1500\n"
        "# command durable write: fio --rw=randwrite --bs=4k --iodepth=1 --fsync=1\n"
    )
    said = engine.run("compare", str(path), "theirs.csv", "--json")
    assert said.code == 0
    document = json.loads(said.out)
    row = next(row for row in document["rows"] if row["label"] == "their raid1")
    entry = row["entries"][document["workloads"].index("sync-4k")]
    assert entry["median"] == 1500
    said = engine.run("compare", str(path), "habr-753322", "--format", "md")
    assert "mdadm-local-raid5-ppl" in said.out
    # Of a table nobody knows a run, a server or a beginning.
    assert "- result 2: habr-753322, 198 of 198 cells valid" in said.out


def test_what_import_writes_is_read_again(engine, right, tmp_path):
    assert engine.run("import", right, "-o", "t.table.json").code == 0
    assert Path("t.table.json").exists()
    assert engine.run("lint", "t.table.json").code == 0
    assert json.loads(engine.run("import", "t.table.json").out) == json.loads(Path("t.table.json").read_text())
    assert engine.run("import", "t.table.json", "t.table.json").code == 2
    Path("result.json").write_bytes(encode(made.result()))
    assert json.loads(engine.run("import", "result.json").out)["schema"] == "raidtui.table/1"


def test_several_results_of_dd_are_not_taken_for_a_table_too(engine, tmp_path):
    said = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, {} s, {} MB/s\n"
    (tmp_path / "dd.txt").write_text(said.format("2.10325", 511) + said.format("2.20325", 487))
    imported = engine.run("import", "dd.txt")
    assert imported.code == 0
    assert list(json.loads(imported.out)["workloads"]) == ["dd", "dd 2"]


def test_a_run_is_given_by_its_name_or_its_folder(engine, tmp_path):
    engine.answers(result={"result": made.result()})
    said = engine.run("lint", made.RUN)
    assert said.requests == [{"method": "result", "params": {"run": made.RUN}}]
    assert said.out.startswith(f"{made.RUN}: no contradictions were found in")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "result.json").write_bytes(encode(made.result()))
    assert engine.run("lint", "kept").out.startswith("kept: no contradictions were found in")
    assert engine.run("show", "kept").code == 0
