"""Real processes that are looked after: given up when nothing moves, never because they take long."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from raidtui.base import attention, proc
from raidtui.base.attention import Attention, Told, Watch, attending
from raidtui.base.silence import Silent

LIMIT_S = 0.8
LONG_S = 2.4
"""Duration of work that goes on for longer than the limit of silence."""


@pytest.fixture
def sys_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Disks whose counters a test writes itself: no test may have a disk."""
    folder = tmp_path / "block"
    monkeypatch.setattr(attention, "_SYS_BLOCK", folder)
    return folder


def put(sys_block: Path, name: str, *, writes: int = 0, sectors: int = 0, in_flight: int = 0, discarded: int = 0) -> None:
    (sys_block / name).mkdir(parents=True, exist_ok=True)
    stat = f"1 0 8 1 {writes} 0 {sectors} 9 {in_flight} 99 99 0 0 {discarded} 0 0 0\n"
    (sys_block / name / "new").write_text(stat)
    (sys_block / name / "new").rename(sys_block / name / "stat")


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", code)


def run(argv: tuple[str, ...], **how: object) -> proc.Finished:
    with attending(Attention(limit_s=LIMIT_S, **how)):  # type: ignore[arg-type]
        return proc.run(argv)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_one_that_writes_now_and_then_is_waited_for(tmp_path: Path) -> None:
    code = f"""
import os, time
fd = os.open({str(tmp_path / "written")!r}, os.O_WRONLY | os.O_CREAT)
for _ in range(int({LONG_S} / 0.3)):
    os.write(fd, b"x")
    time.sleep(0.3)
print("done")
"""
    assert run(python(code)).text == "done\n"


def test_one_that_only_computes_is_waited_for() -> None:
    code = f"import time\nuntil = time.monotonic() + {LONG_S}\nwhile time.monotonic() < until: pass\nprint('done')"
    assert run(python(code)).text == "done\n"


def test_work_of_what_it_started_is_its_own() -> None:
    burn = f"import time\nuntil = time.monotonic() + {LONG_S}\nwhile time.monotonic() < until: pass"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-I', '-c', {burn!r}])\nprint('done')"
    assert run(python(code)).text == "done\n"


def test_work_of_another_thread_than_its_first_is_its_own() -> None:
    code = f"""
import threading, time
def burn():
    until = time.monotonic() + {LONG_S}
    while time.monotonic() < until: pass
thread = threading.Thread(target=burn)
thread.start()
thread.join()
print("done")
"""
    assert run(python(code)).text == "done\n"


def test_one_that_does_nothing_is_given_up_and_ended() -> None:
    began = time.monotonic()
    with pytest.raises(proc.ToolStuck) as stuck:
        run(("/bin/sleep", "60"))
    assert stuck.value.reason.startswith("has done nothing for ")
    assert stuck.value.argv == ("/bin/sleep", "60")
    assert time.monotonic() - began < 30


def test_what_it_started_is_ended_with_it(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    code = (
        "import subprocess\np = subprocess.Popen(['/bin/sleep', '61'])\n"
        f"open({str(said)!r}, 'w').write(str(p.pid))\np.wait()"
    )
    with pytest.raises(proc.ToolStuck):
        run(python(code))
    assert not is_there(int(said.read_text()))


def test_one_that_waits_while_its_disk_completes_is_waited_for(sys_block: Path) -> None:
    put(sys_block, "sda")
    over = threading.Event()

    def disk() -> None:
        writes = 0
        while not over.wait(0.3):
            put(sys_block, "sda", writes=(writes := writes + 1), sectors=2048 * writes, in_flight=2)

    thread = threading.Thread(target=disk)
    thread.start()
    told: list[Told] = []
    try:
        run(("/bin/sleep", str(LONG_S)), disks=("sda",), tell=told.append)
    finally:
        over.set()
        thread.join()
    assert told[-1].what == "sleep"
    assert 0 < told[-1].written_bytes <= 12 << 20
    assert told[-1].seconds > 2


def test_the_disk_that_does_not_answer_is_named(sys_block: Path) -> None:
    put(sys_block, "sda", writes=3)
    put(sys_block, "nvme2n1", writes=5, in_flight=4)
    with pytest.raises(proc.ToolStuck) as stuck:
        run(("/bin/sleep", "60"), disks=("sda", "nvme2n1", "gone"))
    assert stuck.value.disk == "nvme2n1"
    assert "nvme2n1 has 4 requests in flight and completes none: the device does not answer" in stuck.value.reason


def test_a_cancel_ends_it_at_once_and_is_passed_on() -> None:
    class CancelledError(Exception):
        pass

    began = time.monotonic()

    def check() -> None:
        if time.monotonic() - began > 0.5:
            raise CancelledError

    burn = "import os, time\nwhile True: os.getpid()"
    with pytest.raises(CancelledError), attending(Attention(check=check)):
        proc.run(python(burn))
    assert time.monotonic() - began < 30


def test_one_that_ignores_a_polite_word_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(proc.Child.end, "__defaults__", (0.3, 5.0))
    said = tmp_path / "pid"
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(said)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    )
    with pytest.raises(proc.ToolStuck):
        run(python(code))
    assert not is_there(int(said.read_text()))


def test_one_that_cannot_be_killed_is_said_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only a hung disk makes a process immortal: here the kernel's answer is faked.
    usual = proc.Child.end

    def end(child: proc.Child) -> None:
        usual(child)

    monkeypatch.setattr(proc.Child, "end", end)
    with pytest.raises(proc.ToolStuck, match=r"process \d+ waits in the kernel and cannot be killed"):
        run(("/bin/sleep", "60"))

    def check() -> None:
        raise ValueError("cancelled")

    with pytest.raises(proc.ToolStuck, match="cannot be killed"), attending(Attention(check=check)):
        proc.run(("/bin/sleep", "60"))


def test_a_deadline_is_one_whatever_moves() -> None:
    with pytest.raises(proc.ToolTimeout, match=r"no answer within 0\.5 s"):
        proc.run(python("while True: pass"), timeout_s=0.5)


def test_processes_are_ended_politely_first(tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = (
        "import signal, sys, time\n"
        f"def polite(*_):\n    open({str(said)!r}, 'w').write('term')\n    sys.exit()\n"
        "signal.signal(signal.SIGTERM, polite)\nprint('ready', flush=True)\ntime.sleep(60)"
    )
    child = proc.spawn(python(code), stdout=proc.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    reaper = threading.Thread(target=child.wait, args=(30.0,))
    reaper.start()
    assert proc.end_all([child.pid]) == []
    reaper.join()
    child.stdout.close()
    assert said.read_text() == "term"
    assert proc.end_all([child.pid]) == []


def test_a_thread_is_looked_at_by_its_own_work() -> None:
    idle = threading.Event()
    thread = threading.Thread(target=idle.wait, args=(60.0,))
    thread.start()
    tid = thread.native_id or 0
    with attending(Attention(limit_s=0.4)):
        watch = Watch("waiting", lambda: attention.work_of_thread(tid))

    def work_beside_it() -> None:
        while True:
            sum(range(1000))
            watch.tick()

    try:
        with pytest.raises(Silent):
            work_beside_it()
    finally:
        idle.set()
        thread.join()


def test_a_tool_of_many_verbs_is_called_by_them() -> None:
    assert proc.name_of(("/usr/sbin/lvm", "lvcreate", "-n", "x")) == "lvm lvcreate"
    assert proc.name_of(("mkfs.ext4", "-F", "/dev/x")) == "mkfs.ext4"
    assert proc.name_of(("/usr/bin/umount", "/run/x")) == "umount"


def test_a_process_that_only_waits_for_another_looks_like_one_that_does_nothing() -> None:
    """A child of the runner (the builder) waits for a tool on a disk that hangs: its own looks would count as progress."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from raidtui.base import proc
print("waits", flush=True)
proc.run(("sleep", "60"), watched=False)
"""
    child = proc.spawn(python(code), stdout=proc.PIPE)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"waits\n"
        watch = Watch("sleep", lambda: attention.work_of([child.pid]), LONG_S)

        def look(seconds: float) -> None:
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s:
                watch.tick()
                time.sleep(0.05)

        with pytest.raises(Silent):
            look(4 * LONG_S)
    finally:
        proc.end_all([*attention.descendants(child.pid), child.pid])
        child.wait(5.0)
        child.stdout.close()
