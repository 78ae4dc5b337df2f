"""A layout as a drawing needs it: each layer checked and measured alone, as far as it goes, and the bound by PCIe links."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.base.text import plural
from raidtui.engine.compose.cautions import Inputs, Shaped
from raidtui.engine.compose.layout import disk_part
from raidtui.engine.compose.settings import layer_settings
from raidtui.model.describe import Ceiling, LayerView, RoleView
from raidtui.model.disk import Disk, link_bytes_per_s
from raidtui.model.plan import Names
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.scenario import Node, Policy, Role, RoleRef
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Layer, Part, Shape, placed
from raidtui.stack.tuning.plan import tuning_in

_ANY_SIZE_BYTES: Final = 1 << 40


class Ground(NamedTuple):
    """Data that the layouts of a scenario stand on."""

    roles: Mapping[str, Role]
    binding: Mapping[str, tuple[Disk, ...]]
    policy: Policy
    beside: Mapping[str, tuple[Disk, ...]] = MappingProxyType({})
    """Disks of all hosts that have a role, by role: they are drawn, while `binding` has those of one host."""


DISK: Final = "disk"
FAILURE_DOMAIN: Final = "failure domain"


class Piece(NamedTuple):
    """A layer or a role, seen from the layer above."""

    view: LayerView | RoleView
    devices: int
    """Devices that it is for the layer above."""
    parts: tuple[Part, ...] | None
    """These devices as inputs of the layer above; None if there is no device."""
    known: bool = False
    """False where disks are not chosen yet: then `parts` are only as many, and their sizes mean nothing."""
    disks: tuple[Disk, ...] = ()
    may_fail: int | None = None
    """Disks that may fail without loss of one of its devices, whichever they are."""
    fails: str = DISK
    """Unit of `may_fail`: disks, or failure domains of a cluster."""
    words: str = ""
    """Sentence about the disks that may fail, if the number alone is not enough."""
    penalty: float = 1.0
    read_penalty: float = 1.0
    data: tuple[Disk, ...] = ()
    """Disks that keep data: no journals, no spares."""
    data_share: float = 1.0
    """Share of data in the bytes written to the disks: 0.5 on a mirror of two."""
    shapes: tuple[Shaped, ...] = ()
    inputs: tuple[Inputs, ...] = ()
    """Problems of every layer."""
    shape: Shape | None = None
    problems: tuple[Problem, ...] = ()


def stack_of(node: Node, ground: Ground) -> Piece:
    """Return a layer with everything below it, as far as it can be read."""
    layer, given = all_layers()[node.kind], node.given if isinstance(node.given, dict) else {}
    below = {
        name: tuple(_role(one.role, ground) if isinstance(one, RoleRef) else stack_of(one, ground) for one in sources)
        for name, sources in node.inputs.items()
    }
    counts = {name: sum(piece.devices for piece in pieces) for name, pieces in below.items()}
    view = LayerView(
        node.kind,
        node.place,
        _words(layer, node.spec, counts) if node.spec is not None else "",
        {name: tuple(piece.view for piece in pieces) for name, pieces in below.items()},
        layer_settings(node.kind, given, counts),
    )
    spec = node.spec if node.sound and not node.problems else None
    return _measured(layer, spec, view, below, ground.policy, node.problems)


def _words(layer: Layer[Any], spec: Any, counts: Mapping[str, int]) -> str:
    tuning = tuning_in(spec)
    return layer.describe(spec, counts) + (", tuned" if tuning is not None and tuning.words() else "")


def _role(name: str, ground: Ground) -> Piece:
    disks, count = ground.binding.get(name, ()), ground.roles[name].count
    size_bytes = min((disk.size_bytes for disk in disks), default=None)
    view = RoleView(name, count, tuple(disk.id for disk in ground.beside.get(name, disks)), size_bytes)
    parts = tuple(map(disk_part, disks)) or tuple(_any_disk(name, number) for number in range(count))
    return Piece(view, count, parts, bool(disks), disks, may_fail=0, data=disks)


def _any_disk(role: str, number: int) -> Part:
    """Stands for a disk that is not chosen yet, in arithmetic that does not depend on its size."""
    name = f"{role}{number}"
    return Part(f"disk:{name}", f"/dev/{name}", _ANY_SIZE_BYTES, 512, (name,))


def _measured(
    layer: Layer[Any],
    spec: Any,
    view: LayerView,
    below: Mapping[str, tuple[Piece, ...]],
    policy: Policy,
    problems: tuple[Problem, ...],
) -> Piece:
    """The layer with its figures, where it is sound (`spec`) and all below it is."""
    found = [piece for pieces in below.values() for piece in pieces]
    every = (*problems, *(problem for piece in found for problem in piece.problems))
    disks = tuple(disk for piece in found for disk in piece.disks)
    inputs = (
        *(known for piece in found for known in piece.inputs),
        Inputs(
            {name: tuple(disk for piece in pieces for disk in piece.disks) for name, pieces in below.items()},
            layer.write_path(spec) if spec is not None else (),
        ),
    )
    known = all(piece.known for piece in found)
    counts = {name: sum(piece.devices for piece in pieces) for name, pieces in below.items()}
    devices = layer.devices(spec, counts) if spec is not None else 1
    bare = Piece(view, devices, None, known, disks, inputs=inputs, problems=every)
    parts = {name: tuple(p for piece in pieces for p in piece.parts or ()) for name, pieces in below.items()}
    if spec is None or not all(piece.parts for piece in found):
        return bare._replace(view=_with(view, problems=problems))
    try:
        shape = layer.shape(spec, parts)
        offers = layer.plan(spec, parts, Names("preview0"), policy).offers
    except ProblemError as error:
        # Without disks it is not the disks that are too small.
        wrong = tuple(placed(problem, view.kind, view.place) for problem in error.problems) if known else ()
        return bare._replace(view=_with(view, problems=(*problems, *wrong)), problems=(*every, *wrong))
    may_fail, words = _tolerance(layer, spec, below)
    fails = next((piece.fails for piece in found if piece.fails != DISK), DISK)
    if not below and words:
        fails = FAILURE_DOMAIN
    data = next(iter(below.values()), ())
    each = [part.size_bytes for part in next(iter(parts.values()), ())]
    # What a filesystem keeps of the room for itself is not written beside every block of data.
    share = 1 / shape.write_penalty
    if layer.offers != "directory" and each:
        share = min(1.0, shape.size_bytes / (min(each) * len(each)))
    return bare._replace(
        view=_with(
            view, problems=problems, size_bytes=shape.size_bytes if known else None, stripe_bytes=shape.stripe_bytes
        ),
        parts=offers or None,
        may_fail=may_fail,
        fails=fails,
        words=words,
        penalty=shape.write_penalty * max((piece.penalty for piece in data), default=1.0),
        read_penalty=shape.read_penalty * max((piece.read_penalty for piece in data), default=1.0),
        data=tuple(disk for piece in data for disk in piece.data),
        data_share=(shape.data_share or share) * min((piece.data_share for piece in data), default=1.0),
        shapes=(*(shaped for piece in found for shaped in piece.shapes), Shaped(view.words, shape)),
        shape=shape,
    )


def _tolerance(layer: Layer[Any], spec: Any, below: Mapping[str, tuple[Piece, ...]]) -> tuple[int | None, str]:
    """Return how many disks may fail, and a sentence: for this layer, then for the layers below.

    Images of a cluster fail together, with their pool: a layer on several of them survives no more than the pool does. The
    number is None where the cluster alone knows it.
    """
    counts = {name: sum(piece.devices for piece in pieces) for name, pieces in below.items()}
    tolerated_by = layer.tolerates_failures(spec, counts)
    if any(piece.may_fail is None for pieces in below.values() for piece in pieces) or not (below or tolerated_by):
        return None, ""
    if not below:
        texts = (text for _, text in tolerated_by.values())
        return min((count for count, _ in tolerated_by.values()), default=0), "; ".join(texts)
    fewest = [piece.may_fail or 0 for pieces in below.values() for piece in pieces if piece.fails != DISK]
    for name, pieces in below.items():
        tolerated, _ = tolerated_by.get(name, (0, ""))
        weights = sorted(1 + (piece.may_fail or 0) for piece in pieces for _ in range(piece.devices))
        if tolerated < len(weights):
            fewest.append(sum(weights[: tolerated + 1]) - 1)
    words = [text for name, (_, text) in tolerated_by.items() if name in below and text]
    inner = dict.fromkeys(piece.words for pieces in below.values() for piece in pieces if piece.words)
    words += [f"in each {kinds} below: {text}" for text in inner for kinds in [_kind_of(below, text)]]
    return min(fewest, default=0), "; ".join(words)


def _kind_of(below: Mapping[str, tuple[Piece, ...]], words: str) -> str:
    views = [piece.view for pieces in below.values() for piece in pieces if piece.words == words]
    return next((view.kind for view in views if isinstance(view, LayerView)), "layer")


def _with(view: LayerView, **changes: Any) -> LayerView:
    return msgspec.structs.replace(view, **changes)


def ceiling_of(piece: Piece, *, one_by_one: bool) -> Ceiling | None:
    """Return the bound of a layout; None if a link is unknown. `one_by_one`: the disks are measured one by one."""
    if not piece.data:
        return None
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
