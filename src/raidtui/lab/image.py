"""The lab's image in the cache: built once from the recipe, shared by every lab and never changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from raidtui.base.files import private_folder, sync_folder
from raidtui.base.paths import cache_folder
from raidtui.lab import build, recipe
from raidtui.lab.state import LabFiles, lab_names, take_lock
from raidtui.lab.talk import Say
from raidtui.model.problem import ProblemError

_BUILDING = "building-"
_KEPT_IMAGES = 2


def images_folder() -> Path:
    return private_folder(cache_folder() / "lab")


def image_folder() -> Path:
    """Where the image of the current recipe is, or will be."""
    return images_folder() / recipe.recipe_hash()


def info(folder: Path) -> build.ImageInfo | None:
    """What is known of a finished image; None where there is none."""
    try:
        return msgspec.json.decode((folder / "image.json").read_bytes(), type=build.ImageInfo)
    except (OSError, msgspec.MsgspecError):
        return None


def ensure_image(say: Say) -> Path:
    """The image's folder, built first if need be. Safe to interrupt, and to call from two processes at once."""
    folder = image_folder()
    if info(folder) is not None:
        return folder
    with cache_lock("build", say):
        if info(folder) is not None:
            return folder
        _remove_leftovers()
        work = images_folder() / f"{_BUILDING}{os.getpid()}"
        work.mkdir(mode=0o700)
        try:
            if os.geteuid() == 0:
                build.build(work, images_folder() / "modules", say)
            else:
                build.build_through_sudo(work)
            if folder.exists():
                # Without its image.json it is no image, but a lab may still run on what it was.
                folder.rename(images_folder() / f"{_BUILDING}{os.getpid()}-broken")
            work.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        _remove_old(folder)
    return folder


@contextmanager
def cache_lock(name: str, say: Say, timeout_s: float = 3600.0) -> Iterator[None]:
    """Hold the cache's lock of that name, saying so while another holds it."""
    fd = os.open(images_folder() / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            take_lock(fd, 0.0, "")
        except ProblemError:
            say("waiting for another raidtui that prepares the same")
            take_lock(fd, timeout_s, "another raidtui prepares the lab's image and does not end")
        yield
    finally:
        os.close(fd)


def _remove_leftovers() -> None:
    """What an interrupted build left, processes too. Called with the build lock held, so nobody works there."""
    for path in images_folder().glob(f"{_BUILDING}*"):
        build.end_builders(path)
        shutil.rmtree(path, ignore_errors=True)


def _remove_old(current: Path) -> None:
    """Images of earlier recipes, except the newest of them and what labs still run on."""
    used = {Path(state.image) for name in lab_names() if (state := LabFiles(name).load()) is not None}
    images = [path for path in images_folder().iterdir() if info(path) is not None and path != current]
    images.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in images[_KEPT_IMAGES - 1 :]:
        if path not in used:
            shutil.rmtree(path, ignore_errors=True)
