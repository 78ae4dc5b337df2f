"""The session with an export, by iscsiadm and sysfs: found by the target's name alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.iscsi.plan import PASSWORD, login_argvs, logout_argvs
from raidtui.stack.iscsi.spec import IscsiExport
from raidtui.stack.nodes import SYS_BLOCK

SESSIONS: Final = Path("/sys/class/iscsi_session")
SCSI_HOSTS: Final = Path("/sys/class/scsi_host")

NO_TOOL: Final = Refusal(
    "iscsi-no-tool",
    "iscsiadm is missing",
    "The iSCSI initiator is operated by iscsiadm, which is not installed on this server.",
    "apt install open-iscsi",
)
NO_RECORD: Final = Refusal(
    "iscsi-no-record",
    "The record of an iSCSI session is not where open-iscsi keeps it",
    "The password of a session is written into its record, since arguments of commands can be read by every user.",
    'Leave "auth" out: only the names of initiators are checked then.',
)
_RECORDS: Final = ("/etc/iscsi/nodes", "/var/lib/iscsi/nodes")
"""Folders of open-iscsi's records, which depend on how it was built."""
_RECORD_ENDS: Final = "# END RECORD"


def run(argv: Argv) -> Argv:
    """Run a command and return it. Raises ProblemError (`iscsi-no-tool`, `tool-failed`)."""
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail(NO_TOOL, f"{argv[0]} is not installed", remedy=NO_TOOL.way_out, exit=Exit.REFUSED)
    ran = proc.run([path, *argv[1:]], check=False)
    if ran.code:
        said = clean(" ".join((ran.error_text or ran.text).split())[-400:])
        raise fail(TOOL_FAILED, f"{' '.join(argv[:3])}: {said}", place=argv[0], remedy="Look at dmesg.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    return argv


def login(export: IscsiExport, key: str) -> Iterator[Argv]:
    """Make the initiator's records, log in, and yield each command that ran. Raises ProblemError.

    iscsiadm takes a password by its arguments alone, which every user can read: it goes into the record directly, and out
    of it once iscsid has it.
    """
    with ExitStack() as until_logged_in:
        for argv in login_argvs(export):
            if PASSWORD in argv:
                until_logged_in.enter_context(_password(export, key))
                yield argv
            else:
                yield run(argv)


@contextmanager
def _password(export: IscsiExport, key: str) -> Iterator[None]:
    """Keep the password in the record of the session meanwhile. Raises ProblemError (`iscsi-no-record`)."""
    # One file for the target as long as the tag of its portal group is not known, else one for each interface.
    files = (path for folder in _RECORDS for path in Path(folder, export.iqn).rglob("*") if path.is_file())
    record = next(files, None)
    text = read_text(record) if record is not None else None
    if record is None or text is None:
        raise fail(NO_RECORD, f"there is no record of {export.iqn} below {' or '.join(_RECORDS)}", place=export.name,
                   remedy=NO_RECORD.way_out, exit=Exit.BUILD_FAILED)  # fmt: skip
    without = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(PASSWORD))
    record.chmod(0o600)
    record.write_text(without.replace(_RECORD_ENDS, f"{PASSWORD} = {key}\n{_RECORD_ENDS}"))
    try:
        yield
    finally:
        record.write_text(without)


def sessions(export: IscsiExport) -> list[Path]:
    """Return the folders of the sessions with the target."""
    return [path for path in sorted(SESSIONS.glob("session*")) if read_text(path / "targetname") == export.iqn]


def nodes(export: IscsiExport) -> list[str | None]:
    """Return the kernel name of each unit's block device."""
    found: dict[int, str] = {}
    for session in sessions(export):
        for path in (session / "device").glob("target*/*:*:*:*/block/*"):
            found[int(path.parents[1].name.rpartition(":")[2])] = path.name
    return [found.get(lun) for lun in range(len(export.devices))]


def read(export: IscsiExport) -> dict[str, Any]:
    """Return the session as sysfs shows it."""
    found = sessions(export)
    one = found[0] if found else SESSIONS / "none"
    devices = [SYS_BLOCK / (node or "none") / "device" for node in nodes(export)]
    return {
        "sessions": len(found),
        "state": read_text(one / "state"),
        "initiator": read_text(one / "initiatorname"),
        "transport": transport_of(one),
        "authenticated": read_text(one / "username") == export.initiator,
        "immediate_data": read_text(one / "immediate_data"),
        "states": [read_text(device / "state") for device in devices],
        "queue_depths": [read_int(device / "queue_depth") for device in devices],
    }


def transport_of(session: Path) -> str | None:
    """Return the transport of a session: `tcp` or `iser`, by the name of its host adapter's driver; None if unknown."""
    host = next(iter((session / "device").resolve().parents), None)
    driver = read_text(SCSI_HOSTS / host.name / "proc_name") if host is not None else None
    return None if driver is None else driver.removeprefix("iscsi_")


def asked(export: IscsiExport) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    count = len(export.devices)
    return {
        "sessions": 1,
        "state": "LOGGED_IN",
        "initiator": export.initiator,
        "transport": export.transport,
        "authenticated": bool(export.key),
        "immediate_data": str(int(export.immediate_data)),
        "states": count * ["running"],
        "queue_depths": count * [export.queue_depth],
    }


def logout(export: IscsiExport) -> list[Argv]:
    """Close the session and remove the records of the initiator that exist. Return the commands. Raises ProblemError."""
    out, forget, remove = logout_argvs(export)
    done = [run(out)] if sessions(export) else []
    done += [run(forget)] if _has_record("node", export.iqn) else []
    return done + ([run(remove)] if _has_record("iface", export.name) else [])


def _has_record(mode: str, name: str) -> bool:
    """Return True if iscsiadm lists a record of this name."""
    iscsiadm = proc.find_tool("iscsiadm")
    ran = proc.run([iscsiadm, "-m", mode], check=False) if iscsiadm else None
    return ran is not None and any(name in line.split() for line in ran.text.splitlines())


def exists(export: IscsiExport) -> bool:
    """Return True if a session or a record of the initiator exists."""
    return bool(sessions(export)) or _has_record("node", export.iqn) or _has_record("iface", export.name)
