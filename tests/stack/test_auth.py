"""Keys of connections: what they look like, and that no plan, command or message has one."""

from __future__ import annotations

import base64
import threading
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from raidtui.base.files import read_text
from raidtui.model.convert import decode
from raidtui.model.hosts import Order
from raidtui.model.plan import Host, Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.auth import chap_secret, dhchap_key, kernel_lacks, take_key
from raidtui.stack.context import Context
from raidtui.stack.iscsi import LAYER as ISCSI
from raidtui.stack.iscsi import session
from raidtui.stack.iscsi.spec import IscsiExport, IscsiSpec
from raidtui.stack.layer import Part, Planned
from raidtui.stack.nvmeof import LAYER as NVMEOF
from raidtui.stack.nvmeof import initiator, target
from raidtui.stack.nvmeof.spec import Export, NvmeofSpec

DISK = Part("disk:a", "/dev/a", 8 << 30, 512, ("a",))
HOSTS = [Host(f"clients-{n}", f"c{n}", f"c{n}", str(n), "b", "6", f"10.0.{n}.2", f"10.0.{n}.1") for n in (1, 2)]


def nvme(**options: Any) -> Planned:
    spec = decode(NvmeofSpec, {"on": "@d", "auth": "dh-hmac-chap", **options})
    return NVMEOF.plan(spec, {"on": (DISK,)}, Names("t"), Policy())


def test_a_dhchap_key_has_its_secret_and_a_checksum() -> None:
    key = dhchap_key()
    assert key.startswith("DHHC-1:00:")
    assert key.endswith(":")
    data = base64.b64decode(key.split(":")[2], validate=True)
    assert len(data) == 36
    assert zlib.crc32(data[:32]) == int.from_bytes(data[32:], "little")
    assert key != dhchap_key()


def test_a_chap_secret_fits_into_a_line_of_open_iscsis_record() -> None:
    secret = chap_secret()
    assert 32 <= len(secret) <= 255
    assert secret.isascii()
    assert not set(secret) & set(" \n#=")


def test_every_host_has_a_key_of_its_own_and_both_ends_name_the_same() -> None:
    assert NVMEOF.plan_on is not None
    assert ISCSI.plan_on is not None
    spec = decode(NvmeofSpec, {"on": "@d", "auth": "dh-hmac-chap", "to": "c"})
    made = NVMEOF.plan_on(spec, {"on": (DISK,)}, Names("t"), HOSTS)
    keys = [draft.args.key for draft in made.build if isinstance(draft.args, Export)]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    made = ISCSI.plan_on(decode(IscsiSpec, {"on": "@d", "auth": "chap", "to": "c"}), {"on": (DISK,)}, Names("t"), HOSTS)
    offer, first, second = (draft.args for draft in made.build if isinstance(draft.args, IscsiExport))
    assert [login.key for login in offer.logins] == [first.key, second.key]
    assert len({first.key, second.key}) == 2


def test_commands_have_a_word_where_the_key_is() -> None:
    texts = [" ".join(argv) for argv in nvme().build[0].commands]
    assert next(text for text in texts if "dhchap" in text).startswith("sh -c echo KEY > ")
    assert texts[-1].endswith("--dhchap-secret KEY")
    planned = ISCSI.plan(decode(IscsiSpec, {"on": "@d", "auth": "chap"}), {"on": (DISK,)}, Names("t"), Policy())
    texts = [" ".join(argv) for argv in planned.build[0].commands]
    assert any(text.endswith("-n node.session.auth.password -v KEY") for text in texts)
    assert any(text.endswith("password=KEY") for text in texts)
    assert any(" authentication=1 " in text for text in texts)


def test_without_authentication_there_is_no_key() -> None:
    planned = NVMEOF.plan(decode(NvmeofSpec, {"on": "@d"}), {"on": (DISK,)}, Names("t"), Policy())
    assert not any("dhchap" in " ".join(argv) for argv in planned.build[0].commands)
    planned = ISCSI.plan(decode(IscsiSpec, {"on": "@d"}), {"on": (DISK,)}, Names("t"), Policy())
    assert not any("auth." in " ".join(argv) for argv in planned.build[0].commands)


def test_a_key_is_forgotten_once_it_is_taken(tmp_path: Path) -> None:
    context = Context("run", tmp_path, {}, lambda *_: None, threading.Event())
    context.keys["name"] = "secret"
    assert (take_key(context, "name"), take_key(context, "name"), take_key(context, "")) == ("secret", "", "")


def test_an_order_without_a_key_has_no_word_of_it() -> None:
    assert b"key" not in msgspec.json.encode(Order("step", step="1"))


@pytest.fixture
def configfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("hosts", "subsystems", "ports"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(target, "NVMET", tmp_path)
    return tmp_path


def export_of(planned: Planned) -> Export:
    export = planned.build[0].args
    assert isinstance(export, Export)
    return export


def test_a_kernel_whose_target_has_no_keys_is_refused_by_the_name_of_the_option(configfs: Path) -> None:
    with pytest.raises(ProblemError) as caught:
        target.make(export_of(nvme()), {"disk:a": "/dev/a"}, dhchap_key())
    assert caught.value.problems[0].code == "export-no-auth"
    assert "CONFIG_NVME_TARGET_AUTH" in caught.value.problems[0].message


def test_a_key_that_cannot_be_written_is_in_no_message(configfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export, key = export_of(nvme()), dhchap_key()
    (target.host(export) / target.KEY_FILE).mkdir(parents=True)
    write = target.Change.make
    monkeypatch.setattr(target.Change, "make", lambda change: write(change) if change.secret else None)
    with pytest.raises(ProblemError) as caught:
        target.make(export, {"disk:a": "/dev/a"}, key)
    assert caught.value.problems[0].code == "nvmeof-refused"
    assert key not in caught.value.problems[0].message


def test_an_initiator_without_authentication_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initiator, "OPTIONS", tmp_path / "nvme-fabrics")
    initiator.require_auth(export_of(nvme()))
    (tmp_path / "nvme-fabrics").write_text("instance=-1,cntlid=-1,transport=%s,traddr=%s\n")
    with pytest.raises(ProblemError, match="CONFIG_NVME_HOST_AUTH"):
        initiator.require_auth(export_of(nvme()))


def test_a_kernels_configuration_that_is_not_there_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.release", lambda: "0.0-none")
    assert list(kernel_lacks("CONFIG_NVME_TARGET_AUTH", "nvmeof.auth")) == []


@pytest.mark.parametrize("place", ["127.0.0.1,61000", "127.0.0.1,61000,1/rtta"])
def test_the_password_is_in_the_record_until_the_login(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = ISCSI.plan(decode(IscsiSpec, {"on": "@d", "auth": "chap"}), {"on": (DISK,)}, Names("t"), Policy())
    export = planned.build[0].args
    assert isinstance(export, IscsiExport)
    record = tmp_path / export.iqn / place
    record.parent.mkdir(parents=True)
    before = "# BEGIN RECORD 2.1\nnode.name = x\n# END RECORD\n"
    record.write_text(before)
    monkeypatch.setattr(session, "_RECORDS", (str(tmp_path),))
    at_login: list[str | None] = []
    monkeypatch.setattr(session, "run", lambda argv: at_login.append(read_text(record)) if "--login" in argv else argv)
    commands = list(session.login(export, "hidden"))
    assert at_login == ["# BEGIN RECORD 2.1\nnode.name = x\nnode.session.auth.password = hidden\n# END RECORD"]
    assert record.read_text() == before
    assert record.stat().st_mode & 0o777 == 0o600
    assert "hidden" not in str(commands)
    monkeypatch.setattr(session, "_RECORDS", (str(tmp_path / "none"),))
    with pytest.raises(ProblemError, match="no record"):
        list(session.login(export, "hidden"))
