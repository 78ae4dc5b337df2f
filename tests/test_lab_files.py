"""The lab's own files: sparse disks, recipe, initrd, ssh configuration, code that is sent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raidtui.cli.main import main
from raidtui.lab import disks, image, initrd, life, qemu, recipe, ssh
from raidtui.lab.flavours import CEPH, PLAIN
from raidtui.lab.state import LabFiles
from raidtui.model.problem import ProblemError, fail

SIZE = 4 << 20


def sparse_file(path: Path, writes: list[tuple[int, bytes]]) -> Path:
    disks.make_sparse(path, SIZE)
    with path.open("r+b") as file:
        for offset, data in writes:
            file.seek(offset)
            file.write(data)
    return path


def test_a_new_disk_is_zero_and_takes_no_room(tmp_path: Path) -> None:
    path = sparse_file(tmp_path / "disk", [])
    assert disks.is_zero(path)
    assert path.stat().st_blocks == 0


def test_written_zeroes_and_holes_hash_alike(tmp_path: Path) -> None:
    with_hole = sparse_file(tmp_path / "a", [(8192, b"data")])
    with_zeroes = sparse_file(tmp_path / "b", [(0, bytes(SIZE)), (8192, b"data")])
    assert with_zeroes.stat().st_blocks > with_hole.stat().st_blocks
    assert disks.content_hash(with_hole) == disks.content_hash(with_zeroes)
    assert not disks.is_zero(with_zeroes)


def test_explicit_zeroes_are_zero(tmp_path: Path) -> None:
    assert disks.is_zero(sparse_file(tmp_path / "a", [(0, bytes(SIZE))]))


def test_one_byte_anywhere_is_seen(tmp_path: Path) -> None:
    blank = disks.content_hash(sparse_file(tmp_path / "blank", []))
    for offset in (0, 4095, 4096, SIZE - 1):
        path = sparse_file(tmp_path / str(offset), [(offset, b"\1")])
        assert disks.content_hash(path) != blank
        assert not disks.is_zero(path)


def test_the_same_data_elsewhere_is_another_disk(tmp_path: Path) -> None:
    first = sparse_file(tmp_path / "a", [(4096, b"data")])
    second = sparse_file(tmp_path / "b", [(8192, b"data")])
    assert disks.content_hash(first) != disks.content_hash(second)


@settings(max_examples=30, deadline=None)
@given(writes=st.lists(st.tuples(st.integers(0, SIZE - 20000), st.binary(min_size=1, max_size=20000)), max_size=5))
def test_hashes_are_equal_exactly_where_contents_are(tmp_path_factory: pytest.TempPathFactory,
                                                     writes: list[tuple[int, bytes]]) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("sparse")
    path = sparse_file(folder / "a", writes)
    whole = folder / "b"
    whole.write_bytes(path.read_bytes())
    assert disks.content_hash(path) == disks.content_hash(whole)
    assert disks.is_zero(path) == (not path.read_bytes().strip(b"\0"))


def test_a_disk_of_many_gibibytes_is_hashed_in_no_time(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    disks.make_sparse(path, 1 << 40)
    with path.open("r+b") as file:
        file.seek(1 << 39)
        file.write(b"x")
    assert len(disks.content_hash(path)) == 64


def test_the_recipe_has_the_same_hash_every_time_and_another_for_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    first = recipe.recipe_hash()
    assert first == recipe.recipe_hash()
    monkeypatch.setattr(recipe, "PACKAGES", (*recipe.PACKAGES, "hello"))
    assert recipe.recipe_hash() != first


def test_a_flavour_has_an_image_of_its_own_which_follows_the_plain_recipe_and_its_own_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert PLAIN.image_name() == recipe.recipe_hash()
    plain, first = PLAIN.image_name(), CEPH.image_name()
    assert first.startswith("ceph-")
    folder = tmp_path / "files"
    assert CEPH.folder is not None
    shutil.copytree(CEPH.folder, folder)
    copied = CEPH._replace(folder=folder)
    assert copied.image_name() == first
    (folder / "root/etc/ceph/ceph.conf").write_text("[global]\n")
    assert copied.image_name() != first
    assert PLAIN.image_name() == plain
    monkeypatch.setattr(recipe, "PACKAGES", (*recipe.PACKAGES, "hello"))
    assert CEPH.image_name() != first


def test_images_of_one_flavour_do_not_push_out_those_of_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    made = image.images_folder()
    for age, (name, flavour) in enumerate([("p1", ""), ("c1", "ceph"), ("p2", ""), ("c2", "ceph"), ("c3", "ceph")]):
        (made / name).mkdir()
        described = {"kernel": "6", "zfs": "2", "build_seconds": 1, "flavour": flavour}
        (made / name / "image.json").write_text(json.dumps(described))
        os.utime(made / name, (age, age))
    image._remove_old(made / "c3", CEPH)
    assert {path.name for path in made.iterdir() if path.is_dir()} == {"p1", "p2", "c2", "c3"}


@pytest.mark.parametrize(("words", "said"), [(["--with", "ceph", "--hosts", "2"], "one machine, without clients"),
                                             (["--with", "cephfs"], "invalid choice")])  # fmt: skip
def test_a_flavour_that_cannot_be_had_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(life, "ensure_image", lambda *_: pytest.fail("an image is built"))
    with suppress(SystemExit):
        assert main(["lab", "up", "x", *words]) != 0
    assert said in capfd.readouterr().err


def test_the_recipe_covers_every_file_of_the_guest() -> None:
    names = {str(path.relative_to(recipe.GUEST_FOLDER)) for path in recipe.guest_files()}
    assert {"init", "setup.sh", "root/usr/local/bin/raidtui"} <= names


def test_the_initrd_is_an_archive_with_aligned_headers_and_data() -> None:
    data = initrd.pack(
        [initrd.folder("bin"), initrd.file("bin/tool", b"content", 0o755), initrd.Entry("bin/link", 0o120777, b"tool")]
    )
    read, at = {}, 0
    while at < len(data):
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        start = at + 110 + name_size + -(at + 110 + name_size) % 4
        read[name] = (mode, data[start : start + size])
        at = start + size + -(start + size) % 4
    assert read == {
        "bin": (0o040755, b""), "bin/tool": (0o100755, b"content"), "bin/link": (0o120777, b"tool"), "TRAILER!!!": (0, b""),
    }  # fmt: skip


def test_modules_are_loaded_after_what_they_need() -> None:
    dep = "fs/ext4.ko.xz: fs/jbd2.ko.xz lib/crc-16.ko.xz\nlib/crc-16.ko.xz:\nblock/virtio_blk.ko:\n"
    assert initrd.load_order(dep, ("virtio_blk", "ext4", "crc_16", "built_in")) == [
        "block/virtio_blk.ko", "lib/crc-16.ko.xz", "fs/jbd2.ko.xz", "fs/ext4.ko.xz",
    ]  # fmt: skip


def test_the_ssh_configuration_is_read_by_ssh_and_uses_nothing_of_the_operators(tmp_path: Path) -> None:
    image, config = tmp_path / "image", tmp_path / "a lab" / "ssh_config"
    image.mkdir()
    for name in ("key", "known_hosts"):
        (image / name).write_text(name)
    ssh.write_config(config, 12345, image, tmp_path / "master")
    shown = subprocess.run(["ssh", "-G", "-F", str(config), ssh.HOST], capture_output=True, text=True, check=True).stdout
    lines = set(shown.splitlines())
    assert {"hostname 127.0.0.1", "port 12345", "user root", "identitiesonly yes", "batchmode yes"} <= lines
    assert "stricthostkeychecking true" in lines
    assert f"userknownhostsfile {config.parent / 'known_hosts'}" in lines
    assert config.stat().st_mode & 0o077 == 0
    assert (config.parent / "key").stat().st_mode & 0o077 == 0


def test_a_session_of_its_own_shares_no_connection(tmp_path: Path) -> None:
    assert "ControlPath=none" in ssh.argv(tmp_path, multiplexed=False)
    assert "ControlPath=none" not in ssh.argv(tmp_path)


def test_the_code_that_is_sent_to_a_guest_is_all_of_the_package_and_no_library() -> None:
    names = {name for name, _ in ssh.code().files}
    assert {"raidtui/__init__.py", "raidtui/__main__.py", "raidtui/lab/guest/setup.sh"} <= names
    assert "raidtui/shipped/scenarios/md-local.json" in names
    assert not [name for name in names if "__pycache__" in name or "shipped/libraries" in name]


@pytest.mark.parametrize("name", ["", "-x", "a/b", "..", "A", "a" * 33, "a b", "a\n"])
def test_a_labs_name_cannot_lead_elsewhere(name: str) -> None:
    with pytest.raises(ProblemError):
        LabFiles(name)


def test_sockets_have_short_paths_even_in_a_deep_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("deep" * 40)))
    assert len(str(LabFiles("a" * 32).ssh_master)) < 80


def test_every_port_is_in_the_machine_that_the_snapshot_knows() -> None:
    argv = qemu.machine_argv("tcg", 2)
    assert sum(word.startswith("pcie-root-port") for word in argv) >= 28


def test_a_saved_machine_is_for_one_number_of_cpus() -> None:
    assert qemu.snapshot_key("tcg", 1, "") != qemu.snapshot_key("tcg", 2, "")


def test_a_labs_lock_excludes_others_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    files = LabFiles("locked")
    with files.lock(), pytest.raises(ProblemError, match="still works"), LabFiles("locked").lock(timeout_s=0.3):
        pass
    assert list(files.folder.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("answers", "lives", "starts"), [((False, True), True, 2), ((False, False), True, 2), ((False,), False, 1)]
)
def test_a_loaded_machine_that_does_not_answer_is_loaded_anew_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: tuple[bool, ...], lives: bool, starts: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    left, limits, said = list(answers), [], []

    def start(files: LabFiles, specs: object, say: object, answer_s: float, **_: object) -> str:
        limits.append(answer_s)
        if not left.pop(0):
            raise fail(life.LAB_BOOT, "lab x did not answer")
        return "up"

    monkeypatch.setattr(life, "_start_new", start)
    monkeypatch.setattr(life, "take_down", lambda files: None)
    monkeypatch.setattr(LabFiles, "lab_pids", lambda self: [1] if lives else [])
    for name in ("require_packages", "ensure_image", "ensure_snapshot"):
        monkeypatch.setattr(life, name, lambda *_: None)
    if answers[-1]:
        assert life.up("x", [], said.append) == "up"
    else:
        with pytest.raises(ProblemError, match="did not answer"):
            life.up("x", [], said.append)
    assert len(limits) == starts
    assert said.count("lab x did not answer; it is loaded anew") == starts - 1
