"""The methods of the protocol, by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from raidtui import inventory
from raidtui.engine import free
from raidtui.engine.compose.binding import named_disk
from raidtui.engine.compose.consent import refused
from raidtui.engine.compose.host_roles import bind_here, bind_there, group_of, hosted_roles
from raidtui.engine.compose.hosts import find_hosts, in_the_way, lacking_here
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.preview import preview
from raidtui.engine.compose.reading import chosen, read_document
from raidtui.engine.compose.schema import describe, schema
from raidtui.engine.disk_list import disk_list, look, recent, watch_disks
from raidtui.engine.doctor import checkup
from raidtui.engine.explain import explain
from raidtui.engine.host_views import storage_view
from raidtui.engine.lasting.script import script_of
from raidtui.engine.meanwhile import telling
from raidtui.engine.run import launch, runs, space
from raidtui.engine.run.launch import follow
from raidtui.engine.run.runs import PLAN_CHANGED
from raidtui.engine.server import server
from raidtui.inventory import by_id
from raidtui.model.cluster import CLUSTERS_SCHEMA, ClusterList
from raidtui.model.describe import PreviewRequest
from raidtui.model.disk import Disk
from raidtui.model.free import Freed, FreeLook, FreePlan, FreeProgress, FreeRequest
from raidtui.model.host_view import HostList, HostsRequest, HostView
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.model.protocol import (
    Check,
    Checkup,
    FollowRequest,
    Pieces,
    PlanRequest,
    Recovered,
    RecoverProgress,
    RecoverRequest,
    RunInfo,
    RunList,
    RunRequest,
    Script,
    ScriptRequest,
    Started,
    StartRequest,
)
from raidtui.model.smart import SMART_SCHEMA, Smart, SmartRequest
from raidtui.stack.catalog import require_libraries

Stopped = Callable[[], bool]
_WHOLE_BYTES: Final = 8 << 20
_PIECE_BYTES: Final = 512 << 10
_MOST_RUNS: Final = 1000

PLAN_LOOK_S: Final = 3.0
"""Duration of the search for data on each disk that a plan erases, in addition to the scan."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A method without parameters."""


class SchemaRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    of: str


class ExplainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str = ""


class Method(NamedTuple):
    params: Any
    do: Callable[[Any, Stopped], Any]
    to_the_end: bool = False
    """True if the method runs to its end even when its client is gone: making a disk blank takes hours."""
    lasts: bool = False
    """True for a method that may run for long: refused at once where too many are under way."""


def plan(request: PlanRequest, _: Stopped, token: str = "") -> Plan:
    """Return the plan of a scenario on this server. The disks that it erases are searched for data once more."""
    made, found = _plan(request, token)
    # Each host searches its own disks when the run begins there.
    searched = {disk.id: disk for disk in server().search([found[id_] for id_ in made.erases if id_ in found], PLAN_LOOK_S)}
    if any(not disk.free for disk in searched.values()):
        made, _found = _plan(request, made.token, {**found, **searched})
    looks = {id_: disk.look for id_, disk in searched.items() if disk.look is not None}
    return msgspec.structs.replace(made, looks={**made.looks, **looks})


def hosts(request: HostsRequest, _: Stopped) -> Generator[HostView, None, HostList]:
    """Tell what the hosts of a scenario have. The storage server's disks are as last seen."""
    return server().see_hosts(storage_view(server().host, recent()), request.hosts)


def smart(request: SmartRequest, _: Stopped) -> Smart:
    """Return the SMART data of a disk; while a run is at work the disks are not asked."""
    disk = named_disk(request.disk, recent())
    if runs.any_at_work():
        return Smart(SMART_SCHEMA, disk.id, "a run is at work, and reading would disturb it")
    return server().read_smart(disk)


def clusters(_: Nothing, __: Stopped) -> ClusterList:
    """Tell of the storage clusters whose configuration and key this server has. Nothing is changed."""
    return ClusterList(CLUSTERS_SCHEMA, server().host, server().clusters())


def script(request: ScriptRequest, _: Stopped) -> Script:
    """Return one layout on this server's disks as a script. Nothing is touched."""
    return script_of(request, look().disks, None if server().simulated else by_id.FOLDER)


def start(request: StartRequest, _: Stopped) -> Started:
    """Carry out a plan that was shown and consented to."""
    _need_root()
    runs.check_token(request.token)
    made, found = _plan(request.plan, request.token)
    if made.digest != request.digest:
        raise fail(
            PLAN_CHANGED, "the plan is not the one that was shown", exit=Exit.REFUSED,
            remedy="Something changed between showing and starting: look at the plan again.",
        )  # fmt: skip
    if problems := refused(made, request.erase, found.values(), request.pools):
        raise ProblemError(*problems)
    if not server().simulated:
        # Here, where no disk has been touched; each host looks for its own.
        require_libraries({step.action for step in made.steps if not step.host})
        if problem := space.here(space.THIS):
            raise ProblemError(problem)
    run, folder = runs.create(made)
    launch.launch(folder, server().runner, service=not server().simulated)
    return Started(run)


def free_look(request: FreeLook, _: Stopped) -> FreePlan:
    """Return what freeing a disk would erase."""
    return free.look(request.disk, look().disks)


def free_disk(request: FreeRequest, _: Stopped) -> Generator[FreeProgress, None, Freed]:
    """Erase what is on a disk, after consent to what was shown."""
    _need_root()
    if server().simulated:
        raise fail(free.NOT_FREEABLE, "disks of a simulated server are recordings", exit=Exit.REFUSED)
    return free.free(free.look(request.disk, look().disks), request.digest, request.erase)


def follow_run(request: FollowRequest, stopped: Stopped) -> Iterator[msgspec.Raw]:
    return follow(runs.folder_of(request.run or runs.latest()), request.after, stopped)


def cancel(request: RunRequest, _: Stopped) -> RunInfo:
    folder = runs.folder_of(request.run or runs.latest("running"))
    launch.cancel(folder)
    return runs.info(folder)


def recover_runs(request: RecoverRequest, _: Stopped) -> Recovered | Generator[RecoverProgress, None, Recovered]:
    _need_root()
    if request.progress:
        return telling(lambda tell: Recovered(tuple(server().recover(request.run, request.without, tell))))
    return Recovered(tuple(server().recover(request.run, request.without)))


def list_runs(_: Nothing, __: Stopped) -> RunList:
    every = runs.all_folders()
    older, latest = every[:-_MOST_RUNS], every[-_MOST_RUNS:]
    # A folder is named after the moment that its run began; what is closed left nothing.
    open_ = [info for info in map(runs.info, filter(runs.is_open, older)) if info.state in ("running", "interrupted")]
    listed = (*open_, *map(runs.info, latest))
    return RunList("raidtui.runs/1", listed, len(every) - len(listed))


def result(request: RunRequest, _: Stopped) -> msgspec.Raw | Generator[bytes, None, Pieces]:
    """The file itself, or what it is put together from where it is too long for one message."""
    file = runs.open_result(runs.folder_of(request.run or runs.latest()))
    if os.fstat(file.fileno()).st_size > _WHOLE_BYTES:
        return _pieces(file)
    with file:
        return msgspec.Raw(file.read())


def _pieces(file: BinaryIO) -> Generator[bytes, None, Pieces]:
    size_bytes = 0
    with file:
        while piece := file.read(_PIECE_BYTES):
            size_bytes += len(piece)
            yield piece
    return Pieces("raidtui.pieces/1", size_bytes)


def doctor(_: Nothing, __: Stopped) -> Checkup:
    if server().simulated:
        check = Check("simulated server", True, "recorded disks; nothing is built, measured or erased")
        return Checkup("raidtui.doctor/1", server().host, (check,))
    return checkup()


METHODS: Final[dict[str, Method]] = {
    "disks": Method(Nothing, lambda _, __: disk_list(look())),
    "watch-disks": Method(Nothing, lambda _, stopped: watch_disks(stopped), lasts=True),
    "hosts": Method(HostsRequest, hosts, lasts=True),
    "smart": Method(SmartRequest, smart),
    "clusters": Method(Nothing, clusters, lasts=True),
    "plan": Method(PlanRequest, plan),
    "script": Method(ScriptRequest, script),
    "describe": Method(Nothing, lambda _, __: describe()),
    "preview": Method(PreviewRequest, lambda request, _: preview(request, recent())),
    "start": Method(StartRequest, start, lasts=True),
    "free-look": Method(FreeLook, free_look),
    "free": Method(FreeRequest, free_disk, to_the_end=True, lasts=True),
    "follow": Method(FollowRequest, follow_run, lasts=True),
    "cancel": Method(RunRequest, cancel),
    "recover": Method(RecoverRequest, recover_runs, to_the_end=True, lasts=True),
    "runs": Method(Nothing, list_runs),
    "result": Method(RunRequest, result),
    "doctor": Method(Nothing, doctor),
    "schema": Method(SchemaRequest, lambda request, _: schema(request.of)),
    "explain": Method(ExplainRequest, lambda request, _: explain(request.code)),
}


def _plan(request: PlanRequest, token: str, known: Mapping[str, Disk] | None = None) -> tuple[Plan, dict[str, Disk]]:
    """The plan, and the disks by id: those that are `known`, or all as they are now."""
    document = read_document(request.document)
    scenario = document.scenario
    roles = used_roles(scenario, request.options)
    said = {role: ids for role, ids in request.bind.items() if role not in scenario.roles or role in roles}
    found = look().disks if known is None else tuple(known.values())
    of_hosts = hosted_roles(roles, scenario.hosts)
    binding = bind_here(roles, said, found, document.earlier, of_hosts)
    layouts = [scenario.layouts[name] for name in chosen(scenario, request.options)[0]]
    hosts = find_hosts(scenario, layouts, request.hosts, server().look_at, (server().boot_id, server().machine_id))
    there = bind_there(roles, said, document.earlier, of_hosts, hosts, server().disks_on) if of_hosts else {}
    here = [node for node in layouts if not group_of(node, scenario.roles, scenario.hosts)]
    if not server().simulated and (lacking := tuple(lacking_here(here))):
        raise ProblemError(*lacking)
    made = make_plan(scenario, {**binding, **there}, request.options, token=token or runs.new_token(),
                     boot_id=inventory.boot_id(), hosts=hosts)  # fmt: skip
    looks = {disk.id: disk.look for disks in there.values() for disk in disks if disk.look is not None}
    made = msgspec.structs.replace(made, looks=looks)
    if not server().simulated and (problems := tuple(in_the_way(made.steps))):
        raise ProblemError(*problems)
    return made, {disk.id: disk for disk in found}


def _need_root() -> None:
    if not server().has_root:
        text = "building and measuring needs root on the storage server"
        remedy = "Run it with sudo, or name a server: --on root@HOST."
        raise fail(inventory.REASONS["not-root"], text, remedy=remedy, exit=Exit.REFUSED)
