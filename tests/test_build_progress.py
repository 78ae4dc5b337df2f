"""Progress of the build of the lab's image, from the folders that its tools fill."""

from __future__ import annotations

from pathlib import Path

from raidtui.lab.build_progress import BuildProgress

DKMS = "var/lib/dkms/zfs/2.3.9/build"


def fill(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_each_stage_is_counted_in_its_turn_and_none_comes_again(tmp_path: Path) -> None:
    lines: list[str] = []
    progress = BuildProgress(tmp_path, lines.append)
    progress.tell()
    assert lines == [], "nothing to count yet"

    fill(tmp_path, "var/lib/dpkg/status", text="Package: a\nStatus: install ok installed\n" * 95)
    progress.tell()
    assert lines.pop().startswith("packages of the compiler: 95 of 190, about")

    fill(tmp_path, *(f"{DKMS}/build/test_{number}/test.c" for number in range(250)))
    fill(tmp_path, *(f"{DKMS}/build/test_{number}/test.o" for number in range(50)))
    progress.tell()
    assert lines.pop().startswith("what this kernel has: 50 of 250, about")

    fill(tmp_path, f"{DKMS}/module/Kbuild.in", text="ZFS_OBJS := a.o os/linux/b.o \\\n c.o d.o\nspl-objs += a.o\n")
    fill(tmp_path, f"{DKMS}/module/a.o", f"{DKMS}/module/os/linux/b.o")
    progress.tell()
    assert lines.pop().startswith("files of the ZFS modules: 2 of 4, about")

    for path in sorted((tmp_path / DKMS).rglob("*.o")):
        path.unlink()
    progress.tell()
    assert lines == [], "finished modules are moved away"
