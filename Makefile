# Two commands do everything: `make demo` shows raidtui at work, `make test` proves it. `make help` lists the rest.

SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made
# What shares a lab stays together; labs come first (tests/conftest.py), so that the two end at about the same time.
TWO_AT_ONCE := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup demo test test-tools check unit one lab-all bench dist lock clean

help:
	@echo 'make demo    raidtui on a virtual storage server: the screens on a terminal, else a replay (first time: builds its image)'
	@echo 'make test    every test, those in the lab included'
	@echo 'make setup   the environment only: $(BIN)/raidtui, and what the lab needs'
	@echo 'make check   linter, types and import rules, in seconds'
	@echo 'make unit    the tests that need no lab'
	@echo 'make one T=… one test file or test: T=tests/engine/test_ordering.py, T=tests/…::test_name'
	@echo 'make lab-all every shipped scenario in the lab, then every lab test, the long ones too; one table of what passed'
	@echo '             (ONLY=zpool-layouts,lvm-local/vdo-*,rows: these alone; RESUME=1: what passed before is kept; BRIEF=1: two workloads a layout;'
	@echo '             AT_ONCE=1: one lab at a time, not two side by side)'
	@echo 'make dist    wheel, source archive and Debian package in dist/'
	@echo 'make bench   the benchmarks, each beside its peer'

# The environment is made anew when its lock or the project file changed.
$(STAMP): requirements.lock pyproject.toml scripts/setup
	PYTHON='$(PYTHON)' sh scripts/setup '$(VENV)'
	@touch $(STAMP)

setup: $(STAMP)
	$(BIN)/raidtui lab prepare

demo: setup
	$(BIN)/python scripts/demo.py

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Some tests run fio on files of this machine; without root they are left out.
test-tools:
	@command -v fio >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	    { apt-get -q update; apt-get -q install -y --no-install-recommends fio; } >/dev/null

unit: $(STAMP)
	$(BIN)/pytest -m 'not lab' -q $(TWO_AT_ONCE)

one: $(STAMP)
	@test -n '$(T)' || { echo 'Name a test: make one T=tests/engine/test_ordering.py' >&2; exit 2; }
	$(BIN)/pytest -q -n 0 '$(T)'

test: setup check test-tools
	$(BIN)/pytest -m 'not slow' $(TWO_AT_ONCE) --durations=60 --durations-min=10

lab-all: setup
	$(BIN)/python scripts/lab_all --only '$(ONLY)' $(if $(RESUME),--resume) $(if $(BRIEF),--brief) $(if $(AT_ONCE),--at-once $(AT_ONCE))

# Wheel and source archive, and a package for Debian 13 and Ubuntu 24.04 where dpkg-deb is; none of them needs root.
dist: $(STAMP)
	$(BIN)/python -m hatchling build
	if command -v dpkg-deb >/dev/null; then $(BIN)/python scripts/make_deb.py dist; fi

bench: setup
	$(BIN)/python benchmarks/sampler.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/tui_first_frame.py
	$(BIN)/python benchmarks/tui_table.py
	$(BIN)/python benchmarks/tui_run.py
	$(BIN)/python benchmarks/library.py
	$(BIN)/python benchmarks/ranking.py
	$(BIN)/python benchmarks/ranking.py --simulate
	$(BIN)/python benchmarks/lab_start.py
	$(BIN)/python benchmarks/fio_overhead.py
	$(BIN)/python benchmarks/fio_overhead.py --lab

# Written by hand of a maintainer when dependencies change: exact versions with hashes, for every Python that is supported.
lock: $(STAMP)
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --extra charts --extra dev --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --no-emit-trusted-host --allow-unsafe --no-header --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
