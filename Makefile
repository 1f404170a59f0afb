# make run    set everything up and open the assistant
# make test   set everything up and run the tests
# make check  lint and types
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test check format clean
.DEFAULT_GOAL := run

run: $(VENV)/.installed
	@$(BIN)/ncclinic $(ARGS)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto $(ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/ncclinic knowledge check

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A virtual environment that pip can work in; the message says what to install where Debian's python3 lacks venv.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ncclinic needs Python 3.11 or later; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >&2 || { echo "python3 can't make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Setting up ncclinic in $(VENV) ..." >&2
	@$(PIP) install -e . >&2
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Setting up ncclinic and what its tests need in $(VENV) ..." >&2
	@$(PIP) install -e '.[dev]' >&2
	@touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
