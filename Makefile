# Every command that a developer or CI runs. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help
help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: $(STAMP) ## See it work, from orders to webhooks, on a temporary stack; under a minute
	@$(BIN)/python -m demo

.PHONY: up
up: $(STAMP) ## Start the local stack and all of our processes in the background; says where everything is
	@$(BIN)/outbox dev up --all

.PHONY: down
down: $(STAMP) ## Stop what `make up` started; what it stored stays
	@$(BIN)/outbox dev down

.PHONY: test
test: lint types audit $(STAMP) ## Run everything: lint, types, import rules, audit, and all tests on a stack of their own
	@$(BIN)/python -m pytest

.PHONY: unit
unit: $(STAMP) ## Run the tests that need no service; about 20 seconds
	@$(BIN)/python -m pytest tests/unit

.PHONY: audit
audit: $(STAMP) ## Look the locked packages up in the advisory databases; says so where none can be reached
	@$(BIN)/python -m tests.audit

.PHONY: fuzz
fuzz: $(STAMP) ## Garble what comes in from outside, 50,000 examples each (OUTBOX_FUZZ_EXAMPLES); an hour
	@OUTBOX_FUZZ_EXAMPLES=$${OUTBOX_FUZZ_EXAMPLES:-50000} $(BIN)/python -m pytest tests/fuzz

.PHONY: faults
faults: $(STAMP) ## Kill, freeze and cut everything under load, and judge from outside; a dozen minutes (SEED=n repeats a run)
	@$(BIN)/python -m tests.faults.harness faults --seed $(or $(SEED),0)

.PHONY: mutants
mutants: $(STAMP) ## Break each rule on purpose, and see that the fault harness finds it; five minutes
	@$(BIN)/python -m tests.faults.harness mutants

.PHONY: soak
soak: $(STAMP) ## A steady load, and whether anything grows; an hour (MINUTES=n)
	@$(BIN)/python -m tests.faults.harness soak --minutes $(or $(MINUTES),60)

.PHONY: lint
lint: $(STAMP) ## Check the style, every rule on, and the import rules
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "Some files are not formatted: run make format"; exit 1; }
	@report=$$($(BIN)/lint-imports) || { echo "$$report"; exit 1; }

.PHONY: format
format: $(STAMP) ## Format the code, and put right what can be put right
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format .

.PHONY: types
types: $(STAMP) ## Check the types, strictly
	@$(BIN)/mypy

.PHONY: docs
docs: $(STAMP) ## Write the reference pages that are made from the code
	@$(BIN)/python -m streams.settings.reference > docs/reference/settings.md.new
	@$(BIN)/python -m streams.cli.reference > docs/reference/cli.md.new
	@for page in settings cli; do mv docs/reference/$$page.md.new docs/reference/$$page.md; done

.PHONY: bench
bench: $(STAMP) ## Measure speed and cost, the old polling workers included, and print the tables
	@$(BIN)/python -m benchmarks

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "outbox-streams needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv module is missing: install it (Debian: apt install python3-venv), then try again"; exit 1; }
	@echo "setup: installing the pinned packages into $(VENV) (about half a minute with a warm cache)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: venv
venv: $(STAMP) ## Create .venv with the pinned packages

.PHONY: lock
lock: ## Refresh requirements.lock (versions and hashes only) from pyproject.toml
	@$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv
	@.venv-lock/bin/uv pip compile --quiet --upgrade pyproject.toml --all-extras --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-package pip --no-header --no-annotate -o requirements.lock
	@rm -rf .venv-lock
