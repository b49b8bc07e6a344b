# `make help` lists the targets. Each installs what it needs into .venv, once. `make` alone is `make demo`.
PYTHON ?= python3
# More than there are processors: a test waits for servers most of its time.
JOBS ?= 4
VENV := .venv
TOOLS := .venv-tools
BIN := $(VENV)/bin
UV := $(BIN)/uv pip

.PHONY: help demo test test-slow servers simulate simulate-workflow kills nightly mutants live check size format histories setup lock sbom audit clean
.DEFAULT_GOAL := demo

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  Variables: PYTHON (the interpreter of .venv), JOBS (parallel tests), ARGS (arguments for pytest)'

demo: $(VENV)/.runtime ## Play a recorded process from a raw intent to a plan on real servers, and kill its worker once (the default)
	@$(BIN)/tongyao demo --recorded --crash

live: $(VENV)/.runtime ## Run one case on Claude, at most $$1 (needs ANTHROPIC_API_KEY), beside its recording
	@test -n "$$ANTHROPIC_API_KEY" || { echo 'make live asks Claude: set ANTHROPIC_API_KEY. Without a key: make demo'; exit 2; }
	@mkdir -p .tongyao
	@TONGYAO_ENGINE=recorded TONGYAO_ENGINE_FILE=examples/recorded/$(LIVE_CASE).jsonl \
		$(BIN)/tongyao eval --json --people $(LIVE_PEOPLE) examples/$(LIVE_CASE) > .tongyao/live-beside.json
	@TONGYAO_ENGINE=anthropic TONGYAO_MODEL=$(LIVE_MODEL) \
		$(BIN)/tongyao eval --cap 1 --beside .tongyao/live-beside.json --people $(LIVE_PEOPLE) examples/$(LIVE_CASE)
LIVE_CASE := zh-medicine-mountain
LIVE_PEOPLE := signalman,haulier,broadcaster,miniapp
# Budgets reserve the most that each call can cost: with the strong model $1 would not let the first observation begin.
LIVE_MODEL := claude-sonnet-5-5

setup: $(VENV)/.dev ## Install everything for tests and checks

# Bytecode is written: pytest would else rewrite the assertions of every test module in each of the parallel processes.
test: servers ## Run the tests that take seconds; ARGS="tests/field -q" for a part
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m "not slow" -n $(JOBS) --dist worksteal $(ARGS)

test-slow: servers ## Run the tests that take minutes
	@$(BIN)/python -m pytest -m slow $(ARGS)

simulate: $(VENV)/.dev ## Run generated schedules against the state machine of processes; N=100000 for more
	@$(BIN)/python -m tests.simulation --table --schedules $(N)
N := 20000

simulate-workflow: $(VENV)/.dev ## Run 5,000 generated schedules through the real workflow class, in process (about 10 minutes)
	@$(BIN)/python -m tests.simulation --workflow --table --schedules 5000

kills: servers ## Run 20 generated schedules through a real server with a worker that is killed (about 20 minutes)
	@$(BIN)/python -m tests.kills

nightly: servers ## Run all that takes too long for a change, in at most 80 minutes on two cores; ARGS="--only kills" for a part
	@$(BIN)/python -m tests.nightly $(ARGS)

mutants: $(VENV)/.dev ## Count how many defects put into the state machine the simulation finds (slow)
	@$(BIN)/python -m tests.simulation.mutants
# Before the tests and not in them: on a new machine the Temporal server is built, which takes longer than a test may.
servers: $(VENV)/.dev
	@$(BIN)/python -c 'from pathlib import Path; from tongyao.runtime.local.temporal_binary import ensure_binary; \
		ensure_binary(Path(".tongyao"))'

check: $(VENV)/.dev ## Check style (ruff), types (mypy) and imports between packages (import-linter)
	@$(BIN)/ruff check --output-format concise
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

size: ## Count the lines of each package, beside the goals of the design
	@$(PYTHON) -m bench.code_size

format: $(VENV)/.dev ## Format the code, and fix what ruff can fix
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

screenshots: servers ## Take pictures of every page of the console into screenshots/
	@$(BIN)/python -m tests.console.screenshots

histories: $(VENV)/.dev ## Record the workflow histories of tests/replay anew
	@$(BIN)/python -m tests.replay.record

lock: $(VENV)/.bootstrap ## Write requirements/ anew with the newest versions
	@printf 'uv\nhatchling\neditables\n' | $(UV) compile - $(LOCK) -o requirements/bootstrap.txt
	@$(UV) compile pyproject.toml --extra highway $(LOCK) -o requirements/highway.txt
	@$(UV) compile pyproject.toml $(LOCK) -c requirements/highway.txt -o requirements/runtime.txt
	@$(UV) compile pyproject.toml --extra highway --extra embeddings --extra models --group dev $(LOCK) -c requirements/highway.txt \
		-o requirements/dev.txt
	@printf 'cyclonedx-bom\npip-audit\n' | $(UV) compile - $(LOCK) -o requirements/tools.txt
LOCK := --quiet --upgrade --universal --generate-hashes --no-emit-index-url

sbom: $(TOOLS)/.installed ## Write sbom.json (CycloneDX): what the image installs, with versions and hashes
	@$(TOOLS)/bin/cyclonedx-py requirements requirements/runtime.txt \
		--output-reproducible --output-file sbom.json
	@echo 'sbom.json: what requirements/runtime.txt installs'

audit: $(TOOLS)/.installed ## Compare what the image installs with published advisories (needs the network)
	@echo "Asks the public advisory database about $$(grep -c '^[a-z].*==' requirements/runtime.txt) libraries, one request each, 15 s at most for each."
	@$(TOOLS)/bin/pip-audit --progress-spinner on --timeout 15 --strict --disable-pip --require-hashes -r requirements/runtime.txt

clean: ## Remove .venv, .venv-tools and all caches; never .tongyao, which holds the data
	rm -rf $(VENV) $(TOOLS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache

# What reads the list of libraries has libraries of its own: they are pinned too, and stay apart.
$(TOOLS)/.installed: requirements/tools.txt $(VENV)/.bootstrap
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(TOOLS)
	@$(UV) install --python $(TOOLS)/bin/python --quiet --require-hashes -r requirements/tools.txt
	@touch $@

# Bytecode is written here, once: where PYTHONDONTWRITEBYTECODE is set, every start of a command, a worker or a test would
# compile thousands of modules anew.
# The development environment is the runtime one and more, in the same place: packages are added, never removed.
$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@echo "Installing what tests need (several minutes the first time: it includes torch)"
	@$(UV) install --python $(BIN)/python --quiet --compile-bytecode --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m compileall -q tests bench
	@touch $@

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml $(VENV)/.bootstrap
	@echo "Installing Tongyao"
	@$(UV) install --python $(BIN)/python --quiet --compile-bytecode --require-hashes -r requirements/runtime.txt
	@$(UV) install --python $(BIN)/python --quiet --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q tongyao crystalline_highway workflows activities worker.py
	@touch $@

$(VENV)/.bootstrap: requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "Tongyao needs Python 3.11, 3.12 or 3.13: $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
		"Install one and say: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "Python could not make $(VENV). On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/bootstrap.txt
	@touch $@
