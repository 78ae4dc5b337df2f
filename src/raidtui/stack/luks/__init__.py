"""LUKS2: encrypted volumes, formatted and opened by libcryptsetup through blivet, with random keys in memory only."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule
from raidtui.stack import mapping
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.luks import plan
from raidtui.stack.luks.build import VOLUMES
from raidtui.stack.luks.spec import LuksSpec, LuksVolume


def _leaves(volume: LuksVolume) -> tuple[tuple[str, ...], ...]:
    # The header is written with the label, and gets the planned UUID right afterwards.
    return (("crypto_LUKS", volume.uuid), ("crypto_LUKS", "", volume.name))


LAYER: Final = Layer(
    kind="luks",
    title="encrypted volume",
    spec=LuksSpec,
    offers="block",
    inputs=plan.inputs,
    check=plan.check,
    describe=plan.describe,
    defaults=plan.defaults,
    tolerates_failures=plan.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    amplifies=plan.amplifies,
    modules=(
        KernelModule(name="dm-crypt", module="dm-crypt", needed_for="encrypted volumes", tool="dmsetup",
                     remedy="Install the distribution's full kernel (linux-image-amd64).",
                     tool_remedy="apt install dmsetup"),
    ),
    built_by_blivet=True,
    threads="kcryptd|dmcrypt_write",
    also_called={"dm-crypt": "luks", "crypt": "luks", "luks2": "luks"},
    actions={
        "luks.create": Action(
            args=LuksVolume,
            do=VOLUMES.create,
            undo=VOLUMES.teardown,
            health=VOLUMES.health,
            members=mapping.members,
            expect=VOLUMES.expect,
            leaves=_leaves,
        ),
        "luks.verify": Action(args=LuksVolume, do=VOLUMES.verify),
        "luks.close": Action(args=LuksVolume, do=VOLUMES.teardown),
    },
)
