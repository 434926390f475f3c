# Every target makes what it needs, on a machine with Python 3.11 or newer, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) # such as https://download.pytorch.org/whl/cpu

# Byte code is kept, whatever the environment says: commands that tests start would compile all again.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest
SPREAD := --numprocesses auto --dist loadfile --no-loadscope-reorder # a file a core at a time

.PHONY: setup demo test test-long test-slow check docs wheel format clean

setup: $(VENV)/.develop  ## a virtual environment in .venv with all that development needs

$(VENV)/.runtime: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[standard]'
	touch $@

$(VENV)/.develop: $(VENV)/.runtime
	$(INSTALL) --editable '.[develop]'
	touch $@

demo: $(VENV)/.runtime  ## from text to a page of laws, in minutes
	$(BIN)/tongues demo

test: $(VENV)/.develop  ## what to run before every commit: all tests but the long and the slow ones
	$(PYTEST) -m 'not long and not slow' $(SPREAD)

test-long: $(VENV)/.develop  ## the long ones: kills, clusters, sessions of many commands
	$(PYTEST) -m 'long and not slow' $(SPREAD)

test-slow: $(VENV)/.develop  ## the slow ones
	$(BIN)/python -m pytest -m slow

check: $(VENV)/.develop docs  ## format, lint, types, import directions, public names, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m pytest tests/test_structure.py

docs: $(VENV)/.develop  ## the documentation site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(VENV)/.runtime  ## what `pip install` takes, in dist
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m pip wheel . --quiet --no-deps --wheel-dir dist

format: $(VENV)/.develop
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## what `make` and the demo made
	rm -rf $(VENV) build dist demo .pytest_cache .ruff_cache .hypothesis *.egg-info
