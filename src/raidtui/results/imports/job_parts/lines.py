"""A job file as sections of options. Nothing is expanded, included or run.

Source: fio(1), "Job file format"; tried with fio 3.33.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import clean
from raidtui.model.problem import Refusal, fail
from raidtui.results.imports.base import Source

IMPORT_FIO_JOB: Final = Refusal(
    "import-fio-job",
    "The fio job cannot be imported as it is",
    "The job file contains something that raidtui never does (run commands, open files, pick devices by itself) or "
    "cannot do, and leaving it out would change what is measured.",
    "Change the job file, or import it with --leave-out, which lists what was left out.",
)

MAX_BYTES: Final = 1 << 20
MAX_SECTIONS: Final = 200
_SECTION: Final = re.compile(r"\[(.+)\]")
_COMMENT: Final = re.compile(r"[;#].*")
ALIASES: Final = {
    "readwrite": "rw", "blocksize": "bs", "blockalign": "ba", "timeout": "runtime", "iodepth_batch": "iodepth_batch_submit",
    "iodepth_batch_complete": "iodepth_batch_complete_min", "io_limit": "io_size", "memory": "mem",
    "wait_for_previous": "stonewall",
    "nr_files": "nrfiles",
}  # fmt: skip


class Given(NamedTuple):
    """The value of one option, None where it stands alone, and its line."""

    value: str | None
    line: int


class Section(NamedTuple):
    """One job: its name and every option that holds for it, those of the global sections before it among them."""

    name: str
    line: int
    options: dict[str, Given]


def looks_like_one(data: bytes) -> bool:
    """Sections in brackets, of which one or the globals say what is done or with which engine."""
    text = data[:65536].decode("utf-8", "replace")
    return bool(
        re.search(r"^\s*\[[^\]\n]+\]\s*(?:[;#].*)?$", text, re.MULTILINE)
        and re.search(r"^\s*(?:rw|readwrite|ioengine|bs|blocksize)\s*=", text, re.MULTILINE)
    )


def read_sections(source: Source) -> list[Section]:
    """Every job of the file. Raises ProblemError (`import-fio-job`) where it is no job file, or larger than any."""
    if len(source.data) > MAX_BYTES:
        raise _wrong(source, 0, "it is larger than any job file")
    try:
        text = source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong(source, 0, f"byte {error.start} is not UTF-8") from None
    jobs: list[Section] = []
    everybody: dict[str, Given] = {}
    here: dict[str, Given] | None = None
    for line, content in _contents(text):
        if match := _SECTION.fullmatch(content):
            name = match.group(1).strip()
            if name == "global":
                here = everybody
                continue
            # A later global section holds for the jobs that follow it alone.
            here = dict(everybody)
            jobs.append(Section(name, line, here))
            if len(jobs) > MAX_SECTIONS:
                raise _wrong(source, line, f"it has more than {MAX_SECTIONS} jobs")
        elif here is None:
            raise _wrong(source, line, "an option stands before any section")
        else:
            name, equals, value = content.partition("=")
            name = ALIASES.get(name.strip(), name.strip())
            here[name] = Given(value.strip() if equals else None, line)
    if not jobs:
        raise _wrong(source, 0, "it has no job")
    return jobs


def _contents(text: str) -> Iterator[tuple[int, str]]:
    for line, content in enumerate(text.splitlines(), 1):
        if content := _COMMENT.sub("", content).strip():
            yield line, content


def _wrong(source: Source, line: int, message: str) -> Exception:
    place = f"{clean(source.name)}:{line}" if line else clean(source.name)
    return fail(IMPORT_FIO_JOB, message, place=place, remedy="Is it a job file of fio's?")
