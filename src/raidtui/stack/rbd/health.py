"""State of the whole cluster around a cell: one that repairs, moves or checks data has other numbers than one at rest.

`ceph status` says HEALTH_OK with a scrub, without a manager, and after an OSD that was lost has returned: so states of
placement groups, the manager and the epoch of the OSD map are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from raidtui.model.mark import Mark
from raidtui.model.problem import ProblemError, Refusal
from raidtui.stack import clusters
from raidtui.stack.clusters import Trouble, around
from raidtui.stack.context import Context
from raidtui.stack.rbd.cluster import ask
from raidtui.stack.rbd.spec import RbdImages, RbdPool

NOT_CLEAN: Final = Refusal(
    "rbd-not-clean",
    "Placement groups are not active and clean",
    "A placement group of the cluster is not exactly active+clean: OSDs are missing, or the rule of a pool finds too few.",
    "Look at `ceph health detail` and `ceph pg dump_stuck`, and wait until all of them are active+clean.",
)
RECOVERING: Final = Refusal(
    "rbd-recovering",
    "The cluster moves data",
    "Recovery, backfill or the balancer moves data between OSDs and shares them with the workload.",
    "Wait until `ceph status` shows active+clean alone, or pause the balancer for the run: ceph balancer off.",
)
SCRUBBING: Final = Refusal(
    "rbd-scrubbing",
    "The cluster checks its data",
    "A scrub reads every object of a placement group on all of its OSDs, beside the workload.",
    "Wait until it is done, or hold scrubs for the run: ceph osd set noscrub; ceph osd set nodeep-scrub (and unset them "
    "afterwards).",
)
NO_MANAGER: Final = Refusal(
    "rbd-no-manager",
    "The cluster has no manager",
    "States of placement groups come from the manager. Without one `ceph status` shows old ones, or none and HEALTH_OK.",
    "Start a manager: `ceph mgr stat`, systemctl start ceph-mgr@NAME.",
)
OSD_DOWN: Final = Refusal(
    "rbd-osd-down",
    "An OSD is down",
    "Placement groups with a copy on it write fewer copies, and its data is repaired sooner or later.",
    "`ceph osd tree down` names it: start it, or take it out and wait until the cluster is clean.",
)
MON_DOWN: Final = Refusal(
    "rbd-mon-down",
    "A monitor is down",
    "A monitor is not in the quorum; without most of them nothing of the cluster works.",
    "`ceph health detail` names it: start it.",
)
SLOW: Final = Refusal(
    "rbd-slow-ops",
    "The cluster has slow operations",
    "Operations take longer than osd_op_complaint_time (30 s): an OSD or its disk hangs.",
    "`ceph health detail` names the OSDs; look at their disks.",
)
FULL: Final = Refusal(
    "rbd-full",
    "The cluster is full",
    "An OSD or a pool of the cluster is full or nearly so: writes are slow or stop.",
    "Make space, or add OSDs: `ceph health detail`, `ceph osd df`.",
)
PAUSED: Final = Refusal(
    "rbd-paused",
    "The cluster is paused",
    "A flag of the cluster stops reads or writes of all clients.",
    "ceph osd unset pause.",
)
CHANGED: Final = Refusal(
    "rbd-map-changed",
    "The cluster changed during the measurement",
    "The OSD map has another epoch than before: an OSD went down or came back, a pool was made, or a flag was set.",
    "Find the cause in the cluster's log (`ceph log last 50`), and run the cell again (--layout, --workload).",
)
OTHERS: Final = Refusal(
    "rbd-other-load",
    "Others load the cluster",
    "Clients of other pools read or wrote when the cell began: they share OSDs and network with the workload.",
    "Run it again when they are idle; `ceph osd pool stats` names their pools.",
)

_CHECKS: Final[Mapping[str, Refusal]] = {
    **dict.fromkeys(("OSD_DOWN", "OSD_HOST_DOWN", "OSD_RACK_DOWN", "OSD_ROOT_DOWN"), OSD_DOWN),
    "MON_DOWN": MON_DOWN,
    **dict.fromkeys(("SLOW_OPS", "BLUESTORE_SLOW_OP_ALERT", "REQUEST_SLOW"), SLOW),
    **dict.fromkeys(("OSD_FULL", "OSD_BACKFILLFULL", "OSD_NEARFULL", "POOL_FULL", "POOL_NEARFULL"), FULL),
}
"""Health checks that matter for numbers, by their names in Ceph."""
_MOVING: Final = ("recover", "backfill", "remapped", "degraded", "undersized")
_WORST_FIRST: Final = (NOT_CLEAN, RECOVERING, SCRUBBING)


def troubles(status: Any) -> Iterator[Trouble]:
    """Yield what is wrong with a cluster, given its `ceph status`."""
    groups = status["pgmap"]
    if not status["mgrmap"]["available"]:
        yield Trouble(NO_MANAGER, "the cluster has no manager that is available")
    elif groups["num_pools"] and not groups["num_pgs"]:
        yield Trouble(NO_MANAGER, "the manager knows no placement group")
    for name, one in status["health"]["checks"].items():
        if (refusal := _CHECKS.get(name)) is not None:
            yield Trouble(refusal, f"{name}: {one['summary']['message']}")
        elif name == "OSDMAP_FLAGS" and "pause" in one["summary"]["message"]:
            yield Trouble(PAUSED, one["summary"]["message"])
    found: dict[Refusal, list[str]] = {}
    for one in groups["pgs_by_state"]:
        if one["state_name"] != "active+clean":
            found.setdefault(_kind(one["state_name"]), []).append(f"{one['count']} {one['state_name']}")
    for refusal in (one for one in _WORST_FIRST if one in found):
        yield Trouble(refusal, f"placement groups: {', '.join(found[refusal])}")
    if RECOVERING not in found and (moved := groups.get("misplaced_objects", 0) + groups.get("degraded_objects", 0)):
        yield Trouble(RECOVERING, f"{moved} objects are misplaced or degraded")


def _kind(state: str) -> Refusal:
    """Return the kind of a state of placement groups that is not active+clean."""
    words = set(state.split("+"))
    if "active" not in words or words & {"inconsistent", "stale", "down"}:
        return NOT_CLEAN
    if any(word.startswith(_MOVING) for word in words):
        return RECOVERING
    return SCRUBBING if words & {"scrubbing", "deep"} else NOT_CLEAN


def watch(context: Context, pool: RbdPool | RbdImages) -> Callable[[], tuple[Mark, ...]]:
    """Look at the cluster when a cell begins; the returned function looks again at its end, and returns the marks."""
    return around(lambda: ask("ceph", pool.cluster, "status"), troubles, changes, lambda: _others(pool))


def changes(before: Any, after: Any) -> Iterator[Trouble]:
    """Yield what changed of the cluster during a cell, given its status before and after."""
    first, last = before["osdmap"], after["osdmap"]
    if first["epoch"] == last["epoch"]:
        return
    text = f"the OSD map has epoch {last['epoch']}, and had {first['epoch']} before"
    if first["num_up_osds"] != last["num_up_osds"]:
        text += f"; {last['num_up_osds']} OSDs are up, and {first['num_up_osds']} were"
    elif first.get("osd_up_since") != last.get("osd_up_since"):
        text += "; an OSD was down meanwhile"
    if _flags(before) != _flags(after):
        text += f"; flags: {_flags(after) or 'none'}, before: {_flags(before) or 'none'}"
    yield Trouble(CHANGED, text)


def _flags(status: Any) -> str:
    flags = status["health"]["checks"].get("OSDMAP_FLAGS")
    return str(flags["summary"]["message"]) if flags else ""


def daemons(context: Context, pool: RbdPool | RbdImages) -> Mapping[str, int]:
    """Return the daemons of the cluster that are up; nothing if it does not answer."""
    try:
        return daemons_up(ask("ceph", pool.cluster, "status"))
    except ProblemError:
        return {}


def daemons_up(status: Any) -> dict[str, int]:
    """Return the number of daemons by kind, given `ceph status`."""
    managers = status["mgrmap"]
    return {
        "osd": status["osdmap"]["num_up_osds"], "mon": len(status["quorum_names"]),
        "mgr": int(managers["available"]) + managers["num_standbys"],
    }  # fmt: skip


def _others(pool: RbdPool | RbdImages) -> Iterator[Mark]:
    yield from other_load(ask("ceph", pool.cluster, "osd", "pool", "stats"), pool)


def other_load(stats: Any, pool: RbdPool | RbdImages) -> Iterator[Mark]:
    """Yield a mark about clients of other pools, given `ceph osd pool stats`."""
    rates = ((one["pool_name"], one.get("client_io_rate", {})) for one in stats if one["pool_name"] not in pool.pools)
    each = ((name, rate.get("read_op_per_sec", 0) + rate.get("write_op_per_sec", 0)) for name, rate in rates)
    yield from clusters.other_load(each, OTHERS, "other pools")
