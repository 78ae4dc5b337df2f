"""Upper bound of a layout's rate by the PCIe links of its disks."""

from __future__ import annotations

from raidtui.base.text import plural
from raidtui.engine.compose.stack_view import Piece
from raidtui.model.describe import Ceiling
from raidtui.model.disk import link_bytes_per_s


def ceiling_of(piece: Piece, *, one_by_one: bool) -> Ceiling | None:
    """Return the bound of a layout; None if a link is unknown. `one_by_one`: the disks are measured one by one."""
    carried = [link_bytes_per_s((disk,)) for disk in piece.data]
    known = [bytes_per_s for bytes_per_s in carried if bytes_per_s is not None]
    together = link_bytes_per_s(piece.data)
    if together is None or len(known) != len(carried):
        return None
    if one_by_one:
        return Ceiling(f"the slowest of {plural(len(known), 'PCIe link')}", min(known), min(known))
    written = together
    for inputs in piece.inputs:
        for passage in (passage for passage in inputs.write_path if passage.bounds):
            through = link_bytes_per_s(inputs.disks.get(passage.through, ()))
            written = min(written, through) if through is not None else written
    return Ceiling(plural(len(known), "PCIe link"), together, written * piece.data_share)
