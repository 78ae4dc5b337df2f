"""One layout of a scenario, on the disks of a server, as a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.host_roles import ROLE_HOST, group_of
from raidtui.engine.compose.planner import used_roles
from raidtui.engine.compose.reading import chosen, read_document
from raidtui.engine.lasting.ansible import playbook
from raidtui.engine.lasting.bash import bash
from raidtui.engine.lasting.names import refuse_mount, the_layout
from raidtui.engine.lasting.steps import lasting
from raidtui.engine.run import runs
from raidtui.inventory.by_id import by_id_path
from raidtui.model.disk import Disk
from raidtui.model.problem import fail
from raidtui.model.protocol import Script, ScriptRequest


def script_of(request: ScriptRequest, disks: Sequence[Disk], folder: Path | None) -> Script:
    """Return the script. `folder` has udev's names of the disks, None for a simulated server. Raises ProblemError."""
    refuse_mount(request.mount)
    asked, document = request.plan, read_document(request.plan.document)
    layout = the_layout(chosen(document.scenario, asked.options)[0])
    node = document.scenario.layouts[layout]
    roles = used_roles(document.scenario, asked.options)
    if group := group_of(node, document.scenario.roles, document.scenario.hosts):
        raise fail(ROLE_HOST, f"{layout} is built on {group}, and a script is for this server", place=node.place,
                   remedy=ROLE_HOST.way_out)  # fmt: skip
    said = {role: ids for role, ids in asked.bind.items() if role not in document.scenario.roles or role in roles}
    bound = bind(roles, said, disks, document.earlier)
    paths = {disk.id: by_id_path(disk, folder) for found in bound.values() for disk in found}
    if request.language == "ansible":
        of_roles = {role: [paths[disk.id] for disk in found] for role, found in bound.items()}
        return Script("ansible", layout, playbook(node, of_roles, name=request.name, mount=request.mount), paths)
    made = lasting(node, bound, paths, document.scenario.policy, token=runs.new_token(), name=request.name,
                   mount=request.mount)  # fmt: skip
    every = [(role, disk) for role, found in bound.items() for disk in found]
    scenario = str(document.scenario.given.get("name", ""))
    return Script("bash", layout, bash(made, scenario=scenario, layout=layout, disks=every, by_id=paths), paths)
