"""Form of the names in a scenario, for modules that need nothing else of it."""

from __future__ import annotations

from typing import Final

SCHEMA: Final = "raidtui.scenario/1"
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9._+-]{0,62}(?!\n)$"
"""Written so that it means the same to Python, whose `$` also matches before a line break, and to JSON Schema."""
NAME_WORDS: Final = "A name has lower-case letters, digits and . _ + - and begins with a letter or digit; 63 at most."
ROLE_NAME: Final = r"[a-z][a-z0-9_-]{0,30}"
ROLE_PATTERN: Final = rf"^@({ROLE_NAME})(?!\n)$"
