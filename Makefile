# `make demo` and `make test` are all one needs to know; each sets up what it needs, once.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip
MYPY_PATHS := tongyao workflows activities tests $(wildcard worker.py bench)
RUFF_PATHS := $(MYPY_PATHS) $(wildcard examples deploy)

.PHONY: demo test test-slow check format histories setup lock clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.runtime ## One process from a raw intent to a plan, on real servers
	@$(BIN)/tongyao demo

setup: $(VENV)/.dev ## Everything for tests

test: $(VENV)/.dev ## What takes seconds
	@$(BIN)/python -m pytest -m "not slow" -n $(JOBS) --dist loadfile $(ARGS)

test-slow: $(VENV)/.dev ## What takes minutes
	@$(BIN)/python -m pytest -m slow $(ARGS)

check: $(VENV)/.dev ## Style, types, and the arrows between the rooms
	@$(BIN)/ruff check --output-format concise $(RUFF_PATHS)
	@$(BIN)/ruff format --check $(RUFF_PATHS)
	@$(BIN)/mypy $(MYPY_PATHS)
	@$(BIN)/lint-imports

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix $(RUFF_PATHS)
	@$(BIN)/ruff format $(RUFF_PATHS)

histories: $(VENV)/.dev ## Histories of every shape of a process, for tests/replay
	@$(BIN)/python -m tests.replay.record

lock: $(VENV)/.bootstrap ## Write requirements/ anew with the newest versions
	@printf 'uv\nhatchling\neditables\n' | $(UV) compile - $(LOCK) -o requirements/bootstrap.txt
	@$(UV) compile pyproject.toml --extra highway $(LOCK) -o requirements/highway.txt
	@$(UV) compile pyproject.toml $(LOCK) -c requirements/highway.txt -o requirements/runtime.txt
	@$(UV) compile pyproject.toml --extra highway --extra embeddings --group dev $(LOCK) -c requirements/highway.txt \
		-o requirements/dev.txt
LOCK := --quiet --upgrade --universal --generate-hashes --no-emit-index-url

clean: ## The environment and every cache; never .tongyao, where processes live
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache

# The development environment is the runtime one and more, in the same place: packages are added, never removed.
$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@echo "Installing what tests need (several minutes the first time: it includes torch)"
	@$(UV) install --python $(BIN)/python --quiet --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml $(VENV)/.bootstrap
	@echo "Installing Tongyao"
	@$(UV) install --python $(BIN)/python --quiet --require-hashes -r requirements/runtime.txt
	@$(UV) install --python $(BIN)/python --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.bootstrap: requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "Tongyao needs Python 3.11, 3.12 or 3.13: $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
		"Install one and say: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "Python could not make $(VENV). On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/bootstrap.txt
	@touch $@
