"""Plans of images on a Vitastor cluster: refusals, sizes, and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.image import VitastorAddress
from raidtui.model.plan import Argv, Names, TargetKind
from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import Spread, Writes
from raidtui.stack.clusters import MIB, pool_shape, pool_spread, tolerated
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, Shape, all_at_once
from raidtui.stack.vitastor.cluster import argv_of
from raidtui.stack.vitastor.spec import (
    BLOCK,
    DEFAULT_COPIES,
    DEFAULT_PGS,
    VitastorCluster,
    VitastorCopies,
    VitastorImages,
    VitastorPool,
    VitastorSpec,
    ref_of,
)

LINKS: Final = "/dev/vitastor"
"""Folder of raidtui's links to mapped images, which nobody else names."""
REQUEST_TIMEOUT_S: Final = 240
"""After it, the kernel fails what vitastor-nbd does not answer. Without it, a device whose process hangs stays for good."""

SIZE: Final = Refusal(
    "vitastor-size",
    "Invalid size of an image",
    "An image has a whole number of MiB.",
    'Write "size": "10GiB".',
)
COPIES: Final = Refusal(
    "vitastor-copies",
    "Invalid copies or pieces of a pool",
    "A pool has copies or pieces, not both. min_size is at most the number of copies, and from k to k + m pieces. XOR has "
    "one piece of code.",
    'Write "replicated": {"size": 3, "min_size": 2}, or "erasure": {"k": 2, "m": 1}.',
)
UBLK: Final = Refusal(
    "vitastor-ublk",
    "Images through ublk are not supported",
    "The device of a vitastor-ublk that has died stays, and nothing says any more which image it had: after a crash "
    "raidtui could not tell its own devices from those of others.",
    'Use "through": "nbd" for a block device, or "engine".',
)


def inputs(spec: VitastorSpec) -> Mapping[str, Operand]:
    return {}


def check(spec: VitastorSpec, counts: Counts, place: str) -> list[Problem]:
    return list(_problems(spec, place))


def _problems(spec: VitastorSpec, place: str) -> Iterator[Problem]:
    if spec.size.bytes < MIB or spec.size.bytes % MIB:
        yield SIZE.problem(f"{spec.size.text} is no whole number of MiB", place=f"{place}.size", remedy=SIZE.way_out)
    if spec.through == "ublk":
        text = "raidtui cannot map images by vitastor-ublk"
        yield UBLK.problem(text, place=f"{place}.through", remedy=UBLK.way_out)
    copies, pieces = spec.replicated, spec.erasure
    found: list[tuple[str, str]] = []
    if copies is not None and pieces is not None:
        found.append(("erasure", "replicated and erasure are both given"))
    if copies is not None and copies.min_size is not None and copies.min_size > copies.size:
        found.append(("replicated.min_size", f"min_size {copies.min_size} is more than size {copies.size}"))
    if pieces is not None:
        least, whole = pieces.min_size, pieces.k + pieces.m
        if least is not None and not pieces.k <= least <= whole:
            found.append(("erasure.min_size", f"min_size {least} is not from k {pieces.k} to k + m {whole}"))
        if pieces.scheme == "xor" and pieces.m != 1:
            found.append(("erasure.m", f"XOR has one piece of code, not {pieces.m}"))
    for where, text in found:
        yield COPIES.problem(text, place=f"{place}.{where}", remedy=COPIES.way_out)


def describe(spec: VitastorSpec, counts: Counts) -> str:
    """Return a short description: `2 images of 10GiB by nbd, 2+1 XOR, failure domain osd, 32 PGs`."""
    found = f"{plural(spec.images, 'image')} of {spec.size.text} by {spec.through}, {_kept(spec)}"
    found += f", failure domain {spec.failure_domain}" if spec.failure_domain is not None else ""
    return f"{found}, {spec.pg_num} PGs"


def _kept(spec: VitastorSpec) -> str:
    if spec.erasure is not None:
        return f"{spec.erasure.k}+{spec.erasure.m} {'XOR' if spec.erasure.scheme == 'xor' else 'erasure-coded'}"
    return f"{spec.replicated.size if spec.replicated is not None else DEFAULT_COPIES} copies"


def defaults(spec: VitastorSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    found = {
        "config": ("/etc/vitastor/vitastor.conf", "Vitastor's default"),
        "etcd": ("etcd_address", "of the configuration file"),
        "failure_domain": ("host", "Vitastor's default"),
        "pg_num": (str(DEFAULT_PGS), "vitastor-cli has no default"),
    }
    if spec.erasure is None:
        found["replicated"] = (f"{DEFAULT_COPIES} copies", "vitastor-cli has no default")
    return found


def tolerates_failures(spec: VitastorSpec, counts: Counts) -> Mapping[str, tuple[int, str]]:
    domain, copies, pieces = spec.failure_domain or "host", spec.replicated or VitastorCopies(), spec.erasure
    if pieces is not None:
        return tolerated(0, pieces.min_size or pieces.k, (pieces.k, pieces.m), domain)
    return tolerated(copies.size, copies.min_size, None, domain)


def devices(spec: VitastorSpec, counts: Counts) -> int:
    return spec.images


def shape(spec: VitastorSpec, parts: Parts) -> Shape:
    return pool_shape(spec.size.bytes * spec.images, (spec.replicated or VitastorCopies()).size, _pieces(spec))


def amplifies(spec: VitastorSpec, counts: Counts, writes: Writes) -> Spread:
    return pool_spread((spec.replicated or VitastorCopies()).size, _pieces(spec), writes)


def _pieces(spec: VitastorSpec) -> tuple[int, int] | None:
    return (spec.erasure.k, spec.erasure.m) if spec.erasure is not None else None


def measured_as(spec: VitastorSpec) -> TargetKind:
    return "image" if spec.through == "engine" else "block"


def plan(spec: VitastorSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    made, mapped = names.new("vitastor-pool"), names.new("vitastor-map")
    pool = pool_of(spec, made.name, made.uuid)
    images = VitastorImages(
        pool.name, mapped.uuid, pool.cluster, pool.name, pool.images, spec.size.bytes, spec.through
    )  # fmt: skip
    remove = remove_argvs(pool)
    build = [
        Draft("vitastor.pool", f"Make pool {pool.name} ({_kept(spec)})", pool, (create_argv(pool),), remove, made,
              seconds=5.0),
        Draft("vitastor.images", f"Make {plural(spec.images, 'image')} of {spec.size.text}", images, images_argvs(images),
              seconds=1.0),
    ]  # fmt: skip
    teardown = [Draft("vitastor.remove", f"Remove pool {pool.name} with its images", pool, remove, seconds=10.0)]
    if spec.through == "nbd":
        unmap = unmap_argvs(images)
        commands = map_argvs(images)
        build.append(Draft("vitastor.map", "Map them as block devices", images, commands, unmap, mapped, seconds=2.0))
        teardown.insert(0, Draft("vitastor.unmap", "Unmap the images", images, unmap, seconds=2.0))
    build.append(Draft("vitastor.verify", "Read the images back", images, seconds=1.0))
    offers = tuple(
        Part(ref_of(image), path_of(images, image), spec.size.bytes, BLOCK, (), divided=spec.images > 1)
        for image in images.images
    )
    target = all_at_once(offers)
    if spec.through == "engine":  # no counters of the kernel
        target = target._replace(kind="image", counted="no", sector_bytes=BLOCK)
    return Planned(tuple(build), tuple(teardown), (target,), offers)


def pool_of(spec: VitastorSpec, name: str, uuid: str) -> VitastorPool:
    images = tuple(f"{name}-{number}" for number in range(1, spec.images + 1))
    copies, pieces = spec.replicated or VitastorCopies(), spec.erasure
    size, least = (pieces.k + pieces.m, pieces.min_size) if pieces is not None else (copies.size, copies.min_size)
    return VitastorPool(
        name, uuid, VitastorCluster(spec.config, spec.etcd), images, spec.size.bytes * spec.images, spec.pg_num, size,
        least, _pieces(spec), spec.failure_domain,
    )  # fmt: skip


def create_argv(pool: VitastorPool) -> Argv:
    """Return the command that makes the pool."""
    kept = ("-s", str(pool.size)) if pool.pieces is None else ("--ec", "{}+{}".format(*pool.pieces))
    least = ("--pg_minsize", str(pool.min_size)) if pool.min_size is not None else ()
    domain = ("--failure_domain", pool.failure_domain) if pool.failure_domain is not None else ()
    words = (pool.name, *kept, *least, "-n", str(pool.pg_num), *domain, "--wait")
    return (*argv_of(pool.cluster, "create-pool", *words), "--json")


def images_argvs(images: VitastorImages) -> tuple[Argv, ...]:
    """Return the commands that make the images."""
    size = f"{images.size_bytes // MIB}M"
    words = ("create", "-s", size, "-p", images.pool)
    return tuple((*argv_of(images.cluster, *words, image), "--json") for image in images.images)


def remove_argvs(pool: VitastorPool) -> tuple[Argv, ...]:
    """Return the commands that remove the images and, last, the pool."""
    images = (argv_of(pool.cluster, "rm", image, "--progress", "0") for image in pool.images)
    return (*images, argv_of(pool.cluster, "rm-pool", pool.name))


def map_argvs(images: VitastorImages) -> tuple[Argv, ...]:
    """Return the commands that map the images, without the client's own cache of writes."""
    more = ("--nbd_timeout", str(REQUEST_TIMEOUT_S), "--client_writeback_allowed", "0")
    return tuple(argv_of(images.cluster, "map", "--image", image, *more, tool="vitastor-nbd") for image in images.images)


def unmap_argvs(images: VitastorImages) -> tuple[Argv, ...]:
    """Return the commands that unmap them: the device's number is known by the link alone."""
    return tuple(("sh", "-c", f"vitastor-nbd unmap $(readlink {link_of(image)})") for image in images.images)


def link_of(image: str) -> str:
    return f"{LINKS}/{image}"


def path_of(images: VitastorImages, image: str) -> str:
    """Return the path of the mapped image; for fio's engine, its address."""
    if images.through == "engine":
        return str(VitastorAddress(image, images.cluster.config, images.cluster.etcd))
    return link_of(image)
