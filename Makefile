# One-word commands. Everything is installed into .venv by the first of them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LITELLM := .venv-litellm
OF_LITELLM := tests/integrations src/frugalbandits/integrations
# What runs at the same time does not mix its words, where make can see to that.
TOGETHER := $(if $(filter output-sync,$(.FEATURES)),--output-sync)

# Tests start some hundred processes: each would compile the package anew where Python is told to keep no bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test environments suite others litellm quick soak soak-faults soak-examples pythons lint format bench bench-litellm example-proxy docs graph clean

run: $(VENV)/.installed ## the paper's experiments at a small scale: a table, figures and a report
	$(BIN)/frugal reproduce all --quick --out out/reproduction-quick

test: $(VENV)/.installed $(VENV)/.browser ## everything that must pass before a change lands
	$(MAKE) --jobs=2 $(TOGETHER) lint environments
	$(MAKE) --jobs=2 $(TOGETHER) --keep-going suite others

# What other environments are for. They are made one after the other, since each builds the package in its place.
environments: $(LITELLM)/.installed
	$(PYTHON) tests/pythons.py --make-only

# With the plus sign one sees it at work: the words of all others come when they are done.
suite: $(VENV)/.installed $(VENV)/.browser
	+$(BIN)/python -m pytest -n 2 --dist worksteal

others: $(LITELLM)/.installed
	FRUGALBANDITS_EXAMPLES=quick $(PYTHON) tests/pythons.py -m "not slow" -n 0
	$(LITELLM)/bin/python -m pytest -n 1 $(OF_LITELLM)

litellm: $(LITELLM)/.installed ## the tests of the plug-in for LiteLLM, where LiteLLM and its proxy are installed
	$(LITELLM)/bin/python -m pytest -n 2 --dist loadfile $(OF_LITELLM)

quick: $(VENV)/.installed ## what one runs while working, about a minute: fewer examples, and nothing that is slow
	$(BIN)/ruff check .
	FRUGALBANDITS_EXAMPLES=quick $(BIN)/python -m pytest -n 2 -m "not slow" tests/core src/frugalbandits/core

soak: soak-faults soak-examples ## the long tests, for a night

FAULTS := tests/proofs tests/stores/test_losses.py tests/stores/test_clock_steps.py
soak-faults: $(VENV)/.installed ## 150 kills, then failovers, clocks, hangs, damaged files and 1,000 sessions
	FRUGALBANDITS_EXAMPLES=soak FRUGALBANDITS_KILLS=25 $(BIN)/python -m pytest -n 2 --durations=10 $(FAULTS)

soak-examples: $(VENV)/.installed $(VENV)/.browser ## a thousand examples of every property
	FRUGALBANDITS_EXAMPLES=soak $(BIN)/python -m pytest -n 2 tests

pythons: ## the tests of the core, with numpy alone, with every Python from 3.11 on that the machine has
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

bench-litellm: $(LITELLM)/.installed ## what the plug-in for LiteLLM adds to a call, spends and reaches; about half an hour
	$(LITELLM)/bin/python benchmarks/litellm_routing.py

example-proxy: $(LITELLM)/.installed ## LiteLLM's proxy with the plug-in: starts, answers the OpenAI client, takes feedback, stops
	$(LITELLM)/bin/python examples/proxy/traffic.py

docs: $(VENV)/.installed-docs ## the documentation as HTML in docs/_build
	$(BIN)/sphinx-build -W -b html docs docs/_build

graph: $(VENV)/.installed ## the import graph of the architecture page
	$(BIN)/python docs/make_graph.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing into $(VENV), once"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

# LiteLLM's proxy wants older versions of polars and rich than the lab, so it has an environment of its own.
$(LITELLM)/.installed: pyproject.toml constraints-litellm.txt
	@echo "installing into $(LITELLM), once"
	$(PYTHON) -m venv $(LITELLM)
	$(LITELLM)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-litellm.txt \
		-e ".[litellm,client,service]" "litellm[proxy]" openfeature-sdk pytest pytest-xdist hypothesis
	touch $@

# The tests of the dashboard need a real browser. Where there is none, Debian's is installed, for the whole machine.
# Where that cannot be done, the tests that need it fail and say what is missing; all others run.
$(VENV)/.browser: | $(VENV)/bin/python
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then touch $@; \
	else \
		echo "installing chromium and chromedriver for the tests of the dashboard, with apt-get, once"; \
		as=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		if $$as apt-get update -qq && $$as apt-get install -y -qq chromium chromium-driver >/dev/null; then touch $@; \
		else echo "the tests in tests/browser will fail: they need chromium and chromedriver on the PATH"; fi; \
	fi

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) .venv-* out docs/_build build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
