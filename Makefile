# Every target makes what it needs, on a machine with Python 3.11 or newer, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHELL := bash
.SHELLFLAGS := -o pipefail -c
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --constraint constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) # such as https://download.pytorch.org/whl/cpu
# Of what pip prints, the packages of 10 MB and more, and how many are installed.
LARGE := awk '/\([0-9][0-9]+(\.[0-9]+)? MB\)|GB\)/ { print "  " $$0 } /^Installing collected/ \
	{ print "  installing " gsub(",", "") + 1 " packages" } { fflush() }'

# Byte code is kept, whatever the environment says: commands that tests start would compile all again.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest
SPREAD := --numprocesses auto --dist loadfile --no-loadscope-reorder # a file a core at a time

.PHONY: setup demo test test-long test-slow faults check docs wheel format clean

setup: $(VENV)/.develop  ## a virtual environment in .venv with all that development needs

$(VENV)/.runtime: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "$(VENV), 1 of 2: tongues and what it runs on, 2.9 GB with torch for processors, 6 GB with CUDA: 5 to 15 minutes"
	@$(INSTALL) --editable '.[standard]' | $(LARGE)
	@touch $@

$(VENV)/.develop: $(VENV)/.runtime
	@echo "$(VENV), 2 of 2: tests, types and documentation: 1 to 5 minutes"
	@$(INSTALL) --editable '.[develop]' | $(LARGE)
	@touch $@

demo: $(VENV)/.runtime  ## from text to a page of laws, in minutes
	$(BIN)/tongues demo

test: $(VENV)/.develop  ## what to run before every commit: all tests but the long and the slow ones
	$(PYTEST) -m 'not long and not slow' $(SPREAD)

test-long: $(VENV)/.develop  ## the long ones: kills, clusters, sessions of many commands
	$(PYTEST) -m 'long and not slow' $(SPREAD)

faults: $(VENV)/.develop  ## 150 kills, 90 faults, 10,000 hostile files: an hour, and root for small disks
	$(BIN)/python benchmarks/faults.py kills
	$(BIN)/python benchmarks/faults.py faults
	$(BIN)/python benchmarks/hostile.py

test-slow: $(VENV)/.develop  ## the slow ones
	$(BIN)/python -m pytest -m slow

check: $(VENV)/.develop docs  ## format, lint, types, import directions, public names, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m pytest tests/test_structure.py

docs: $(VENV)/.develop  ## the documentation site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(VENV)/.runtime  ## what `pip install` takes, as source and as wheel, in dist
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m pip wheel . --quiet --no-deps --wheel-dir dist
	$(BIN)/python -c "import setuptools.build_meta as build; build.build_sdist('dist')" > /dev/null

format: $(VENV)/.develop
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## what `make` and the demo made
	rm -rf $(VENV) build dist demo .pytest_cache .ruff_cache .hypothesis *.egg-info
