"""The connection to an export, by libblockdev's nvme plugin. Runs in the builder's process alone."""

from __future__ import annotations

from raidtui.stack.builder.libraries import BlockDev, extra, tell
from raidtui.stack.nvmeof.plan import connect_argv, connect_options, secret_options
from raidtui.stack.nvmeof.spec import Export


def connect(planned: Export, key: str) -> None:
    """Connect to the export of this run; `key` is empty without authentication."""
    tell(*connect_argv(planned))
    # The host's own NQN in /etc/nvme stays unused: only the planned one may connect.
    options = extra(connect_options(planned) | secret_options(key))
    BlockDev.nvme.connect(planned.nqn, planned.transport, planned.address, planned.service or None, None, None,
                          planned.host_nqn, planned.host_id, options)  # fmt: skip
