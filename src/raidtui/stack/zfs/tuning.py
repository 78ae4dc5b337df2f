"""Parameters of the kernel module zfs (zfs(4)): which ones a scenario may set, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from raidtui.base.text import clean
from raidtui.model.problem import Exit, Problem, Refusal, fail
from raidtui.stack.context import Context
from raidtui.stack.tuning.apply import can_be_set
from raidtui.stack.tuning.spec import TUNING_NOT_OFFERED, Setting, Tuning
from raidtui.stack.zfs import pool

CLAIM: Final = "the parameters of ZFS"
"""One run at a time sets them (`Action.claims`)."""
PARAMETERS: Final = Path("/sys/module/zfs/parameters")
NAME_PATTERN: Final = r"^[a-z][a-z0-9_]{1,62}(?!\n)$"
VALUE_PATTERN: Final = r"^-?[A-Za-z0-9][A-Za-z0-9_.+-]{0,62}(?!\n)$"
"""No blanks and no paths."""
_GUARDS: Final = "it takes away what keeps data safe, of every pool of the server"
REFUSED: Final = {
    "zfs_arc_max": "the pool's own arc_max limits the ARC, and knows how to put it back",
    "zfs_nocacheflush": _GUARDS,
    "zil_nocacheflush": _GUARDS,
    "zil_replay_disable": _GUARDS,
    "zfs_recover": _GUARDS,
    "zfs_free_leak_on_eio": _GUARDS,
    "zfs_deadman_failmode": "it can stop the server",
    "spa_load_verify_data": _GUARDS,
    "spa_load_verify_metadata": _GUARDS,
    "spa_load_verify_shift": _GUARDS,
    "zfs_multihost_interval": "it belongs to pools that hosts share",
    "zfs_multihost_fail_intervals": "it belongs to pools that hosts share",
    "zfs_multihost_import_intervals": "it belongs to pools that hosts share",
}

TUNING_SHARED: Final = Refusal(
    "tuning-shared",
    "Another pool is imported",
    "Parameters of ZFS apply to every pool of the server. They are not changed while a pool is imported that does not "
    "belong to the run.",
    "Export that pool, or leave the parameters out.",
)
TUNING_NO_WAY_BACK: Final = Refusal(
    "tuning-no-way-back",
    "The parameter could not be restored",
    "A parameter of the ARC that is 0 lets ZFS choose. Once it was set, writing 0 does not restore that choice.",
    "Leave it out. `arc_max` of the pool limits the ARC and is restored.",
)
TUNING_REFUSED: Final = Refusal(
    "tuning-zfs-refused",
    "A parameter that no scenario may set",
    "The parameter protects data, or raidtui sets it.",
    "Leave it out.",
)

Name = Annotated[
    str, Meta(pattern=NAME_PATTERN, description="It is a parameter's name in zfs(4).", examples=["zfs_txg_timeout"])
]
Value = Annotated[str, Meta(pattern=VALUE_PATTERN, description="It is a word or a number.", examples=["30"])] | int


class ZfsTuning(Tuning, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernel settings while the pool stands, put back afterwards as they were found."""

    parameters: Annotated[dict[Name, Value], Meta(max_length=64)] = {}  # noqa: RUF012 - a struct copies it
    """Parameters of the kernel module zfs by their own names, with their own values (zfs(4)). They are those of the whole
    server: one run at a time can set them, and only while no other pool is imported."""

    def server_settings(self) -> Iterator[Setting]:
        yield from super().server_settings()
        for name, value in self.parameters.items():
            yield Setting(str(PARAMETERS / name), str(value), f"{name} {value}")

    def problems(self, spec: Any, place: str) -> Iterator[Problem]:
        yield from super().problems(spec, place)
        for name in self.parameters:
            at = f"{place}.parameters.{name}"
            if name in REFUSED:
                yield TUNING_REFUSED.problem(f"{name} cannot be set: {REFUSED[name]}", place=at, remedy=f"Remove {name}.")
            # Where the module is not loaded yet, that is found out when the layout is built.
            elif PARAMETERS.is_dir() and not can_be_set(PARAMETERS / name):
                yield TUNING_NOT_OFFERED.problem(f"this server's ZFS has no writable parameter {name}", place=at,
                                                 remedy=f"ls {PARAMETERS} lists them.")  # fmt: skip


def make_ready(context: Context) -> None:
    """Have the module loaded. Raises ProblemError (`tuning-shared`) while a pool is imported that is not this run's."""
    if not PARAMETERS.is_dir():
        pool.call(("zpool", "list", "-H"))  # which loads the module
    own = f"rt{context.run.rpartition('-')[2]}"
    pools = [found.name for found in pool.KSTAT.glob("*") if found.is_dir()]
    others = sorted(clean(name, 60) for name in pools if not name.startswith(own))
    if others:
        text = f"ZFS parameters hold for every pool, and {', '.join(others[:4])} is imported, which is not this run's"
        raise fail(TUNING_SHARED, text, place=str(PARAMETERS), remedy=f"zpool export {others[0]}",
                   exit=Exit.BUILD_FAILED)  # fmt: skip


def refuse_no_way_back(values: Mapping[str, tuple[str | None, str]]) -> None:
    """Refuse values, (requested, found) by file, that could not be restored. Raises ProblemError (`tuning-no-way-back`)."""
    for file, (asked, found) in values.items():
        # Zero means that ZFS chooses; what it had chosen does not come back with the zero.
        if file.startswith(f"{PARAMETERS}/zfs_arc_") and found == "0" and asked not in (None, "0"):
            name = Path(file).name
            text = f"{name} is 0: ZFS chooses, and what it chose could not be put back"
            raise fail(TUNING_NO_WAY_BACK, text, place=file, remedy=f"Leave {name} out of the tuning.",
                       exit=Exit.BUILD_FAILED)  # fmt: skip
