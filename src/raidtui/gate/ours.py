"""Telling a run's own signatures from those of others: by UUID, by label, or by their place in a table of the run."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from raidtui.inventory import Signature


def same(found: Signature, own: Signature) -> bool:
    """Return True for a signature that was recorded: same type, and same UUID or, where none was recorded, label."""
    if found.type != own.type:
        return False
    if own.uuid:
        return _bare(found.uuid) == _bare(own.uuid)
    return bool(own.label) and found.label == own.label


def foreign(found: Sequence[Signature], disk: str, ours: Collection[Signature]) -> list[Signature]:
    """The signatures on a disk (by its kernel name) that are not the run's.

    The run's are those in `ours`, those without a name within a partition table that is in `ours`, and remains without a
    name (uberblocks whose label is gone) of a kind that is in `ours`.
    """
    kinds = {one.type for one in ours}

    def is_own(signature: Signature) -> bool:
        nameless = signature.remains and not signature.uuid and not signature.label
        return (nameless and signature.type in kinds) or any(same(signature, one) for one in ours)

    own = [signature for signature in found if is_own(signature)]
    if any(signature.usage == "partitions" and signature.where == disk for signature in own):
        for signature in found:
            inside = signature.where != disk and signature.type in kinds
            if signature not in own and not signature.uuid and not signature.label:
                # The protective record is a part of the table that it protects.
                own += [signature] if inside or signature.type == "PMBR" else []
    return [signature for signature in found if signature not in own]


def _bare(uuid: str) -> str:
    """mdadm writes `a:b:c:d`, libblkid `a-b-c-d-e`, for the same 32 digits."""
    return re.sub(r"[-:]", "", uuid).lower()
