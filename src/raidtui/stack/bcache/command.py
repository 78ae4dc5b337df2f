"""The commands of the bcache layer: make-bcache, and writing into files of sysfs, as a shell would write it.

The lines for a shell (`sh -c …`) show in plans and journals what raidtui does itself: no shell is started.

Below the set's folder, `bdev0` is the backing device and `cache0` the cache device: these paths are known before either is
there. Only what is done to the backing device alone goes through its own folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.bcache.rules import MISSING
from raidtui.stack.bcache.spec import BcacheDevice
from raidtui.stack.calls import TOOL_FAILED, CallFailed, bounded, stuck

FOLDER: Final = "/sys/fs/bcache"
REGISTER: Final = f"{FOLDER}/register"
LOAD: Final[Argv] = ("modprobe", "bcache")


def node_path(backing_uuid: str) -> str:
    """Return the path under which udev shows the device."""
    return f"/dev/bcache/by-uuid/{backing_uuid}"


def write_argv(path: str, value: str) -> Argv:
    """Return the equivalent shell command of writing a value into a file."""
    return ("sh", "-c", f"echo {value} > {path}")


def set_path(cached: BcacheDevice, file: str) -> str:
    """A file of the set, of its backing device (`bdev0/…`) or of its cache device (`cache0/…`)."""
    return f"{FOLDER}/{cached.uuid}/{file}"


def own_path(device_path: str, file: str) -> str:
    """A file of what bcache made of this device."""
    name = device_path.removeprefix("/dev/")
    if "/" in name:
        name = f"$(basename $(readlink -f {device_path}))"
    return f"/sys/class/block/{name}/bcache/{file}"


def make_argv(cached: BcacheDevice, role: str, path: str) -> Argv:
    """make-bcache for one device. Both get the set's UUID, so that they find each other when they are registered."""
    argv = ["make-bcache", "--cset-uuid", cached.uuid, "--block", str(cached.block_bytes)]
    if role == "backing":
        if cached.data_offset_bytes is not None:
            argv += ["--data-offset", str(cached.data_offset_bytes // 512)]
        return (*argv, "--bdev", path)
    argv += ["--bucket", str(cached.bucket_bytes)]
    if cached.discard:
        argv.append("--discard")
    return (*argv, "--cache", path)


def name_argv(cached: BcacheDevice) -> Argv:
    """Return the equivalent shell command of `build.py:_name`, for which only the kernel knows the device's name."""
    link = node_path(cached.backing.uuid)
    node = f"/dev/$(basename $(readlink -f {set_path(cached, 'bdev0/dev')}))"
    return ("sh", "-c", f"udevadm trigger --settle {node} && mkdir -p /dev/bcache/by-uuid && ln -sfn {node} {link}")


def create_argvs(cached: BcacheDevice, backing: str, cache: str) -> tuple[Argv, ...]:
    naming = (name_argv(cached),) if cached.data_offset_bytes is not None else ()
    return (
        LOAD,
        make_argv(cached, "cache", cache),
        make_argv(cached, "backing", backing),
        write_argv(REGISTER, cache),
        write_argv(REGISTER, backing),
        *naming,
    )


def settings(cached: BcacheDevice) -> dict[str, str]:
    """File of the set → value, for every option that is set after creation."""
    found = {"bdev0/cache_mode": cached.mode, "cache0/cache_replacement_policy": cached.replacement}
    found |= {f"bdev0/{name}": str(value) for name, value in cached.settings.given().items()}
    if cached.congestion == "off":
        found |= {"congested_read_threshold_us": "0", "congested_write_threshold_us": "0"}
    return found


def tune_argvs(cached: BcacheDevice) -> tuple[Argv, ...]:
    return tuple(write_argv(set_path(cached, file), value) for file, value in settings(cached).items())


def detach_argv(cached: BcacheDevice) -> Argv:
    return write_argv(set_path(cached, "bdev0/detach"), "1")


def wipe_argv(path: str) -> Argv:
    return ("wipefs", "--all", "--types", "bcache", path)


def remove_argvs(cached: BcacheDevice, backing: str, cache: str) -> tuple[Argv, ...]:
    """Stop the device, stop the set, and take the superblocks off."""
    return (
        write_argv(own_path(backing, "stop"), "1"),
        write_argv(set_path(cached, "stop"), "1"),
        wipe_argv(backing),
        wipe_argv(cache),
    )


_PACKAGES: Final = {"make-bcache": "bcache-tools", "modprobe": "kmod", "wipefs": "util-linux", "udevadm": "udev"}


def run(argv: Argv) -> Argv:
    """Run one command, and return it as it is journaled.

    Raises CallFailed (`tool-failed`, `stuck`) or ProblemError (`bcache-missing`).
    """
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail(MISSING, f"{argv[0]} is not installed", remedy=f"apt install {_PACKAGES[argv[0]]}",
                   exit=Exit.REFUSED)  # fmt: skip
    try:
        proc.run([path, *argv[1:]])
    except proc.ToolStuck as error:
        raise CallFailed(stuck(proc.name_of(argv), error), (argv,)) from error
    except proc.ToolError as error:
        said = error.finished.error_text or error.finished.text if error.finished is not None else error.reason
        text = f"{argv[0]} failed: {clean(' '.join(said.split())[-400:])}"
        raise CallFailed(TOOL_FAILED.problem(text, exit=Exit.BUILD_FAILED), (argv,)) from error
    return argv


def write(path: Path | str, value: str) -> None:
    """Write into a file of sysfs. Raises OSError where the kernel refuses it, ProblemError (`stuck`)."""

    def work() -> None:
        with Path(path).open("w") as file:
            file.write(value)

    bounded(work, f"writing {path}", to_the_end=True)
