# `make help` lists the targets. Everything is installed into .venv. Nothing outside is touched, except Debian
# packages that `make install-dev` (and so `make test`) adds when they are missing.

SHELL := /bin/sh
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Test processes: some tests wait, and most of those of make test-all do.
CORES := $(shell nproc 2>/dev/null || echo 2)
JOBS ?= $(shell expr $(CORES) + 1)
JOBS_ALL ?= $(shell expr $(CORES) \* 2)
# Python keeps what it compiled: else each process that a test starts compiles the package anew.
export PYTHONDONTWRITEBYTECODE :=
DATA_DIR ?= .wangtimer
PORT ?= 5000
# Tests that are slow or need the machine for themselves have their own targets.
LEFT_OUT := e2e or chaos or attack or clients
UV := 0.13.9
LOCKED = --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-annotate --quiet \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
PIP_AUDIT := 2.10.1
MYSQL_SYSTEM := build/mysql
OPENAPI_LINT := build/openapi-lint
MYSQL_TESTS := $(addprefix tests/store/test_,$(addsuffix .py,firings timers timer_batches demands attempts \
	kept_answers purge planned_load parts))

.DEFAULT_GOAL := help
.PHONY: help install install-dev demo up test test-all test-plans test-mysql e2e chaos attack simulate ablate cron-oracle fuzz lint-openapi clients broken bench pair lock audit docs lint format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/.installed ## make .venv and install the service into it (no compiler, no database needed)

install-dev: .venv/.installed-dev ## install what tests and linters need too; Debian packages by apt if missing

demo: .venv/.installed ## run the whole service on its embedded default and watch ten callbacks arrive
	@$(BIN)/python -m wangtimer.stack.demo

up: .venv/.installed ## keep the embedded service running until Ctrl-C (DATA_DIR=.wangtimer PORT=5000)
	@$(BIN)/wangtimer up --data-dir $(DATA_DIR) --port $(PORT)

test: .venv/.installed-dev ## run the tests of every change, against real MariaDB, Redis and HTTP servers of their own (8 min)
	@sh .ci/system-packages
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not (test_all or $(LEFT_OUT))"
	@echo "left out: make test-all"

test-all: .venv/.installed-dev ## run the tests that make test leaves out: processes, Valkey, all seeds, pages, plans
	@sh .ci/system-packages
	@failed=0; \
	$(BIN)/python -m pytest -n $(JOBS_ALL) --dist loadgroup -m "test_all and not (alone or $(LEFT_OUT))" || failed=1; \
	$(BIN)/python -m pytest -m alone $$(grep -rl --include="test_*.py" "mark.alone" tests) || failed=1; \
	exit $$failed
	@echo "left out: make test-plans, make test-mysql, make e2e, make chaos, make attack, make clients, make lint-openapi"

test-plans: .venv/.installed-dev ## check that each SQL statement uses its index, on a million rows per table (ROWS=1000000)
	@sh .ci/system-packages
	@PLANS_ROWS=$(or $(ROWS),1000000) $(BIN)/python -m pytest -q tests/plans

# The contract tests that otherwise run on MariaDB.
test-mysql: .venv/.installed-dev ## the same, and the stores' contract tests, on a real MySQL; needs root (ROWS=1000000)
	@sh .ci/mysql-chroot $(CURDIR)/$(MYSQL_SYSTEM)
	@MYSQL_SYSTEM=$(CURDIR)/$(MYSQL_SYSTEM) PLANS_ROWS=$(or $(ROWS),1000000) $(BIN)/python -m pytest -q \
		tests/plans $(MYSQL_TESTS) -k "mariadb or plans"

e2e: .venv/.installed-dev ## run real processes end to end on MariaDB and Redis, and measure
	@sh .ci/system-packages
	@$(BIN)/python -m pytest -m e2e -s

# One row, by a part of its name, writes no page: make chaos ROW="kill executor"
chaos: .venv/.installed-dev ## kill, freeze and cut off real processes under load; write docs/reliability.md (ROW="kill executor")
	@sh .ci/system-packages
	@$(if $(ROW),,CHAOS_REPORT=docs/reliability.md )$(BIN)/python -m pytest -m chaos -s tests/chaos \
		$(if $(ROW),-k "$(subst $() ,-,$(ROW))")

# Some rows, by a part of their words or of their section's name, write no page: make attack ROW="another app"
attack: .venv/.installed-dev ## attack a whole deployment on MariaDB and Redis; write docs/security.md (ROW="another app")
	@sh .ci/system-packages
	@$(if $(ROW),ATTACK_ROW="$(ROW)",ATTACK_REPORT=docs/security.md) $(BIN)/python -m pytest -m attack -q --tb=no tests/attack

# A run that breaks a promise is reported with its seed: make simulate SEED=17 prints its steps.
# Every second run is a plain one. The others take turns: single firings, steps of Redis' clock, lanes, many migrators.
simulate: .venv/.installed-dev ## run the real stages on a fake clock under faults (SEEDS=10000 FIRST=0, or SEED=17 step by step)
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),10000) --first $(or $(FIRST),0))

ablate: .venv/.installed-dev ## leave out each rule of the protocols in turn; check that the simulation breaks a promise (RULE="name")
	@$(BIN)/python -m tests.simulation.ablate $(if $(RULE),"$(RULE)")

# An unexplained difference is reported with its case: make cron-oracle SEED=1 CASE=17 prints both lists.
cron-oracle: .venv/.installed-dev ## compare cron with cronsim and brute force (CASES=100000 SEED=1, or CASE=17 in full)
	@$(BIN)/python -m tests.oracle --seed $(or $(SEED),1) $(if $(CASE),--case $(CASE),--cases $(or $(CASES),100000))

# Another SEED gives other requests.
fuzz: .venv/.installed-dev ## call every documented operation of the deployed app with made-up requests (EXAMPLES=5000 SEED=0)
	@$(BIN)/python -m tests.fuzz --examples $(or $(EXAMPLES),5000) --seed $(or $(SEED),0)

# Needs npm, as only `make clients` does too. The lock file names each installed package.
$(OPENAPI_LINT)/.installed: tests/openapi_lint/package.json tests/openapi_lint/package-lock.json tests/openapi_lint/redocly.yaml
	@command -v npm >/dev/null || { echo "there is no npm: on Debian apt-get install npm (Node.js 20 or later)" >&2; exit 1; }
	@mkdir -p $(OPENAPI_LINT)
	@cp $^ $(OPENAPI_LINT)
	@cd $(OPENAPI_LINT) && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

lint-openapi: $(OPENAPI_LINT)/.installed ## lint openapi.json by Redocly's strict rules, without one warning (needs npm)
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(OPENAPI_LINT)/node_modules/.bin/redocly lint \
		--config $(OPENAPI_LINT)/redocly.yaml openapi.json

clients: .venv/.installed-clients ## generate Java, Go and TypeScript clients into build/clients, compile them, and use the app with each
	@sh .ci/system-packages
	@$(BIN)/python -m pytest -m clients -rs tests/clients

# Only promises with this in their names: make broken PROMISE=retry
broken: .venv/.installed-dev ## break each promise by its mutation, in a copy, and check that its test goes red (PROMISE="part of its name")
	@sh .ci/system-packages
	@$(BIN)/python -m tests.broken $(PROMISE)

# A few workloads, quickly: make bench WORKLOADS="steady burst" RUNS=1 SCALE=0.1
bench: .venv/.installed-bench ## measure speed against its bounds and other systems; write docs/benchmarks.md (WORKLOADS= RUNS=3 SCALE=1)
	@sh .ci/system-packages
	@$(BIN)/python -m benchmarks $(WORKLOADS) --runs $(or $(RUNS),3) --scale $(or $(SCALE),1)

# Worktrees and environments stay in build/pair, for the next pair: make clean removes them.
# The shell takes them from its environment: what a branch's name holds is no command.
pair: export BASE := $(value BASE)
pair: export HEAD := $(value HEAD)
pair: export ROWS := $(value ROWS)
pair: export TURNS := $(value TURNS)
pair: export MOST := $(value MOST)
pair: export SCALE := $(value SCALE)
pair: .venv/.installed-dev ## measure HEAD and BASE in turns; fail where a figure is worse by more than MOST (BASE= HEAD= ROWS="steady ticking burst" TURNS=4 MOST=1.02 SCALE=1)
	@test -n "$$BASE" || { echo "compare with which commit? make pair BASE=main" >&2; exit 1; }
	@sh .ci/system-packages
	@$(BIN)/python -m benchmarks.pair --head="$${HEAD:-HEAD}" --rows="$${ROWS:-steady ticking burst}" --turns="$${TURNS:-4}" \
		--most="$${MOST:-1.02}" --scale="$${SCALE:-1}" -- "$$BASE"

# Versions that are in the lock stay as long as pyproject.toml allows them: make lock UPGRADE=1 takes the newest.
lock: build/lock-tools/.installed ## write requirements.lock, what the image installs, each file by its hash (UPGRADE=1)
	@build/lock-tools/bin/uv pip compile pyproject.toml --extra mysql $(LOCKED) -o requirements.lock
	@build/lock-tools/bin/uv pip compile deploy/build-requirements.in $(LOCKED) -o deploy/build-requirements.lock

audit: build/lock-tools/.installed ## ask the advisory database whether a package of requirements.lock has a known weakness
	@build/lock-tools/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip --strict --progress-spinner off \
		|| { echo "see above: a package has a weakness, or could not be looked up (that needs the network)" >&2; exit 1; }

build/lock-tools/.installed: .venv/bin/python
	@$(BIN)/python -m venv build/lock-tools
	@build/lock-tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$(UV)" "pip-audit==$(PIP_AUDIT)"
	@touch $@

docs: .venv/.installed-docs ## build the documentation as a site with a search, in build/docs; a broken link fails
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

lint: .venv/.installed-dev ## check style, format, types and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

format: .venv/.installed-dev ## format the code and mend what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove .venv and every cache (the data in .wangtimer stay)
	@for place in build/pair/*; do test ! -d "$$place" || git worktree remove --force --force "$$place" || true; done
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "no python3: install Python 3.11 or later, with venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is older than 3.11: install Python 3.11 or later, or name one: make PYTHON=/path/to/it" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "on Debian: apt-get install python3-venv" >&2; rm -rf .venv; exit 1; }

.venv/.installed: .venv/bin/python pyproject.toml
	@echo "installing into .venv ..."
	@$(BIN)/python -m pip install --disable-pip-version-check -e .
	@echo "compiling ..."
	@$(BIN)/python -m compileall -q wangtimer celeryconfig.py
	@touch $@

.venv/.installed-dev: .venv/bin/python pyproject.toml .ci/system-packages
	@PYTHON=$(BIN)/python sh .ci/system-packages
	@echo "installing into .venv, with what tests and linters need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[mysql,dev,docs]"
	@touch .venv/.installed $@

# Needs no Debian package.
.venv/.installed-docs: .venv/bin/python pyproject.toml
	@echo "installing into .venv, with what builds the documentation ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

.venv/.installed-bench: .venv/.installed-dev
	@echo "installing into .venv, with what benchmarks need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[mysql,dev,docs,bench]"
	@touch $@

.venv/.installed-clients: .venv/.installed-dev
	@echo "installing into .venv, with what generates clients ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[mysql,dev,docs,clients]"
	@touch $@
