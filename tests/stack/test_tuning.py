"""Setting and putting back, on files that stand for the kernel's: what is remembered, when, and what is put back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from raidtui.model.problem import ProblemError, fail
from raidtui.model.refusals import STUCK
from raidtui.stack.context import Context
from raidtui.stack.tuning import apply
from raidtui.stack.tuning.apply import recall
from raidtui.stack.tuning.spec import SettingOfDevice, Settings

UUID = "11111111-2222-3333-4444-555555555555"
QUEUE = {"scheduler": "[none] mq-deadline", "nr_requests": "1023", "read_ahead_kb": "128", "write_cache": "write back"}


class Server:
    """Two disks, an array and a CPU in a folder of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.block, self.folder, self.boot = folder / "block", folder / "run", "boot-1"
        for number, name in enumerate(("sda", "sdb", "md127"), 1):
            for file, value in QUEUE.items():
                self.put(f"{name}/queue/{file}", value)
            self.put(f"{name}/diskseq", str(number))
        self.put("md127/md/stripe_cache_size", "256")
        self.folder.mkdir()
        monkeypatch.setattr(apply, "SYS_BLOCK", self.block)
        monkeypatch.setattr(apply, "boot_id", lambda: self.boot)
        self.context = Context("20260101-000000-abcdefgh", self.folder, {}, lambda *_: None, threading.Event())
        self.context.built = {f"md:{name}": f"/dev/{name}" for name in ("sda", "sdb", "md127")}

    def put(self, file: str, value: str) -> None:
        path = self.block / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def get(self, file: str) -> str:
        return (self.block / file).read_text().strip()

    def remembers(self) -> dict[str, str]:
        memory = recall(self.folder, Settings(UUID, ()))
        return {entry.what: entry.found for entry in memory.entries} if memory else {}


def args(**values: str) -> Settings:
    """`sda_read_ahead_kb="64"` and the like."""
    settings = []
    for name, value in values.items():
        device, _, file = name.partition("_")
        folder = "md" if file == "stripe_cache_size" else "queue"
        settings.append(SettingOfDevice(f"md:{device}", f"{folder}/{file}", value))
    return Settings(UUID, tuple(settings))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(tmp_path, monkeypatch)


def test_what_was_asked_found_set_and_restored_is_recorded(server: Server) -> None:
    asked = args(sda_read_ahead_kb="1024", md127_stripe_cache_size="4096")
    done = apply.set_all(server.context, asked)
    assert done.facts["tuning"] == {
        "sda queue/read_ahead_kb": {"asked": "1024", "found": "128", "set": "1024"},
        "md127 md/stripe_cache_size": {"asked": "4096", "found": "256", "set": "4096"},
    }
    back = apply.put_back(server.context, asked)
    assert back.result == "undone"
    assert {what: facts["restored"] for what, facts in back.facts["tuning"].items()} == {
        "sda queue/read_ahead_kb": "128", "md127 md/stripe_cache_size": "256",
    }  # fmt: skip
    assert apply.put_back(server.context, asked).result == "nothing to do"


def test_what_was_found_is_remembered_before_the_first_value_changes(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        apply.set_all(server.context, args(sda_read_ahead_kb="1024", sdb_write_cache="write through"))
    assert server.remembers() == {"sda queue/read_ahead_kb": "128", "sdb queue/write_cache": "write back"}


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_a_kill_between_two_values_leaves_nothing_that_is_not_put_back(
    server: Server, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    asked = args(sda_scheduler="mq-deadline", sda_read_ahead_kb="64", sdb_read_ahead_kb="64")
    original, count = apply.write, 0

    def write(file: Path, value: str) -> None:
        nonlocal count
        original(file, value)
        if (count := count + 1) == writes:
            raise KeyboardInterrupt

    monkeypatch.setattr(apply, "write", write)
    with pytest.raises(KeyboardInterrupt):
        apply.set_all(server.context, asked)
    monkeypatch.setattr(apply, "write", original)
    apply.put_back(server.context, asked)
    assert (server.get("sda/queue/scheduler"), server.get("sda/queue/read_ahead_kb")) in [
        ("none", "128"), ("[none] mq-deadline", "128"),
    ]  # fmt: skip
    assert server.get("sdb/queue/read_ahead_kb") == "128"


def test_what_a_new_scheduler_changes_is_put_back_with_it(server: Server) -> None:
    server.put("sda/queue/scheduler", "none [mq-deadline]")
    server.put("sda/queue/iosched/read_expire", "333")
    asked = args(sda_scheduler="none")
    apply.set_all(server.context, asked)
    server.put("sda/queue/nr_requests", "64")
    server.put("sda/queue/iosched/read_expire", "500")
    apply.put_back(server.context, asked)
    assert server.get("sda/queue/nr_requests") == "1023"
    assert server.get("sda/queue/iosched/read_expire") == "333"


def test_a_device_that_is_gone_or_is_another_one_now_is_left_alone(server: Server) -> None:
    asked = args(sda_read_ahead_kb="1024", sdb_read_ahead_kb="1024")
    apply.set_all(server.context, asked)
    (server.block / "sda/diskseq").unlink()
    server.put("sdb/diskseq", "77")
    back = apply.put_back(server.context, asked)
    assert back.result == "nothing to do"
    assert {facts["restored"] for facts in back.facts["tuning"].values()} == {apply.GONE}
    assert server.get("sdb/queue/read_ahead_kb") == "1024"
    assert server.remembers() == {}


def test_a_restart_has_put_everything_back_by_itself(server: Server) -> None:
    asked = args(sda_read_ahead_kb="1024")
    apply.set_all(server.context, asked)
    server.boot = "boot-2"
    assert apply.put_back(server.context, asked).result == "nothing to do"
    assert server.get("sda/queue/read_ahead_kb") == "1024"


def test_what_could_not_be_put_back_is_named_and_tried_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = args(sda_read_ahead_kb="1024", sdb_read_ahead_kb="1024")
    apply.set_all(server.context, asked)
    original = apply.write
    monkeypatch.setattr(apply, "write", lambda file, value: original(file, value) if "sdb" in str(file) else None)
    with pytest.raises(ProblemError) as error:
        apply.put_back(server.context, asked)
    (problem,) = error.value.problems
    assert (problem.code, problem.exit) == ("tuning-left", 6)
    assert "sda queue/read_ahead_kb" in problem.message
    assert server.get("sdb/queue/read_ahead_kb") == "128"
    monkeypatch.setattr(apply, "write", original)
    assert apply.put_back(server.context, asked).result == "undone"
    assert server.get("sda/queue/read_ahead_kb") == "128"


def test_a_device_that_hangs_is_waited_for_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = args(sda_read_ahead_kb="1024", sda_nr_requests="32", sdb_read_ahead_kb="1024")
    apply.set_all(server.context, asked)
    original, waited = apply.read, []

    def read(file: Path) -> str | None:
        if "sda" in str(file):
            waited.append(file)
            raise fail(STUCK, "no answer")
        return original(file)

    monkeypatch.setattr(apply, "read", read)
    with pytest.raises(ProblemError) as error:
        apply.put_back(server.context, asked)
    assert [problem.code for problem in error.value.problems] == ["tuning-left"]
    assert len(waited) == 1
    assert server.get("sdb/queue/read_ahead_kb") == "128"


def test_a_value_that_does_not_hold_while_it_is_measured_spoils_the_cell(server: Server) -> None:
    asked, action = args(sda_scheduler="mq-deadline"), apply.actions(())["tune.set"]
    apply.set_all(server.context, asked)
    assert action.health(server.context, asked) == ()
    server.put("sda/queue/scheduler", "[none] mq-deadline")
    assert action.health(server.context, asked) == ("sda queue/scheduler is none now, not mq-deadline as it was set",)
    server.put("sda/diskseq", "9")
    assert action.health(server.context, asked) == ("sda queue/scheduler is gone with its device",)


def test_what_the_kernel_does_not_offer_is_refused_before_anything_is_set(server: Server) -> None:
    with pytest.raises(ProblemError) as error:
        apply.set_all(server.context, args(sda_read_ahead_kb="1024", sda_stripe_cache_size="512"))
    (problem,) = error.value.problems
    assert (problem.code, problem.exit) == ("tuning-not-offered", 4)
    assert server.get("sda/queue/read_ahead_kb") == "128"
    assert server.remembers() == {}


def test_a_value_that_is_read_back_otherwise_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "write", lambda *_: None)
    with pytest.raises(ProblemError) as error:
        apply.set_all(server.context, args(sda_write_cache="write through"))
    assert error.value.problems[0].code == "tuning-not-taken"
    assert "write back, not write through" in error.value.problems[0].message


@pytest.mark.parametrize(
    ("file", "asked", "now", "held"),
    [
        ("queue/read_ahead_kb", "130", "128", True),
        ("queue/read_ahead_kb", "1024", "128", False),
        ("queue/nr_requests", "2", "4", True),
        ("queue/nr_requests", "63", "1023", False),
        ("queue/scheduler", "bfq", "none", False),
        ("md/stripe_cache_size", "4096", "4095", False),
        ("/sys/module/zfs/parameters/zfs_txg_timeout", "0x10", "16", True),
        ("/sys/module/zfs/parameters/zfs_txg_timeout", "10", None, False),
    ],
)
def test_only_what_the_kernel_rounds_may_differ(file: str, asked: str, now: str | None, held: bool) -> None:
    assert apply.holds(file, asked, now) == held


@pytest.mark.parametrize(
    ("text", "value"),
    [("[none] mq-deadline kyber", "none"), ("none [bfq]", "bfq"), ("1000 (system)", "system"), ("9765 (local)", "9765"),
     ("write through", "write through"), ("cycle [fastest] original", "fastest"), ("5", "5")],
)  # fmt: skip
def test_a_setting_is_read_as_it_would_be_written(tmp_path: Path, text: str, value: str) -> None:
    (tmp_path / "it").write_text(f"{text}\n")
    assert apply.read(tmp_path / "it") == value


def test_the_cpu_governor_is_set_and_put_back_on_every_cpu(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = f"{tmp_path}/cpufreq/policy*/scaling_governor"
    monkeypatch.setattr(apply, "GOVERNORS", pattern)
    asked = Settings(UUID, (SettingOfDevice("", pattern, "performance"),))
    with pytest.raises(ProblemError) as error:
        apply.set_all(server.context, asked)
    assert error.value.problems[0].code == "tuning-not-offered"
    files = [tmp_path / f"cpufreq/policy{number}/scaling_governor" for number in (0, 1)]
    for file, value in zip(files, ("powersave", "schedutil"), strict=True):
        file.parent.mkdir(parents=True)
        file.write_text(f"{value}\n")
    done = apply.set_all(server.context, asked)
    assert done.facts["tuning"]["policy1 scaling_governor"]["found"] == "schedutil"
    assert done.commands == (("sh", "-c", f"echo performance | tee {pattern}"),)
    assert [file.read_text() for file in files] == ["performance\n"] * 2
    apply.put_back(server.context, asked)
    assert [file.read_text() for file in files] == ["powersave\n", "schedutil\n"]
