"""Fixtures for all tests."""

from hypothesis import settings

pytest_plugins = ["lab_harness"]

# What a test proves does not depend on how busy the machine is.
settings.register_profile("raidtui", deadline=None)
settings.load_profile("raidtui")
