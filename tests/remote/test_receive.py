"""A version of raidtui comes into its folder whole or not at all, and goes only when nobody needs it."""

from __future__ import annotations

import multiprocessing
import os
import zlib
from pathlib import Path

import pytest

from raidtui.remote import receive
from raidtui.remote.pack import Code, local_code, version_of
from raidtui.remote.receive import Cannot, install, unpack

OWNER = os.geteuid()
FILES = {"raidtui/__init__.py": b"", "raidtui/__main__.py": b"print('here')\n"}
VERSION = version_of(sorted(FILES.items()))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return tmp_path / "opt/raidtui"


def put(top: Path, version: str = VERSION, files: dict[str, bytes] = FILES, link: bool = False) -> Path:
    return install(top, version, files, link=link, owner=OWNER)


def test_a_version_is_a_hash_of_names_and_contents() -> None:
    assert version_of(sorted(FILES.items())) == VERSION
    assert version_of([("raidtui/__init__.py", b"x"), ("raidtui/__main__.py", b"print('here')\n")]) != VERSION
    assert version_of([("raidtui/__init__.py", b""), ("raidtui/main.py", b"print('here')\n")]) != VERSION
    assert local_code().version == local_code().version
    assert local_code().version != local_code(()).version, "the libraries belong to it"


def test_the_libraries_are_brought_and_those_with_machine_code_stand_apart() -> None:
    names = {name for name, _ in local_code(("msgspec", "pyudev", "no-such-library")).files}
    assert "raidtui/shipped/libraries/any/pyudev/__init__.py" in names
    assert f"raidtui/shipped/libraries/{os.uname().machine}/msgspec/__init__.py" in names
    assert not [name for name in names if name.endswith((".pyc", ".pyi"))]


def test_what_was_sent_is_what_is_unpacked() -> None:
    code = Code(VERSION, tuple(sorted(FILES.items())))
    assert unpack(code.payload(), VERSION) == FILES
    with pytest.raises(Cannot, match="damaged"):
        unpack(code.payload()[:-3], VERSION)
    with pytest.raises(Cannot, match="damaged"):
        unpack(code.payload(), "0" * 16)
    outside = (("../x", b""),)
    with pytest.raises(Cannot, match="outside"):
        unpack(Code("", outside).payload(), version_of(outside))
    with pytest.raises(Cannot, match="damaged"):
        unpack(zlib.compress(b"[[\"a\", 9]]\nshort"), VERSION)


def test_it_is_complete_not_writable_by_others_and_put_there_once(top: Path) -> None:
    folder = put(top)
    assert folder == top / VERSION
    inode = folder.stat().st_ino
    assert put(top).stat().st_ino == inode
    assert (folder / "python").read_text().strip().startswith("/")
    for path in (top, folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o022 == 0
    assert [path.name for path in top.iterdir() if path.name.startswith(".new")] == []


def test_a_half_copy_is_removed_and_a_damaged_version_replaced(top: Path) -> None:
    (top / ".new-1/raidtui").mkdir(parents=True)
    (top / VERSION / "raidtui").mkdir(parents=True)
    folder = put(top)
    assert {path.name for path in top.iterdir()} == {VERSION, ".lock"}
    (folder / "raidtui/__main__.py").write_bytes(b"")
    assert (put(top) / "raidtui/__main__.py").read_bytes() == FILES["raidtui/__main__.py"]


def _race(top: Path, gate: object, ended: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    ended.put(str(put(top)))  # type: ignore[attr-defined]


def test_two_front_ends_at_once_leave_one_version(top: Path) -> None:
    kind = multiprocessing.get_context("fork")
    gate, ended = kind.Event(), kind.Queue()
    racing = [kind.Process(target=_race, args=(top, gate, ended)) for _ in range(4)]
    for one in racing:
        one.start()
    gate.set()
    assert {ended.get(timeout=60) for _ in racing} == {str(top / VERSION)}
    for one in racing:
        one.join(60)
    assert {path.name for path in top.iterdir()} == {VERSION, ".lock"}


@pytest.mark.parametrize("wrong", ["link", "group", "others", "file"])
def test_a_folder_that_others_may_change_is_refused(top: Path, wrong: str) -> None:
    top.parent.mkdir()
    if wrong == "link":
        (top.parent / "elsewhere").mkdir()
        top.symlink_to(top.parent / "elsewhere")
    elif wrong == "file":
        top.write_text("")
    else:
        top.mkdir()
        top.chmod(0o775 if wrong == "group" else 0o757)
    with pytest.raises((Cannot, FileExistsError)):
        put(top)
    if wrong == "link":
        assert list((top.parent / "elsewhere").iterdir()) == []


def test_a_folder_of_another_user_is_refused(top: Path) -> None:
    with pytest.raises(Cannot, match="belongs to user"):
        install(top, VERSION, FILES, owner=OWNER + 1)


def test_the_link_leads_to_the_latest_and_replaces_an_old_folder(top: Path) -> None:
    (top / "raidtui").mkdir(parents=True)
    put(top, link=True)
    assert (top / "raidtui").readlink() == Path(f"{VERSION}/raidtui")
    put(top, link=True)
    assert {path.name for path in top.iterdir()} == {VERSION, ".lock", "raidtui"}


def test_old_versions_go_unless_a_process_or_a_run_needs_them(top: Path, tmp_path: Path) -> None:
    put(top)
    for number in range(1, 8):
        old = top / f"{number:016x}"
        old.mkdir()
        os.utime(old, (number, number))
    proc, runs = tmp_path / "proc", tmp_path / "runs"
    (proc / "7").mkdir(parents=True)
    (proc / "7/cmdline").write_bytes(f"python3\0-I\0{top}/{1:016x}/raidtui/__main__.py\0runner\0".encode())
    for name, number in (("open", 2), ("ended", 3)):
        (runs / name).mkdir(parents=True)
        (runs / name / "code").write_text(f"{top}/{number:016x}\n")
    (runs / "ended/closed").touch()
    receive.remove_old(top, VERSION, proc, runs)
    left = {path.name for path in top.iterdir()} - {".lock"}
    assert left == {VERSION, *(f"{number:016x}" for number in (1, 2, 6, 7))}
