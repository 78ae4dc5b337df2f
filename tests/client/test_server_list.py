"""`--on` with several servers: lists, files, and what is refused."""

import pytest

from raidtui.client.places import place, unattended
from raidtui.client.server_list import MOST_SERVERS, is_list, read_list
from raidtui.model.problem import ProblemError


def refused(on):
    with pytest.raises(ProblemError) as caught:
        read_list(on)
    return caught.value.problems[0]


def test_one_name_is_no_list(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.json").write_text("{}")
    assert not any(map(is_list, ("", "stor1", "root@stor1", "lab:x", "sim", "sim:a", "sim:a,b.json")))
    assert all(map(is_list, ("a,b", "@servers", "sim:a,sim:b", "a,@more")))


def test_a_list_keeps_its_order_and_a_file_has_comments(tmp_path):
    file = tmp_path / "servers"
    file.write_text("# rack 4\nroot@stor1\n\n  stor2   # the new one\nsim:a+slow\n")
    assert read_list(f"@{file}") == ("root@stor1", "stor2", "sim:a+slow")
    assert read_list(f"stor0, @{file}") == ("stor0", "root@stor1", "stor2", "sim:a+slow")


@pytest.mark.parametrize(("on", "code"), [
    ("a,,b", "servers"), ("a,", "servers"), ("a,b,a", "server-twice"), ("a,-oProxyCommand=x", "place"),
    ("a,b c", "place"), ("a,sim:missing.json", "recording"), ("@missing", "file"),
])  # fmt: skip
def test_a_wrong_list_is_refused(on, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refused(on).code == code


@pytest.mark.parametrize("content", ["# nothing\n", "a b\n", "a,b\n", "@other\n", "".join(f"s{n}\n" for n in range(257))])
def test_a_wrong_file_is_refused(content, tmp_path):
    (tmp_path / "servers").write_text(content)
    assert refused(f"@{tmp_path / 'servers'}").code == "servers"
    assert MOST_SERVERS == 256


def test_ssh_of_one_of_many_asks_nothing():
    found = unattended(place("root@stor1"))
    assert found.unattended
    assert found.argv[:5] == ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20")
    assert found.argv[5:] == place("root@stor1").argv[1:]
