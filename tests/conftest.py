"""Fixtures for all tests."""

import pytest
from hypothesis import settings

pytest_plugins = ["lab_harness"]

# What a test proves does not depend on how busy the machine is.
settings.register_profile("raidtui", deadline=None)
settings.load_profile("raidtui")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Labs first: of two workers none is left alone with a long one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("lab") is None)
