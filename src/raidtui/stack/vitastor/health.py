"""State of the whole cluster around a cell: one that repairs, moves or checks data has other numbers than one at rest.

Vitastor has no epoch. An OSD that was killed counts as up for some seconds, while its placement groups are incomplete at
once; after it has returned nothing is wrong with the status. So these are compared with those before the cell: counters of
recovery, primaries and sets of placement groups, and counters of OSDs, which begin at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base.text import named
from raidtui.model.mark import Mark
from raidtui.model.problem import ProblemError, Refusal
from raidtui.stack import clusters
from raidtui.stack.clusters import Trouble, around
from raidtui.stack.context import Context
from raidtui.stack.vitastor.cluster import ask, number
from raidtui.stack.vitastor.spec import VitastorCluster, VitastorPool

NOT_CLEAN: Final = Refusal(
    "vitastor-not-clean",
    "Placement groups are not active",
    "A placement group of the cluster is not exactly `active`, or a pool is inactive: OSDs are missing, or data is "
    "incomplete, inconsistent or corrupted.",
    "Look at `vitastor-cli status` and `vitastor-cli pg-list ^active`, and wait until all of them are active.",
)
RECOVERING: Final = Refusal(
    "vitastor-recovering",
    "The cluster moves data",
    "Recovery or rebalancing moves data between OSDs and shares them with the workload.",
    "Wait until `vitastor-cli status` shows active placement groups alone, and no degraded or misplaced data.",
)
SCRUBBING: Final = Refusal(
    "vitastor-scrubbing",
    "The cluster checks its data",
    "A scrub reads every object of a placement group on all of its OSDs, beside the workload.",
    "Wait until it is done, or set no_scrub in the cluster's configuration for the run (and unset it afterwards).",
)
OSD_DOWN: Final = Refusal(
    "vitastor-osd-down",
    "An OSD is down",
    "Placement groups with a copy on it write fewer copies, and its data is repaired sooner or later.",
    "`vitastor-cli ls-osd` names it: start it, or remove it and wait until the cluster is clean.",
)
NO_MONITOR: Final = Refusal(
    "vitastor-no-monitor",
    "The cluster lacks a monitor or an etcd",
    "Without a monitor no placement group moves and statistics are old; without most etcds nothing of the cluster works.",
    "`vitastor-cli status` shows how many are up: start the missing ones.",
)
SLOW: Final = Refusal(
    "vitastor-slow-ops",
    "The cluster has slow operations",
    "Operations of an OSD take longer than slow_log_interval: it, its disk or its network hangs.",
    "`vitastor-cli status` names the OSDs; look at their logs and disks.",
)
FULL: Final = Refusal(
    "vitastor-full",
    "The cluster is full",
    "An OSD or a pool of the cluster is full or nearly so: writes are slow or stop, and data cannot be moved.",
    "Make space, or add OSDs: `vitastor-cli df`, `vitastor-cli ls-osd`.",
)
READONLY: Final = Refusal(
    "vitastor-readonly",
    "The cluster is read-only",
    "The setting readonly stops writes of all clients.",
    "Unset readonly in the cluster's configuration.",
)
FLAGS: Final = Refusal(
    "vitastor-flags",
    "The cluster does not repair itself",
    "The setting no_recovery or no_rebalance is on: after a failure the cluster would leave data degraded or misplaced, so "
    "that it does less work than one that repairs.",
    "Unset no_recovery and no_rebalance, unless this is what you compare.",
)
CHANGED: Final = Refusal(
    "vitastor-changed",
    "The cluster changed during the measurement",
    "A placement group has another primary, set or epoch than before, an OSD was started anew, or a setting was changed.",
    "Find the cause in the logs of monitor and OSDs, and run the cell again (--layout, --workload).",
)
OTHERS: Final = Refusal(
    "vitastor-other-load",
    "Others load the cluster",
    "Clients of other images read or wrote when the cell began: they share OSDs and network with the workload.",
    "Run it again when they are idle; `vitastor-cli ls -l` names the images.",
)

_MOVING: Final = frozenset({"degraded", "has_degraded", "has_misplaced", "left_on_dead"})
_WORST_FIRST: Final = (NOT_CLEAN, RECOVERING, SCRUBBING)
_FLAGS: Final = ("no_recovery", "no_rebalance", "no_scrub", "readonly")
_SLOW_OPS: Final = ("osds_primary_slow_ops", "osds_secondary_slow_ops")
_TOLD: Final = ("epoch", "cur_primary", "target_set")
"""Properties of a placement group that do not change while the cluster is at rest."""
_OSD: Final = "vitastor-osd"


class Look(NamedTuple):
    """The cluster at one moment: answers of `status`, `ls-pools`, `pg-list` and `ls-osd`."""

    status: Any
    pools: Any
    groups: Any
    nodes: Any
    here: frozenset[str] = frozenset()
    """Process ids of the OSDs on this server."""

    @property
    def osds(self) -> dict[str, Any]:
        """The OSDs by their number."""
        return {str(one["name"]): one for one in self.nodes if one["type"] == "osd"}

    @property
    def lost(self) -> list[str]:
        """Numbers of the OSDs that are not up."""
        return [name for name, one in self.osds.items() if one["up"] != "up"]


def look_at(cluster: VitastorCluster) -> Look:
    """Ask the cluster. Raises ProblemError."""
    status, pools, groups, nodes = (ask(cluster, verb) for verb in ("status", "ls-pools", "pg-list", "ls-osd"))
    return Look(status, pools, groups, nodes, _osds_here())


def _osds_here() -> frozenset[str]:
    """Return the process ids of the OSDs on this server, by their program: they are called osd1, osd2, …"""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "exe").readlink().name == _OSD:
                found.add(folder.name)
    return frozenset(found)


def troubles(look: Look) -> Iterator[Trouble]:
    """Yield what is wrong with a cluster, or to be known of it."""
    status = look.status
    if status.get("mon_count", 1) == 0:
        yield Trouble(NO_MONITOR, "no monitor is up")
    if number(status.get("etcd_alive")) < number(status.get("etcd_count")):
        yield Trouble(NO_MONITOR, f"{status['etcd_alive']} of {status['etcd_count']} etcds are up")
    if number(status["osd_up"]) < number(status["osd_count"]) or look.lost:
        which = f": {named(look.lost, 6)}" if look.lost else ""
        yield Trouble(OSD_DOWN, f"{status['osd_up']} of {status['osd_count']} OSDs are up{which}")
    counts = {name: number(status.get(name)) for name in ("osds_full", "osds_nearfull", "backfillfull_pools")}
    if full := [f"{name} {count:.0f}" for name, count in counts.items() if count]:
        yield Trouble(FULL, f"full or nearly so: {', '.join(full)}")
    if slow := {str(one): None for name in _SLOW_OPS for one in status.get(name) or ()}:
        yield Trouble(SLOW, f"slow operations of OSDs {named(list(slow), 6)}")
    yield from _data(look)
    if status.get("readonly"):
        yield Trouble(READONLY, "the setting readonly is on")
    if off := [name for name in ("no_recovery", "no_rebalance") if status.get(name)]:
        yield Trouble(FLAGS, f"the cluster has {' and '.join(off)}", "caution")


def _data(look: Look) -> Iterator[Trouble]:
    """Yield troubles of placement groups, pools and their data."""
    found: dict[Refusal, list[str]] = {}
    for state, count in look.status["pg_states"].items():
        if state != "active":
            found.setdefault(_kind(state), []).append(f"{count} {state}")
    for refusal in (one for one in _WORST_FIRST if one in found):
        yield Trouble(refusal, f"placement groups: {', '.join(found[refusal])}")
    if NOT_CLEAN not in found:
        if inactive := [one["name"] for one in look.pools if one["status"] == "inactive"]:
            yield Trouble(NOT_CLEAN, f"pools are inactive: {named(inactive, 6)}")
        if number(look.status["incomplete_data"]):
            yield Trouble(NOT_CLEAN, "data is incomplete")
    moved = number(look.status["degraded_data"]) + number(look.status["misplaced_data"])
    if RECOVERING not in found and moved:
        yield Trouble(RECOVERING, f"{moved:.0f} bytes are degraded or misplaced")


def _kind(state: str) -> Refusal:
    """Return the kind of a state of placement groups that is not `active`."""
    words = set(state.split("+"))
    others = words - {"active", "scrubbing"} - _MOVING
    if "active" not in words or others:
        return NOT_CLEAN
    return RECOVERING if words & _MOVING else SCRUBBING


def watch(context: Context, pool: VitastorPool) -> Callable[[], tuple[Mark, ...]]:
    """Look at the cluster when a cell begins; the returned function looks again at its end, and returns the marks."""
    cluster = pool.cluster
    return around(lambda: look_at(cluster), troubles, changes, lambda: other_load(ask(cluster, "ls", "-l"), pool))


def changes(before: Look, after: Look) -> Iterator[Trouble]:
    """Yield what changed of the cluster during a cell."""
    if moved := _recovered(after) - _recovered(before):
        yield Trouble(RECOVERING, f"{abs(moved):.0f} objects were repaired or moved meanwhile")
    first, last = ({(one["pool_id"], one["pg_num"]): one for one in look.groups} for look in (before, after))
    both = first.keys() & last.keys()
    others = [key for key in both if any(first[key].get(what) != last[key].get(what) for what in _TOLD)]
    if count := len(others) + len(first.keys() - both):
        yield Trouble(CHANGED, f"{count} placement groups have another epoch, primary or set than before, or are gone")
    if again := [name for name, one in after.osds.items() if _anew(before.osds.get(name), one)]:
        yield Trouble(CHANGED, f"OSDs were started, or started anew, meanwhile: {named(again, 6)}")
    elif gone := before.osds.keys() - after.osds.keys():
        yield Trouble(CHANGED, f"OSDs are gone: {named(sorted(gone), 6)}")
    elif before.here != after.here:
        yield Trouble(CHANGED, "OSDs of this server have other processes than before")
    if set_ := [name for name in _FLAGS if before.status.get(name) != after.status.get(name)]:
        yield Trouble(CHANGED, f"settings of the cluster were changed: {', '.join(set_)}")


def _recovered(look: Look) -> float:
    """Return the number of objects that were ever repaired or moved."""
    stats = look.status.get("recovery_stats") or {}
    return sum(number(one.get("count")) for one in stats.values())


def _anew(before: Any, after: Any) -> bool:
    """Return True if an OSD was not there before, or has counted less than before: it counts from its start."""
    if before is None:
        return True
    counts: Mapping[str, Any] = before.get("op_stats") or {}
    now: Mapping[str, Any] = after.get("op_stats") or {}
    return any(number(now.get(name, {}).get("count")) < number(one.get("count")) for name, one in counts.items())


def daemons(context: Context, pool: VitastorPool) -> Mapping[str, int]:
    """Return the daemons of the cluster that are up; nothing if it does not answer. A monitor is no program of its own."""
    try:
        status = ask(pool.cluster, "status")
    except ProblemError:
        return {}
    return {"osd": int(number(status["osd_up"])), "etcd": int(number(status.get("etcd_alive")))}


def other_load(images: Any, pool: VitastorPool) -> Iterator[Mark]:
    """Yield a mark about clients of images of other pools, given `vitastor-cli ls -l`."""
    told = ("read_iops", "write_iops", "delete_iops")
    rates = ((one["name"], sum(number(one.get(what)) for what in told)) for one in images if one["pool_name"] != pool.name)
    yield from clusters.other_load(rates, OTHERS, "other images")
