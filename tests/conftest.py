"""Fixtures for all tests."""

pytest_plugins = ["lab_harness"]
