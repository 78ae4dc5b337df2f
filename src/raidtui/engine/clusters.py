"""Clusters whose configuration and key this server has: asked by their own tools, with a deadline; nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.cluster import ClusterCheck, ClusterOsd, ClusterPool, ClusterView, Health
from raidtui.model.problem import Problem, ProblemError, Refusal, bug
from raidtui.stack.rbd.cluster import ask as ask_ceph
from raidtui.stack.rbd.spec import Cluster
from raidtui.stack.vitastor.cluster import ask as ask_vitastor
from raidtui.stack.vitastor.health import FULL, NO_MONITOR, NOT_CLEAN, Look, troubles
from raidtui.stack.vitastor.spec import VitastorCluster

CLUSTER_UNREAD: Final = Refusal(
    "cluster-unread",
    "A cluster could not be read",
    "The cluster's tool answered with something else than expected.",
    "Run `ceph status`, or `vitastor-cli status`, on the server.",
)
DEADLINE_S: Final = 15.0
"""Time that each command may take; those of one cluster run at the same time."""
_CEPH: Final = Path("/etc/ceph")
_VITASTOR: Final = Path("/etc/vitastor/vitastor.conf")
_SERIOUS: Final = (NOT_CLEAN, NO_MONITOR, FULL)
"""Troubles of a Vitastor cluster that stop writes, or may."""
_HEALTH: Final[Mapping[str, Health]] = {"HEALTH_OK": "ok", "HEALTH_WARN": "warning", "HEALTH_ERR": "error"}


def clusters() -> tuple[ClusterView, ...]:
    """Return every cluster that is configured here, also those that cannot be reached; none where there is none."""
    found: list[Callable[[], ClusterView]] = []
    if proc.find_tool("ceph") is not None:
        found += [partial(_ceph, conf, cluster) for conf, cluster in configured(_CEPH)]
    if proc.find_tool("vitastor-cli") is not None and os.access(_VITASTOR, os.R_OK):
        found.append(_vitastor)
    if not found:
        return ()
    with ThreadPoolExecutor(len(found)) as pool:
        return tuple(pool.map(lambda look: look(), found))


def configured(folder: Path) -> Iterator[tuple[str, Cluster]]:
    """Yield configuration file and user of each Ceph cluster for which this folder has a key, by Ceph's own names."""
    for conf in sorted(folder.glob("*.conf")):
        name = conf.stem
        admin = folder / f"{name}.client.admin.keyring"
        own = [admin, *(one for one in sorted(folder.glob(f"{name}.client.*.keyring")) if one != admin)]
        shared = [folder / f"{name}.keyring", folder / "keyring", folder / "keyring.bin"]
        keyring = next((one for one in (*own, *shared) if os.access(one, os.R_OK)), None)
        if keyring is not None and os.access(conf, os.R_OK):
            user = keyring.name.removeprefix(f"{name}.client.").removesuffix(".keyring") if keyring in own else "admin"
            yield str(conf), Cluster(str(conf), user, str(keyring))


def _ceph(conf: str, cluster: Cluster) -> ClusterView:
    def ask(*words: str) -> Any:
        return ask_ceph("ceph", cluster, "--connect-timeout", f"{DEADLINE_S:.0f}", *words, deadline_s=DEADLINE_S)

    return _read(ClusterView("ceph", conf), ask, (("status",), ("osd", "dump"), ("osd", "df", "tree"), ("df",)), ceph_view)


def _vitastor() -> ClusterView:
    def ask(verb: str) -> Any:
        return ask_vitastor(VitastorCluster(), verb, deadline_s=DEADLINE_S)

    return _read(ClusterView("vitastor", str(_VITASTOR)), ask, (("status",), ("ls-osd",), ("ls-pools",)), vitastor_view)


def _read(
    bare: ClusterView, ask: Callable[..., Any], asked: Sequence[tuple[str, ...]], view: Callable[..., ClusterView]
) -> ClusterView:
    """Ask everything at the same time, and return the view, or the bare one with the problem."""
    try:
        with ThreadPoolExecutor(len(asked)) as pool:
            answers = list(pool.map(lambda words: ask(*words), asked))
        return view(bare, *answers)
    except ProblemError as error:
        return _with(bare, error.problems[:1])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"{bare.kind}: an answer of the cluster has another form than expected ({clean(error, 100)})"
        return _with(bare, (CLUSTER_UNREAD.problem(text, remedy=CLUSTER_UNREAD.way_out),))
    except Exception as error:  # the thread's boundary: other clusters are shown all the same
        return _with(bare, (bug(error, bare.kind),))


def _with(view: ClusterView, problems: tuple[Problem, ...]) -> ClusterView:
    return msgspec.structs.replace(view, problems=problems)


# Ceph.


def ceph_view(bare: ClusterView, status: Any, dump: Any, df_tree: Any, df: Any) -> ClusterView:
    """Return the view of a Ceph cluster, given its `status`, `osd dump`, `osd df tree` and `df`."""
    groups = status["pgmap"]
    return msgspec.structs.replace(
        bare,
        id=status["fsid"],
        health=_HEALTH.get(status["health"]["status"], "error"),
        checks=tuple(ceph_checks(status["health"])),
        groups={one["state_name"]: one["count"] for one in groups.get("pgs_by_state", ())},
        size_bytes=groups.get("bytes_total"),
        used_bytes=groups.get("bytes_used"),
        pools=tuple(ceph_pools(dump["pools"], dump.get("erasure_code_profiles", {}), df)),
        osds=tuple(ceph_osds(df_tree)),
    )


def ceph_checks(health: Any) -> Iterator[ClusterCheck]:
    """Yield the checks of a Ceph cluster, given `health` of its status."""
    for code, one in health["checks"].items():
        yield ClusterCheck(code, one["summary"]["message"], _HEALTH.get(one["severity"], "error"), bool(one.get("muted")))


def ceph_pools(listed: Iterable[Any], profiles: Mapping[str, Any], df: Any) -> Iterator[ClusterPool]:
    """Yield the pools of a Ceph cluster, given those of `osd dump` (or `osd pool ls detail`), its profiles, and `df`."""
    usage = {one["name"]: one["stats"] for one in df["pools"]}
    for one in listed:
        stats, erasure = usage.get(one["pool_name"], {}), one["type"] == 3
        k = profiles.get(one["erasure_code_profile"], {}).get("k") if erasure else None
        yield ClusterPool(
            one["pool_name"], "erasure" if erasure else "replicated", one["size"], one["min_size"],
            int(k) if k is not None else None, stats.get("bytes_used"), stats.get("max_avail"),
        )  # fmt: skip


def ceph_osds(df: Any) -> Iterator[ClusterOsd]:
    """Yield the OSDs of a Ceph cluster, given `osd df tree`. `osd df` has the same ones without hosts."""
    hosts = {child: node["name"] for node in df["nodes"] if node["type"] == "host" for child in node.get("children", ())}
    seen = set()
    for node in (*df["nodes"], *df.get("stray", ())):
        if node["type"] != "osd" or node["id"] in seen:  # a second root of the map has the same OSDs
            continue
        seen.add(node["id"])
        kb, used = node.get("kb"), node.get("kb_used")
        yield ClusterOsd(
            node["name"], hosts.get(node["id"], ""), node.get("status") == "up", node.get("reweight", 0) > 0,
            node.get("device_class", ""), kb << 10 if kb else None, used << 10 if kb and used is not None else None,
        )  # fmt: skip


# Vitastor. Some of its numbers are texts.


def vitastor_view(bare: ClusterView, status: Any, osds: Any, pools: Any) -> ClusterView:
    """Return the view of a Vitastor cluster, given its `status`, `ls-osd` and `ls-pools`."""
    checks = tuple(vitastor_checks(Look(status, pools, (), osds)))
    worst: Health = "error" if any(one.health == "error" for one in checks) else "warning" if checks else "ok"
    total, free = int(status["total_raw"]), int(status["free_raw"])
    return msgspec.structs.replace(
        bare, health=worst, checks=checks, groups={state: int(count) for state, count in status["pg_states"].items()},
        size_bytes=total, used_bytes=max(0, total - free), pools=tuple(vitastor_pools(pools)),
        osds=tuple(vitastor_osds(osds)),
    )  # fmt: skip


def vitastor_checks(look: Look) -> Iterator[ClusterCheck]:
    """Yield what is wrong with a Vitastor cluster, under raidtui's own codes: it has no health of its own."""
    for one in troubles(look):
        yield ClusterCheck(one.refusal.code, one.sentence, "error" if one.refusal in _SERIOUS else "warning")


def vitastor_pools(listed: Iterable[Any]) -> Iterator[ClusterPool]:
    """Yield the pools of a Vitastor cluster, given `ls-pools`."""
    for one in listed:
        size, erasure = int(one["pg_size"]), one["scheme"] != "replicated"
        pieces = size - int(one.get("parity_chunks", 0)) if erasure else None
        used = int(one["used_raw"]) if "used_raw" in one else None
        free = int(one["max_available"]) if "max_available" in one else None
        yield ClusterPool(one["name"], "erasure" if erasure else "replicated", size, int(one["pg_minsize"]), pieces,
                          used, free, one.get("status", ""))  # fmt: skip


def vitastor_osds(listed: Iterable[Any]) -> Iterator[ClusterOsd]:
    """Yield the OSDs of a Vitastor cluster, given `ls-osd`, which lists the hosts too."""
    for one in listed:
        if one["type"] == "osd":
            size, free = int(one["size"]), int(one["free"])
            yield ClusterOsd(
                f"osd.{one['name']}", one.get("parent", ""), one["up"] == "up", float(one["reweight"]) > 0,
                ", ".join(map(str, one.get("tags") or ())), size, max(0, size - free),
            )  # fmt: skip
