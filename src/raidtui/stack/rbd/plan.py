"""Plans of images on a Ceph cluster: refusals, sizes, and steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.image import RbdAddress
from raidtui.model.plan import Argv, Created, Names, TargetKind
from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text
from raidtui.stack.amplification import Spread, Writes
from raidtui.stack.clusters import MIB, pool_shape, pool_spread, tolerated
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, Shape, all_at_once
from raidtui.stack.rbd import scrub
from raidtui.stack.rbd.cluster import argv_of
from raidtui.stack.rbd.spec import (
    SECTOR,
    Cluster,
    Coding,
    ErasureSpec,
    Image,
    RbdImages,
    RbdPool,
    RbdScrubs,
    RbdSpec,
)

KIB: Final = 1 << 10
DEFAULT_COPIES: Final = 3
"""Ceph's osd_pool_default_size, for estimates; the cluster may have another one."""
LEAST_OBJECT: Final = 4 * KIB
MOST_OBJECT: Final = 32 * MIB
REQUEST_TIMEOUT_S: Final = 240
"""After it, the kernel fails what an OSD does not answer. By default it waits without end, and the device with it."""
OWN_OPTIONS: Final = ("osd_request_timeout", "mount_timeout", "ro", "read_only", "noudev", "name", "secret", "key", "fsid")
"""Options of `rbd map` that raidtui sets itself, or that would make another device."""
NEEDS: Final[Mapping[str, str]] = {
    "object-map": "exclusive-lock", "fast-diff": "object-map", "journaling": "exclusive-lock",
}  # fmt: skip

SIZE: Final = Refusal(
    "rbd-size",
    "Invalid size of an image",
    "An image has a whole number of MiB.",
    'Write "size": "10GiB".',
)
OBJECTS: Final = Refusal(
    "rbd-objects",
    "Invalid objects of an image",
    "The size of the objects is a power of two from 4 KiB to 32 MiB. Striping has a unit, which divides the object size, "
    "and a number of objects: both or none of them.",
    'Leave them out, or write "object_size": "4MiB", "stripe_unit": "64KiB", "stripe_count": 4.',
)
FEATURES: Final = Refusal(
    "rbd-features",
    "Features that do not fit together",
    "object-map and journaling need exclusive-lock, fast-diff needs object-map; the kernel's client maps no image with "
    "journaling.",
    'Leave features out, or write "features": ["layering", "exclusive-lock"].',
)
MAP_OPTION: Final = Refusal(
    "rbd-map-option",
    "An option of rbd map that cannot be set",
    "raidtui sets it itself, or it makes another device than the one that is planned.",
    "Leave it out.",
)
COPIES: Final = Refusal(
    "rbd-copies",
    "Invalid copies or pieces of a pool",
    "min_size is at most size.",
    'Write "replicated": {"size": 3, "min_size": 2}.',
)
CLIENT: Final = Refusal(
    "rbd-client",
    "An option of another client",
    "The kernel's client has no cache of its own and takes map_options. fio opens an image by librbd, which finds the key "
    "by the configuration file alone.",
    'Leave the option out, or change "through". For a key in another place: `keyring = PATH` in the configuration file.',
)
EXISTING: Final = Refusal(
    "rbd-existing-pool",
    "An option of a pool that is not made",
    "Copies, pieces, placement and placement groups of an existing pool are its own, and raidtui does not change them. "
    "Data may be in another pool than the images' names only where both exist.",
    "Leave the option out, or leave pool out, so that a pool is made.",
)
OF_POOLS: Final = ("replicated", "erasure", "failure_domain", "device_class", "root", "pg_num")
"""Options of a pool that is made."""


def inputs(spec: RbdSpec) -> Mapping[str, Operand]:
    return {}


def check(spec: RbdSpec, counts: Counts, place: str) -> list[Problem]:
    return [*_sizes(spec, place), *_pool(spec, place), *_features(spec, place), *_client(spec, place)]


def _client(spec: RbdSpec, place: str) -> Iterator[Problem]:
    others = ("cache",) if spec.through == "krbd" else ("keyring", "map_options")
    for name in (one for one in others if getattr(spec, one)):
        text = f"{name} is not possible through {spec.through}"
        yield CLIENT.problem(text, place=f"{place}.{name}", remedy=CLIENT.way_out)


def _sizes(spec: RbdSpec, place: str) -> Iterator[Problem]:
    if spec.size.bytes < MIB or spec.size.bytes % MIB:
        yield SIZE.problem(f"{spec.size.text} is no whole number of MiB", place=f"{place}.size", remedy=SIZE.way_out)
    whole = spec.object_size.bytes if spec.object_size is not None else 4 * MIB
    if not LEAST_OBJECT <= whole <= MOST_OBJECT or whole.bit_count() != 1:
        text = f"objects of {whole} bytes are not possible"
        yield OBJECTS.problem(text, place=f"{place}.object_size", remedy=OBJECTS.way_out)
    if (spec.stripe_unit is None) != (spec.stripe_count is None):
        text = "stripe_unit and stripe_count are given together or not at all"
        yield OBJECTS.problem(text, place=f"{place}.stripe_unit", remedy=OBJECTS.way_out)
    elif spec.stripe_unit is not None and (not spec.stripe_unit.bytes or whole % spec.stripe_unit.bytes):
        text = f"{spec.stripe_unit.text} does not divide objects of {size_text(whole)}"
        yield OBJECTS.problem(text, place=f"{place}.stripe_unit", remedy=OBJECTS.way_out)


def _pool(spec: RbdSpec, place: str) -> Iterator[Problem]:
    for name in (one for one in OF_POOLS if spec.pool is not None and getattr(spec, one) is not None):
        text = f"{name} is not possible in the existing pool {spec.pool}"
        yield EXISTING.problem(text, place=f"{place}.{name}", remedy=EXISTING.way_out)
    if spec.data_pool is not None and spec.pool in (None, spec.data_pool):
        text = f"data_pool {spec.data_pool} needs another pool for the images' names"
        yield EXISTING.problem(text, place=f"{place}.data_pool", remedy="Name that pool too, or leave data_pool out.")
    copies = spec.replicated
    if copies is not None and copies.size is not None and copies.min_size is not None and copies.min_size > copies.size:
        text = f"min_size {copies.min_size} is more than size {copies.size}"
        yield COPIES.problem(text, place=f"{place}.replicated.min_size", remedy=COPIES.way_out)


def _features(spec: RbdSpec, place: str) -> Iterator[Problem]:
    asked = spec.features or ()
    for feature, needed in NEEDS.items():
        if feature in asked and needed not in asked:
            yield FEATURES.problem(f"{feature} needs {needed}", place=f"{place}.features", remedy=FEATURES.way_out)
    if "journaling" in asked and spec.through == "krbd":
        text = "the kernel's client maps no image with journaling"
        yield FEATURES.problem(text, place=f"{place}.features", remedy="Leave journaling out.")
    for option in (spec.map_options or "").split(","):
        if option.partition("=")[0] in OWN_OPTIONS:
            yield MAP_OPTION.problem(f"{option} cannot be set", place=f"{place}.map_options", remedy=MAP_OPTION.way_out)


def describe(spec: RbdSpec, counts: Counts) -> str:
    """Return a short description: `2 images of 10GiB by krbd, 2+1 erasure-coded, failure domain osd`."""
    found = f"{plural(spec.images, 'image')} of {spec.size.text} by {spec.through}, {_kept(spec)}"
    found += f", failure domain {spec.failure_domain}" if spec.failure_domain is not None else ""
    found += f", class {spec.device_class}" if spec.device_class is not None else ""
    found += f", {spec.pg_num} PGs" if spec.pg_num is not None else ""
    found += f", objects of {spec.object_size.text}" if spec.object_size is not None else ""
    found += ", with rbd_cache" if spec.cache else ""
    if spec.stripe_unit is not None:
        found += f", striped by {spec.stripe_unit.text} over {spec.stripe_count}"
    return found


def _kept(spec: RbdSpec) -> str:
    if spec.pool is not None:
        return f"in pool {spec.pool}" + (f", data in {spec.data_pool}" if spec.data_pool is not None else "")
    if spec.erasure is not None:
        return f"{spec.erasure.k}+{spec.erasure.m} erasure-coded"
    if spec.replicated is None or spec.replicated.size is None:
        return "replicated"
    return f"{spec.replicated.size} copies"


def defaults(spec: RbdSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    found = {
        "conf": ("/etc/ceph/ceph.conf", "Ceph's default"),
        "user": ("admin", "Ceph's default"),
        "object_size": ("4MiB", "Ceph's default"),
        "pg_num": ("osd_pool_default_pg_num", "the cluster's own"),
        "features": ("rbd_default_features", "the cluster's own"),
    }
    if spec.pool is not None:
        del found["pg_num"]
    elif spec.erasure is None:
        found["replicated"] = ("osd_pool_default_size copies", "the cluster's own")
    return found


def tolerates_failures(spec: RbdSpec, counts: Counts) -> Mapping[str, tuple[int, str]]:
    if spec.pool is not None:  # the cluster alone knows
        return {}
    size, least = DEFAULT_COPIES, None
    if spec.replicated is not None:
        size, least = spec.replicated.size or DEFAULT_COPIES, spec.replicated.min_size
    pieces = _pieces(spec)
    return tolerated(size, least if pieces is None else None, pieces, spec.failure_domain or "host")


def devices(spec: RbdSpec, counts: Counts) -> int:
    return spec.images


def amplifies(spec: RbdSpec, counts: Counts, writes: Writes) -> Spread:
    return pool_spread(spec.replicated.size if spec.replicated is not None else None, _pieces(spec), writes)


def shape(spec: RbdSpec, parts: Parts) -> Shape:
    copies = (spec.replicated.size if spec.replicated is not None else None) or DEFAULT_COPIES
    return pool_shape(spec.size.bytes * spec.images, copies, _pieces(spec))


def _pieces(spec: RbdSpec) -> tuple[int, int] | None:
    return (spec.erasure.k, spec.erasure.m) if spec.erasure is not None else None


def measured_as(spec: RbdSpec) -> TargetKind:
    return "block" if spec.through == "krbd" else "image"


def cautions(spec: RbdSpec, below: Collection[str]) -> tuple[str, ...]:
    if not spec.cache:
        return ()
    return ("rbd_cache answers from this server's memory, also for direct I/O: a write is done before the cluster has it",)


def plan(spec: RbdSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    made, mapped = names.new("rbd-pool" if spec.pool is None else "rbd-images"), names.new("rbd-map")
    hold, release = _scrubs(spec, names)
    images, build, teardown = (_in_own_pool if spec.pool is None else _in_existing_pool)(spec, made, mapped.uuid)
    build = [*hold, *build]
    if spec.through == "krbd":
        unmap = tuple(unmap_argv(images, image) for image in images.images)
        commands = (("modprobe", *MODULE.split()), *(map_argv(images, image) for image in images.images))
        build.append(Draft("rbd.map", "Map them as block devices", images, commands, unmap, mapped, seconds=2.0))
        teardown.insert(0, Draft("rbd.unmap", "Unmap the images", images, unmap, seconds=2.0))
    build.append(Draft("rbd.verify", "Read the images back", images, seconds=2.0))
    offers = tuple(
        Part(one.ref, path_of(images, one), spec.size.bytes, SECTOR, (), discard=True, divided=spec.images > 1)
        for one in images.images
    )
    teardown += release
    target = all_at_once(offers)
    if spec.through == "librbd":  # no counters of the kernel
        locked = spec.features is None or "exclusive-lock" in spec.features
        target = target._replace(kind="image", counted="no", one_client=locked)
    return Planned(tuple(build), tuple(teardown), (target,), offers)


def _in_own_pool(spec: RbdSpec, made: Created, uuid: str) -> tuple[RbdImages, list[Draft], list[Draft]]:
    """Return the images, and the steps that make and remove them with their pool."""
    pool = pool_of(spec, made.name, made.uuid)
    images, delete = images_of(spec, pool.name, pool.name, pool.data, uuid), remove_argvs(pool)
    title = f"Make {plural(spec.images, 'image')} of {spec.size.text}"
    build = [
        Draft("rbd.pool", f"Make pool {pool.name} ({_kept(spec)})", pool, create_argvs(pool), delete, made, seconds=10.0),
        Draft("rbd.images", title, images, images_argvs(images), seconds=2.0),
    ]
    return images, build, [Draft("rbd.remove", f"Remove pool {pool.name} with its images", pool, delete, seconds=5.0)]


def _in_existing_pool(spec: RbdSpec, made: Created, uuid: str) -> tuple[RbdImages, list[Draft], list[Draft]]:
    """Return the images, and the steps that make and remove them alone."""
    assert spec.pool is not None
    images = images_of(spec, made.name, spec.pool, spec.data_pool, uuid)
    remove = tuple(remove_image_argv(images, image) for image in images.images)
    many = f"{plural(spec.images, 'image')} of {spec.size.text}"
    build = [Draft("rbd.put", f"Make {many} {_kept(spec)}", images, images_argvs(images), remove, made, seconds=5.0,
                   takes=images.pools)]  # fmt: skip
    return images, build, [Draft("rbd.take", f"Remove {many} from pool {images.pool}", images, remove, seconds=5.0)]


def _scrubs(spec: RbdSpec, names: Names) -> tuple[list[Draft], list[Draft]]:
    """Return the steps that hold scrubs, and those that let them begin again."""
    if spec.scrub is None:
        return [], []
    made = names.new("rbd-scrubs")
    scrubs = RbdScrubs(made.name, made.uuid, Cluster(spec.conf, spec.user, spec.keyring))
    begin, end = tuple(scrub.argvs(scrubs, "set")), tuple(scrub.argvs(scrubs, "unset"))
    return (
        [Draft("rbd.hold", "Hold scrubs of the cluster", scrubs, begin, end, made, seconds=2.0)],
        [Draft("rbd.release", "Let scrubs begin again", scrubs, end, seconds=2.0)],
    )


MODULE: Final = "rbd single_major=Y"
"""The kernel's client; as `rbd map` loads it."""


def pool_of(spec: RbdSpec, name: str, uuid: str) -> RbdPool:
    copies = spec.replicated
    return RbdPool(
        name, uuid, Cluster(spec.conf, spec.user, spec.keyring), spec.size.bytes * spec.images,
        copies.size if copies is not None else None, copies.min_size if copies is not None else None,
        _coding(spec.erasure) if spec.erasure is not None else None,
        spec.failure_domain, spec.device_class, spec.root, spec.pg_num,
    )  # fmt: skip


def _coding(asked: ErasureSpec) -> Coding:
    unit = asked.stripe_unit.bytes if asked.stripe_unit is not None else None
    return Coding(asked.k, asked.m, asked.plugin, asked.technique, unit)


def images_of(spec: RbdSpec, name: str, pool: str, data_pool: str | None, uuid: str) -> RbdImages:
    return RbdImages(
        name, uuid, Cluster(spec.conf, spec.user, spec.keyring), pool,
        tuple(Image(f"{name}-{number}") for number in range(1, spec.images + 1)), spec.size.bytes,
        data_pool if data_pool != pool else None,
        spec.object_size.bytes if spec.object_size is not None else None,
        spec.stripe_unit.bytes if spec.stripe_unit is not None else None,
        spec.stripe_count, spec.features, spec.map_options, spec.through, spec.cache,
    )  # fmt: skip


def create_argvs(pool: RbdPool) -> tuple[Argv, ...]:
    """Return the commands that make rule, profile and pools."""
    return tuple(argv_of("ceph", pool.cluster, "osd", *words) for words in _creating(pool))


def _creating(pool: RbdPool) -> Iterator[tuple[str, ...]]:
    placing = (pool.root or "default", pool.failure_domain or "host")
    if pool.own_rule:
        only = (pool.device_class,) if pool.device_class is not None else ()
        yield ("crush", "rule", "create-replicated", pool.name, *placing, *only)
    groups = ("--pg_num", str(pool.pg_num)) if pool.pg_num is not None else ()
    rule = ("--rule", pool.name) if pool.own_rule else ()
    size = ("--size", str(pool.size)) if pool.size is not None else ()
    yield ("pool", "create", pool.name, *groups, "--pool_type", "replicated", *rule, *size, "--autoscale_mode", "off")
    if pool.min_size is not None:
        yield ("pool", "set", pool.name, "min_size", str(pool.min_size))
    yield ("pool", "application", "enable", pool.name, "rbd")
    if pool.coding is not None:
        yield ("erasure-code-profile", "set", pool.data, *_profile(pool, pool.coding))
        yield ("pool", "create", pool.data, *groups, "--pool_type", "erasure", "--erasure_code_profile", pool.data,
               "--autoscale_mode", "off")  # fmt: skip
        yield ("pool", "set", pool.data, "allow_ec_overwrites", "true")
        yield ("pool", "application", "enable", pool.data, "rbd")


def _profile(pool: RbdPool, coding: Coding) -> Iterator[str]:
    """Yield the settings of an erasure-code profile."""
    asked = {
        "k": coding.k, "m": coding.m, "plugin": coding.plugin, "technique": coding.technique,
        "stripe_unit": coding.stripe_unit_bytes, "crush-root": pool.root,
        "crush-failure-domain": pool.failure_domain, "crush-device-class": pool.device_class,
    }  # fmt: skip
    yield from (f"{name}={value}" for name, value in asked.items() if value is not None)


def remove_argvs(pool: RbdPool) -> tuple[Argv, ...]:
    """Return the commands that remove pools, rules and profile."""
    words = [
        *(("pool", "delete", name, name, "--yes-i-really-really-mean-it") for name in pool.pools),
        *(("crush", "rule", "rm", name) for name in pool.rules),
        *([("erasure-code-profile", "rm", pool.data)] if pool.coding is not None else []),
    ]
    return tuple(argv_of("ceph", pool.cluster, "osd", *one) for one in words)


def images_argvs(images: RbdImages) -> tuple[Argv, ...]:
    """Return the commands that make the images; for librbd, the cache is switched on or off for their own pool, or each."""
    if not images.own_pool:
        return tuple(argv for one in images.images for argv in (image_argv(images, one), *cache_argvs(images, one)))
    words = ("config", "pool", "set", images.pool, "rbd_cache", str(images.cache).lower())
    cache = (argv_of("rbd", images.cluster, *words),) if images.through == "librbd" else ()
    return (*cache, *(image_argv(images, image) for image in images.images))


def cache_argvs(images: RbdImages, image: Image) -> tuple[Argv, ...]:
    """Return the command that switches the cache of one image on or off, if its client has one."""
    words = ("config", "image", "set", images.spec_of(image), "rbd_cache", str(images.cache).lower())
    return (argv_of("rbd", images.cluster, *words),) if images.through == "librbd" else ()


def remove_image_argv(images: RbdImages, image: Image) -> Argv:
    return argv_of("rbd", images.cluster, "rm", "--no-progress", images.spec_of(image))


def image_argv(images: RbdImages, image: Image) -> Argv:
    asked = {
        "--size": f"{images.size_bytes // MIB}M", "--data-pool": images.data_pool,
        "--object-size": None if images.object_bytes is None else f"{images.object_bytes}B",
        "--stripe-unit": None if images.stripe_unit_bytes is None else f"{images.stripe_unit_bytes}B",
        "--stripe-count": None if images.stripe_count is None else str(images.stripe_count),
        "--image-feature": None if images.features is None else ",".join(images.features),
    }  # fmt: skip
    words = (word for name, value in asked.items() if value is not None for word in (name, value))
    return argv_of("rbd", images.cluster, "create", images.spec_of(image), *words)


def map_argv(images: RbdImages, image: Image) -> Argv:
    options = ",".join(filter(None, (f"osd_request_timeout={REQUEST_TIMEOUT_S}", images.map_options)))
    return argv_of("rbd", images.cluster, "map", images.spec_of(image), "--options", options)


def unmap_argv(images: RbdImages, image: Image) -> Argv:
    return argv_of("rbd", images.cluster, "unmap", path_of(images, image))


def path_of(images: RbdImages, image: Image) -> str:
    """Return the path under which udev shows the mapped image; for librbd, the image's address."""
    if images.through == "librbd":
        return str(RbdAddress(images.pool, image.name, images.cluster.user, images.cluster.conf))
    return f"/dev/rbd/{images.spec_of(image)}"
