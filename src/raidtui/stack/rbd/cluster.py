"""Commands to a Ceph cluster. Each has a deadline, and what it says becomes a problem with a code of its own."""

from __future__ import annotations

from typing import Any, Final

from raidtui.base import proc
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.clusters import DEADLINE_S, answer, parsed, said_by
from raidtui.stack.rbd.spec import Cluster

PACKAGE: Final = "apt install ceph-common"

NO_ANSWER: Final = Refusal(
    "rbd-no-answer",
    "The Ceph cluster does not answer",
    "No monitor answered in time, or a placement group that the command needs is not active.",
    "`ceph status` on this server shows whether a monitor is reached; look at mon_host in the configuration file, at the "
    "network, and at the monitors.",
)
NOT_ADMITTED: Final = Refusal(
    "rbd-not-admitted",
    "The Ceph cluster does not admit the user",
    "The monitors refused the user, or there is no key for it: the user does not exist, or the keyring has "
    "another key or none.",
    'Name the user and the file with its key: "user": "admin", "keyring": "/etc/ceph/ceph.client.admin.keyring". '
    "`ceph auth get client.NAME` prints a user's key.",
)
NO_PERMISSION: Final = Refusal(
    "rbd-no-permission",
    "The user may not do this on the Ceph cluster",
    "Making and removing a pool, and asking the monitors about it, needs a user who may administer the cluster.",
    "Use client.admin, or a user with these capabilities: mon 'allow *' mgr 'allow *' osd 'allow *'.",
)
NO_CONF: Final = Refusal(
    "rbd-no-conf",
    "There is no configuration of a Ceph cluster",
    "The configuration file names the monitors; without it the cluster cannot be found.",
    'Copy /etc/ceph/ceph.conf from the cluster, or name the file: "conf": "/etc/ceph/ceph.conf".',
)

OTHER_CLUSTER: Final = Refusal(
    "rbd-other-cluster",
    "The configuration names another cluster",
    "The cluster that is reached now is not the one on which the run made its pool or held scrubs.",
    "Restore the configuration file that the run was planned with, then: raidtui recover.",
)

_SILENT: Final = ("RADOS timed out", "Connection timed out", "(110)")
_NO_CONF: Final = ("conf_read_file", "unable to open config file", "unable to get monitor info")
_REFUSED: Final = ("error connecting to the cluster", "couldn't connect to the cluster")
_DENIED: Final = ("EACCES", "EPERM", "access denied", "Operation not permitted", "Permission denied")


def require_cluster(dump: Any, fsid: str, name: str, what: str) -> None:
    """Raise ProblemError (`rbd-other-cluster`) if a map is not that of the recorded cluster. `what`: `the pool is`."""
    if dump["fsid"] != fsid:
        text = f"{what} on cluster {fsid}, and the configuration leads to {dump['fsid']}"
        raise fail(OTHER_CLUSTER, text, place=name, remedy=OTHER_CLUSTER.way_out)


def argv_of(tool: str, cluster: Cluster, *words: str) -> Argv:
    """Return a command of `ceph` or `rbd` for this cluster."""
    return (tool, *cluster.words, *words)


def run(argv: Argv, deadline_s: float = DEADLINE_S) -> proc.Finished:
    """Run a command. Raises ProblemError: `rbd-no-answer`, `rbd-not-admitted`, `rbd-no-permission`, `tool-failed`, …

    Without a deadline it would wait five minutes for a monitor, and without end for a placement group.
    """
    ran = answer(argv, PACKAGE, NO_ANSWER, deadline_s)
    if ran.code:
        raise _failed(" ".join(argv), ran)
    return ran


def _failed(shown: str, ran: proc.Finished) -> ProblemError:
    """Return the problem of a command that failed."""
    said = said_by(ran)
    refusal = TOOL_FAILED
    if any(word in ran.error_text for word in _NO_CONF):
        refusal = NO_CONF
    elif any(word in said for word in _SILENT):
        refusal = NO_ANSWER
    elif any(word in said for word in _REFUSED):
        refusal = NOT_ADMITTED
    elif any(word in said for word in _DENIED):
        refusal = NO_PERMISSION
    return fail(refusal, f"{shown}: {said}", remedy=refusal.way_out, exit=Exit.BUILD_FAILED)


def ask(tool: str, cluster: Cluster, *words: str, deadline_s: float = DEADLINE_S) -> Any:
    """Return what a command prints as JSON. Raises ProblemError as `run`, and `tool-failed` if it is no JSON."""
    argv = argv_of(tool, cluster, *words, "--format", "json")
    return parsed(argv, run(argv, deadline_s))
