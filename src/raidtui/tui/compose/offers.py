"""What can be added: layers by what they are most known by, workloads by preset or free. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from raidtui.model.describe import Kind, Kinds, Preset
from raidtui.tui.compose.edit import BELOW
from raidtui.tui.compose.layers import device_fields, group_fields
from raidtui.tui.compose.pick import Entry


class KindOffer(NamedTuple):
    """A kind, with what is chosen of it at once."""

    kind: Kind
    given: Mapping[str, Any]
    entry: Entry


def layer_offers(kinds: Kinds, fits: Callable[[Kind], bool] = lambda kind: True) -> list[KindOffer]:
    """Every layer that fits; one that has to have a choice (`level`) once for each (`raid5`)."""
    return [offer for kind in kinds.layers if fits(kind) for offer in _offers(kind)]


def load_offers(kinds: Kinds) -> list[Preset | KindOffer]:
    """The presets in the field's words, then every kind of workload to be filled in freely."""
    return [*kinds.presets, *(offer for kind in kinds.workloads for offer in _offers(kind))]


def load_entry(offer: Preset | KindOffer) -> Entry:
    if isinstance(offer, Preset):
        return Entry(offer.title, offer.name)
    return Entry(f"free: {offer.entry.words}", offer.entry.note)


def takes_layer(kind: Kind) -> bool:
    """Whether it stands on something."""
    return bool(device_fields(kind) or group_fields(kind))


def offers_block(kind: Kind) -> bool:
    """Whether a layer above it has something to stand on."""
    return kind.offers == "block"


def _offers(kind: Kind) -> list[KindOffer]:
    groups = next((field for field in group_fields(kind) if field.required), None)
    if groups is not None:
        names = [field.name for field in groups.fields if field.type == "devices"]
        return [KindOffer(kind, {groups.name: [{name: BELOW}]}, Entry(name, kind.title)) for name in names]
    chosen = next((field for field in kind.fields if field.type == "choice" and field.required), None)
    if chosen is None:
        return [KindOffer(kind, {}, Entry(kind.kind, kind.title))]
    return [KindOffer(kind, {chosen.name: choice}, Entry(choice, kind.title)) for choice in chosen.choices]
