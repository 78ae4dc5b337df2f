"""raidtui: compose, build, measure and compare Linux storage layouts from a terminal."""

__version__ = "0.1.0"
