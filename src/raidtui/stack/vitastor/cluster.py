"""Commands to a Vitastor cluster. Each has a deadline, and what it says becomes a problem with a code of its own.

Options stand after the verb. With `--json` an error is `{"error_code": …, "error_text": …}`, and numbers are partly texts.
"""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from typing import Any, Final, NamedTuple

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.clusters import DEADLINE_S, answer, parsed, said_by
from raidtui.stack.vitastor.spec import VitastorCluster

PACKAGE: Final = "Install vitastor-client of Vitastor's own package repository."
CLI: Final = "vitastor-cli"
NOT_ACTIVE_YET: Final = errno.EAGAIN
"""Error of `create-pool --wait` if the pool is not active after some seconds; it may become so later."""

NO_ANSWER: Final = Refusal(
    "vitastor-no-answer",
    "The Vitastor cluster does not answer",
    "No etcd answered in time, or an OSD that the command needs is not active.",
    "`vitastor-cli status` on this server shows whether the cluster is reached; look at etcd_address in the configuration "
    "file, at the network, and at etcd.",
)
NO_CONFIG: Final = Refusal(
    "vitastor-no-config",
    "There is no configuration of a Vitastor cluster",
    "The configuration file, or `etcd`, names the addresses of etcd; without them the cluster cannot be found.",
    'Copy /etc/vitastor/vitastor.conf from the cluster, name the file: "config": "/etc/vitastor/vitastor.conf", or the '
    'addresses: "etcd": "10.0.0.1:2379/v3".',
)
OTHER_CLUSTER: Final = Refusal(
    "vitastor-other-cluster",
    "The configuration names another cluster",
    "The cluster that is reached now has none of the OSDs of the one on which the run made its pool.",
    "Restore the configuration file that the run was planned with, then: raidtui recover.",
)
_NO_CONFIG: Final = "etcd_address is missing"


class Said(NamedTuple):
    """Answer of a command, which may be an error."""

    argv: Argv
    ran: proc.Finished
    code: int
    """Error code (errno) of the cluster's tool, or its exit code; 0 if it did what it was asked for."""
    text: str
    """The error's text."""

    @property
    def error(self) -> ProblemError:
        """Return the problem: `vitastor-no-config` or `tool-failed`."""
        refusal = NO_CONFIG if _NO_CONFIG in self.text else TOOL_FAILED
        return fail(refusal, f"{' '.join(self.argv)}: {self.text}", remedy=refusal.way_out, exit=Exit.BUILD_FAILED)


def argv_of(cluster: VitastorCluster, verb: str, *words: str, tool: str = CLI) -> Argv:
    """Return a command of Vitastor's tools for this cluster."""
    return (tool, verb, *words, *cluster.words)


def tell(argv: Argv, deadline_s: float = DEADLINE_S) -> Said:
    """Run a command. Raises ProblemError if it is not installed or does not end in time (`vitastor-no-answer`)."""
    ran = answer(argv, PACKAGE, NO_ANSWER, deadline_s)
    for printed in (ran.out, ran.err):
        with suppress(ValueError):
            found = json.loads(printed)
            if isinstance(found, dict) and (code := int(found.get("error_code") or 0)):
                return Said(argv, ran, code, clean(str(found.get("error_text", ""))[:400]))
    return Said(argv, ran, ran.code, said_by(ran) if ran.code else "")


def run(argv: Argv, deadline_s: float = DEADLINE_S) -> proc.Finished:
    """Run a command that has to succeed. Raises ProblemError as `tell`, and `vitastor-no-config`, `tool-failed`."""
    if (said := tell(argv, deadline_s)).code:
        raise said.error
    return said.ran


def ask(cluster: VitastorCluster, verb: str, *words: str, tool: str = CLI, deadline_s: float = DEADLINE_S) -> Any:
    """Return what a command prints as JSON. Raises ProblemError as `run`."""
    argv = (*argv_of(cluster, verb, *words, tool=tool), "--json")
    return parsed(argv, run(argv, deadline_s))


def number(value: Any) -> float:
    """Return a number that may be a text, or missing; of a list, its length."""
    if isinstance(value, list):
        return len(value)
    return float(value or 0)
