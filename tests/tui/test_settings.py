"""Settings of the operator: what is wrong in them is said, and spoils nothing else."""

from __future__ import annotations

from raidtui.tui.key_check import wrong_keys
from raidtui.tui.settings import read_config


def _read(folder, text):
    (folder / "config.toml").write_text(text)
    return read_config(folder)


def test_a_line_that_cannot_be_read_spoils_only_itself(tmp_path):
    config, wrong = _read(tmp_path, 'theme = "mine"\nnonsense\n[keys]\n"run.pause" = "p"\n"run.x" = p\n"app.quit" = "Q"\n')
    assert config.theme == "mine"
    assert config.keys == {"run.pause": "p", "app.quit": "Q"}
    assert wrong == ("config.toml: line 2 was ignored: nonsense", 'config.toml: line 5 was ignored: "run.x" = p')


def test_a_setting_of_another_kind_spoils_only_itself(tmp_path):
    config, wrong = _read(tmp_path, 'colour = 1\ntheme = 3\n[keys]\n"a" = 1\n"app.quit" = "Q"\n')
    assert config.keys == {"app.quit": "Q"}
    assert len(wrong) == 3
    assert "'colour' was ignored: there is no such setting" in wrong[0]


def test_no_file_and_an_empty_file_are_no_mistake(tmp_path):
    assert read_config(tmp_path)[1] == ()
    assert _read(tmp_path, "")[1] == ()


def test_an_unclosed_text_at_the_end_is_one_line(tmp_path):
    config, wrong = _read(tmp_path, 'theme = "mine"\n[keys]\n"app.quit" = "Q\n')
    assert config.theme == "mine"
    assert len(wrong) == 1


def test_unknown_ids_keys_and_clashes_are_told():
    told = list(wrong_keys({"app.quti": "Q", "compose.save": "u", "compose.copy": "nokey", "compose.move": "?"}))
    assert any("'app.quti'; did you mean app.quit?" in one for one in told)
    assert any("there is no key 'nokey'" in one for one in told)
    assert any("the key u is of compose.undo and of compose.save" in one or "compose.save and of compose.undo" in one
               for one in told)  # fmt: skip
    assert not list(wrong_keys({"compose.save": "ctrl+w", "app.quit": "Q"}))
