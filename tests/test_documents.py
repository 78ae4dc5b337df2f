"""The documents name commands, targets and files that exist."""

import re
from pathlib import Path

import pytest

from raidtui.cli.main import COMMANDS
from raidtui.engine.compose.reading import read_document

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "raidtui"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = {"tests/stack/test_x_plan.py", "tests/stack/x_driver.py", "tests/test_lab_x.py"}
"""Names of files that a reader is to write."""
FILES_OF_A_LAYER = {"spec.py", "rules.py", "plan.py", "build.py", "verify.py", "teardown.py"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_exists(document):
    text = document.read_text()
    code = "\n".join([*re.findall(r"```sh\n(.*?)```", text, re.DOTALL), *re.findall(r"`(raidtui[^`]*)`", text)])
    words = re.findall(r"^(?:sudo )?raidtui(?: --on \S+)? ([a-z]+)", code, re.MULTILINE)
    assert set(words) <= {*COMMANDS, "engine", "peer", "runner"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_exists(document):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", document.read_text(), re.MULTILINE)) <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_exists(document):
    """A file is named from the repository's root or from src/raidtui; a bare name is that of any source file."""
    names = set(re.findall(r"`((?:[\w.-]+/)*[\w-]+\.py)\b", document.read_text())) - EXAMPLES
    # `widgets/bars.py` is named below the package that the line is about.
    assert not {name for name in names if not (ROOT / name).exists() and not any(SOURCE.rglob(name))}


def test_a_layer_has_the_files_that_the_guide_names():
    guide = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a layer")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+\.py)`", guide)) >= FILES_OF_A_LAYER
    assert {path.name for path in (SOURCE / "stack" / "md").glob("*.py")} >= FILES_OF_A_LAYER


SCENARIOS = [
    pytest.param(text, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, text in enumerate(re.findall(r"```json\n(\{.*?)```", document.read_text(), re.DOTALL), 1)
    if '"schema": "raidtui.scenario/1"' in text
]


@pytest.mark.parametrize("text", SCENARIOS)
def test_every_scenario_can_be_replayed(text):
    assert read_document(text).scenario.layouts


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document):
    links = re.findall(r"\]\(([^)#]+)\)", document.read_text())
    assert not [link for link in links if "://" not in link and not (document.parent / link).exists()]
