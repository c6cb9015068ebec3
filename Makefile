# One-word commands. Everything is installed into .venv by the first of them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test core-test pythons lint format bench docs graph clean

run: $(VENV)/.installed ## the paper's experiments at a small scale: a table, figures and a report
	$(BIN)/frugal reproduce all --quick --out out/reproduction-quick

test: $(VENV)/.installed lint ## everything that must pass before a change lands
	$(BIN)/python -m pytest -n 2

core-test: .venv-core/.installed ## the tests of the core in an environment with numpy alone
	.venv-core/bin/python -m pytest tests/core

pythons: ## the same with every Python from 3.11 on, on the path or in pyenv
	$(PYTHON) tests/pythons.py

lint: $(VENV)/.installed ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## speed, as ratios measured in one run
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.installed-docs ## the documentation as HTML in docs/_build
	$(BIN)/sphinx-build -W -b html docs docs/_build

graph: $(VENV)/.installed ## the import graph of the architecture page
	$(BIN)/python docs/make_graph.py

.venv-core/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv-core
	.venv-core/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . pytest hypothesis
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing into $(VENV), once"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) .venv-* out docs/_build build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
