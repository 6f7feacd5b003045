# Every target sets up what it needs; a second call does not set up again.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
FIDELITY := .cache/fidelity
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

.PHONY: help setup demo test check fmt bench fidelity docs clean

help:
	@echo "make demo      virtual lab, example sweep and report (sets everything up first)"
	@echo "make test      all tests"
	@echo "make check     format, lint, types, import contracts, shape tests"
	@echo "make bench     the table of measured figures"
	@echo "make fidelity  the lab and the .ad reader judged by other programs (Debian's adb, agent-device)"
	@echo "make docs      regenerate the generated pages in docs/"
	@echo "make fmt       format the code"

setup: $(STAMP)

# The stamp depends on what decides the environment, and on nothing else.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sweepgrid needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	# A set-up that was interrupted leaves half an environment; it is made anew.
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/sweepgrid demo

test: $(STAMP)
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/shape -p no:randomly

fmt: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m tests.bench

fidelity: $(STAMP) $(FIDELITY)/.ready
	$(BIN)/python -m pytest -m fidelity tests/fidelity

# npm holds what it fetches to the lock's sha512. No script of a package is run: none is needed.
$(FIDELITY)/.ready: tests/fidelity/package.json tests/fidelity/package-lock.json
	@command -v npm >/dev/null || { echo "make fidelity needs npm: run apt-get install -y npm, or set PATH to where it is" >&2; exit 1; }
	mkdir -p $(FIDELITY)
	cp $^ $(FIDELITY)
	timeout 600 npm ci --prefix $(FIDELITY) --ignore-scripts --no-audit --no-fund --loglevel error --fetch-timeout 60000 --fetch-retries 2
	touch $@

docs: $(STAMP)
	$(BIN)/python -m runner.cli.docs docs

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .cache
