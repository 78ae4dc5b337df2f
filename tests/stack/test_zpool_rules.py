"""What ZFS refuses is refused when the scenario is read, with its place and a way out; everything else can be planned."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zpool_cases import parts_of, plan, spec_of

from raidtui.model.problem import REFUSALS, ProblemError
from raidtui.stack.zfs import LAYER
from raidtui.stack.zfs.spec import KINDS

MIRROR = {"mirror": "@d"}
TWO = {"vdevs[0].mirror": 2}
VOLUME = {"size": "50%"}

REFUSED: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, int], str]] = [
    ("zpool-vdev", [{}], {}, {}, "vdevs[0]"),
    ("zpool-vdev", [{"mirror": "@d", "raidz1": "@e"}], {}, {}, "vdevs[0]"),
    ("zpool-vdev", [{"mirror": "@d", "data": 2}], {}, {"vdevs[0].mirror": 4}, "vdevs[0].data"),
    ("zpool-vdev", [{"stripe": "@d", "per": 2}], {}, {"vdevs[0].stripe": 4}, "vdevs[0].per"),
    ("zpool-vdev", [{"mirror": "@d", "per": 2}], {}, {"vdevs[0].mirror": 5}, "vdevs[0].per"),
    ("zpool-too-few", [MIRROR], {}, {"vdevs[0].mirror": 1}, "vdevs[0].mirror"),
    ("zpool-too-few", [{"raidz3": "@d"}], {}, {"vdevs[0].raidz3": 3}, "vdevs[0].raidz3"),
    ("zpool-too-few", [{"draid1": "@d", "data": 4, "spares": 1}], {}, {"vdevs[0].draid1": 5}, "vdevs[0].draid1"),
    ("zpool-too-many", [{"raidz1": "@d"}], {}, {"vdevs[0].raidz1": 256}, "vdevs[0].raidz1"),
    ("zpool-mixed", [MIRROR, {"stripe": "@e"}], {}, {"vdevs[0].mirror": 2, "vdevs[1].stripe": 1}, "vdevs"),
    ("zpool-mixed", [MIRROR, {"mirror": "@e"}], {}, {"vdevs[0].mirror": 2, "vdevs[1].mirror": 3}, "vdevs"),
    ("zpool-mixed", [{"raidz1": "@d"}, {"raidz2": "@e"}], {}, {"vdevs[0].raidz1": 4, "vdevs[1].raidz2": 4}, "vdevs"),
    ("zpool-mixed", [MIRROR, {"raidz1": "@e"}, {"raidz1": "@f"}], {},
     {"vdevs[0].mirror": 2, "vdevs[1].raidz1": 3, "vdevs[2].raidz1": 4}, "vdevs"),
    ("zpool-mixed", [{"raidz1": "@d"}], {"special": "@s"}, {"vdevs[0].raidz1": 4, "special": 1}, "special"),
    ("zpool-mixed", [{"raidz2": "@d"}], {"dedup": "@s", "mirrored": ["dedup"]},
     {"vdevs[0].raidz2": 4, "dedup": 2}, "dedup"),
    ("zpool-mirrored", [MIRROR], {"mirrored": ["log"]}, TWO, "mirrored"),
    ("zpool-mirrored", [MIRROR], {"log": "@l", "mirrored": ["log"]}, {"vdevs[0].mirror": 2, "log": 1}, "mirrored"),
    ("zpool-mirrored", [MIRROR], {"log": "@l", "mirrored_per": {"log": 2}}, {**TWO, "log": 4}, "mirrored_per.log"),
    ("zpool-mirrored", [MIRROR], {"log": "@l", "mirrored": ["log"], "mirrored_per": {"log": 2}}, {**TWO, "log": 3},
     "mirrored_per.log"),
    ("zpool-spares", [{"stripe": "@d"}], {"spares": "@s"}, {"vdevs[0].stripe": 2, "spares": 1}, "spares"),
    ("zpool-property", [MIRROR], {"properties": {"ashift": 8}}, TWO, "properties.ashift"),
    ("zpool-property", [MIRROR], {"properties": {"ashift": 0}}, TWO, "properties.ashift"),
    ("zpool-property", [MIRROR], {"properties": {"userquota@root": 8}}, TWO, "properties.userquota@root"),
    ("zpool-property-refused", [MIRROR], {"properties": {"altroot": "x"}}, TWO, "properties.altroot"),
    ("zpool-property-refused", [MIRROR], {"properties": {"cachefile": "x"}}, TWO, "properties.cachefile"),
    ("zpool-property-refused", [MIRROR], {"inherited": {"sharenfs": "on"}}, TWO, "inherited.sharenfs"),
    ("zpool-property-refused", [MIRROR], {"inherited": {"mountpoint": "x"}}, TWO, "inherited.mountpoint"),
    (
        "zpool-property-refused", [MIRROR], {"volume": {**VOLUME, "properties": {"keylocation": "prompt"}}},
        TWO, "volume.properties.keylocation",
    ),
    (
        "zpool-property", [MIRROR], {"volume": {**VOLUME, "properties": {"volblocksize": "12K"}}},
        TWO, "volume.properties.volblocksize",
    ),
    (
        "zpool-property", [MIRROR], {"volume": {**VOLUME, "properties": {"volblocksize": "2K"}}},
        TWO, "volume.properties.volblocksize",
    ),
    (
        "zpool-property", [MIRROR], {"volume": {**VOLUME, "properties": {"volblocksize": "huge"}}},
        TWO, "volume.properties.volblocksize",
    ),
    ("zpool-property", [MIRROR], {"dataset": {}, "volume": None, "inherited": {"recordsize": "big"}}, TWO,
     "inherited.recordsize"),
    ("zpool-property", [MIRROR], {"properties": {"feature@large_blocks": "disabled"}, "inherited": {"recordsize": "1M"}},
     TWO, "inherited.recordsize"),
    ("zpool-property", [MIRROR], {"properties": {"compatibility": "legacy"},
     "volume": {**VOLUME, "properties": {"volblocksize": "256K"}}}, TWO, "volume.properties.volblocksize"),
    ("zpool-property", [MIRROR], {"properties": {"feature@zstd_compress": "disabled"},
     "inherited": {"compression": "zstd-3"}}, TWO, "inherited.compression"),
    ("zpool-property", [MIRROR], {"properties": {"feature@large_dnode": "disabled"}, "inherited": {"dnodesize": "auto"}},
     TWO, "inherited.dnodesize"),
    ("zpool-property", [{"draid1": "@d"}], {"properties": {"version": 28}}, {"vdevs[0].draid1": 3}, "vdevs[0].draid1"),
    ("zpool-property", [MIRROR], {"properties": {"version": 29}}, TWO, "properties.version"),
    ("zpool-property", [MIRROR], {"properties": {"version": 28, "feature@draid": "enabled"}}, TWO, "properties.version"),
    ("zpool-property", [MIRROR], {"properties": {"version": 28, "compatibility": "grub2"}}, TWO, "properties.version"),
    ("zpool-property", [MIRROR], {"dataset": {"properties": {"normalization": "formD", "utf8only": "off"}}}, TWO,
     "dataset.properties.utf8only"),
    ("zpool-volume", [MIRROR], {"volume": {"size": "1000B"}}, TWO, "volume.size"),
    ("zpool-volume", [MIRROR], {"dataset": {"size": "1000B"}}, TWO, "dataset.size"),
    ("zpool-measured", [MIRROR], {"volume": None}, TWO, "volume"),
    ("zpool-measured", [MIRROR], {"volume": VOLUME, "dataset": {}}, TWO, "dataset"),
    (
        "zpool-property", [MIRROR], {"dataset": {"properties": {"recordsize": "12K"}}},
        TWO, "dataset.properties.recordsize",
    ),
    ("zpool-property", [MIRROR], {"dataset": {}, "inherited": {"recordsize": "12K"}}, TWO, "inherited.recordsize"),
    ("zpool-property-refused", [MIRROR], {"dataset": {"properties": {"exec": "on"}}}, TWO, "dataset.properties.exec"),
    ("zpool-property-refused", [MIRROR], {"dataset": {"properties": {"zoned": "on"}}}, TWO, "dataset.properties.zoned"),
    (
        "zpool-property-refused", [MIRROR], {"dataset": {"properties": {"mountpoint": "none"}}},
        TWO, "dataset.properties.mountpoint",
    ),
]  # fmt: skip


def test_only_what_is_really_there_is_initialized() -> None:
    thin = {"lvm": {"on": "@d", "size": "90%", "thin": {}, "virtual_size": "300%"}}
    found = LAYER.check(spec_of({"stripe": thin}, initialize=True), {"vdevs[0].stripe": 1}, "$")
    assert [(problem.code, problem.place) for problem in found] == [("zpool-initialize", "$.initialize")]
    assert LAYER.check(spec_of({"stripe": thin}), {"vdevs[0].stripe": 1}, "$") == []


@pytest.mark.parametrize("where", ["dataset", "volume", "vdevs[...]"])
@pytest.mark.parametrize("name", ["trim", "initialize"])
def test_the_place_of_an_option_for_free_space_is_told(where: str, name: str) -> None:
    member, child = ({**MIRROR, name: True}, "volume") if where == "vdevs[...]" else (MIRROR, where)
    options = {child: {"size": "50%", **({name: True} if where == child else {})}}
    with pytest.raises(ProblemError) as caught:
        spec_of(member, **{"volume": None, **options} if child == "dataset" else options)
    (problem,) = caught.value.problems
    assert f'"{name}": true beside its "vdevs"' in problem.remedy


@pytest.mark.parametrize(("code", "vdevs", "options", "counts", "where"), REFUSED)
def test_what_zfs_refuses_is_refused_at_reading(
    code: str, vdevs: list[dict[str, Any]], options: dict[str, Any], counts: dict[str, int], where: str
) -> None:
    problems = LAYER.check(spec_of(*vdevs, **options), counts, "$.layouts.x.zpool")
    assert (code, f"$.layouts.x.zpool.{where}") in [(p.code, p.place) for p in problems]
    assert all(p.remedy and p.exit == 2 for p in problems)


@pytest.mark.parametrize(
    "options",
    [
        {"properties": {"com.example:x": "y"}},
        {"properties": {"-o": "y"}},
        {"properties": {"comment": "-f"}},
        {"properties": {"comment": "/etc/passwd"}},
        {"properties": {"comment": "a\nb"}},
        {"properties": {"comment\n": "a"}},
        {"properties": {"ashift": True}},
        {"volume": {"size": "80%", "properties": {"x" * 80: "y"}}},
        {"volume": {"size": "80%", "colour": "red"}},
        {"mirrored": ["cache"]},
        {"mirrored": ["special"], "mirrored_per": {"cache": 2}},
        {"mirrored": ["special"], "mirrored_per": {"special": 1}},
    ],
)
def test_what_is_no_property_of_zfs_by_its_form_is_not_read_at_all(options: dict[str, Any]) -> None:
    with pytest.raises(ProblemError) as caught:
        spec_of(MIRROR, **options)
    assert caught.value.problems[0].code == "schema"


def test_special_devices_that_survive_as_much_as_the_data_are_taken() -> None:
    spec = spec_of({"raidz1": "@d"}, special="@s", mirrored=["special"])
    assert LAYER.check(spec, {"vdevs[0].raidz1": 4, "special": 2}, "$") == []
    alone = spec_of({"stripe": "@d"}, special="@s", log="@l", cache="@c")
    assert LAYER.check(alone, {"vdevs[0].stripe": 4, "special": 2, "log": 1, "cache": 2}, "$") == []


def test_each_vdev_is_compared_with_the_one_before_it() -> None:
    spec = spec_of({"raidz1": "@d"}, {"mirror": "@e"}, {"raidz1": "@f"})
    assert LAYER.check(spec, {"vdevs[0].raidz1": 3, "vdevs[1].mirror": 2, "vdevs[2].raidz1": 4}, "$") == []


@pytest.mark.parametrize(
    "options",
    [
        {"properties": {"compatibility": "legacy"}, "inherited": {"compression": "on", "recordsize": "128K"}},
        {"properties": {"compatibility": "legacy", "feature@large_blocks": "enabled"}, "inherited": {"recordsize": "1M"}},
        {"properties": {"version": 5000}, "inherited": {"compression": "zstd", "dnodesize": "auto"}},
        {"properties": {"feature@large_blocks": "disabled"}, "inherited": {"dnodesize": "legacy", "compression": "zstd"}},
    ],
)
def test_features_that_are_there_or_not_needed_are_no_matter(options: dict[str, Any]) -> None:
    assert LAYER.check(spec_of(MIRROR, **options), TWO, "$") == []


@given(
    st.sampled_from(KINDS),
    st.integers(0, 40),
    st.sampled_from([None, 2, 3, 5]),
    st.sampled_from([None, 1, 4]),
    st.sampled_from([None, 0, 2]),
)
def test_what_is_not_refused_can_be_planned(
    kind: str, count: int, per: int | None, data: int | None, spares: int | None
) -> None:
    options = {name: value for name, value in (("per", per), ("data", data), ("spares", spares)) if value is not None}
    spec, counts = spec_of({kind: "@d", **options}), {f"vdevs[0].{kind}": count}
    if LAYER.check(spec, counts, "$"):
        return
    planned = plan(spec, counts)
    assert 0 < planned.targets[0].size_bytes < count * (8 << 30)
    assert LAYER.describe(spec, counts)
    shape = LAYER.shape(spec, parts_of(counts))
    assert LAYER.tolerates_failures(spec, counts)[f"vdevs[0].{kind}"][0] == shape.may_fail


def test_every_refusal_is_explained() -> None:
    assert {code for code, *_ in REFUSED} <= REFUSALS.keys()
