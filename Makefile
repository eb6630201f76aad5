# Two commands for a fresh machine with git, make and Python >= 3.11: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PIP_VERSION := 26.3
PINS := -c constraints.txt --build-constraint constraints.txt
CHECKED := $(wildcard reme_compact workers/reme_workers tests integration examples benchmarks)
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check run clean

help:
	@echo 'make demo    set up, then compact the bundled agent history and show what was done'
	@echo 'make test    set up for development, then run all tests'
	@echo 'make check   formatting, lint, types, import rules, declared dependencies'
	@echo 'make run     the service, on http://127.0.0.1:2333 (Ctrl-C stops it)'
	@echo 'make bench   compare with reme-ai, all cases (bench-quick: a few, in a minute)'
	@echo 'make bench-jobs  jobs, embedded and distributed, against their limits (three minutes)'
	@echo 'make clean   remove the virtual environment and everything that was generated'
	@echo
	@echo 'PYTHON=python3.12 chooses the interpreter; ARGS=... is passed on by test and run.'

demo: $(VENV)/.service
	@DECISION_MODEL_BACKEND=local $(BIN)/reme start config=decision_compaction job=compact_context \
	  request=@examples/incident_request.json output=report
	@echo
	@echo 'That was: reme start config=decision_compaction job=compact_context request=@examples/incident_request.json'
	@echo 'From here: . $(BIN)/activate     then'
	@echo '  reme compact_context --help    every key and option, and an example to paste'
	@echo '  make run                       the same as a service'
	@echo '  python examples/embed.py       the same inside your own program'
	@echo '  README.md                      what a host must know before it applies a proposal'

test: $(VENV)/.dev
ifeq ($(ARGS),)
	$(BIN)/pytest tests --numprocesses auto --maxprocesses 4 --dist worksteal
	$(BIN)/pytest integration
else
	$(BIN)/pytest $(ARGS)
endif

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(CHECKED)
	$(BIN)/lint-imports
	$(BIN)/deptry .

run: $(VENV)/.service
	$(BIN)/reme start config=decision_compaction $(ARGS)

clean:
	rm -rf $(VENV) $(PEER) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say what is installed: .python an empty environment, .service what users need, .dev everything.

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo 'Cannot find $(PYTHON). Install Python 3.11 or newer, or name one: make PYTHON=python3.12'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, this is $$($(PYTHON) --version). Name a newer one: make PYTHON=python3.12"; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'Python is here without its venv module. On Debian and Ubuntu: apt-get install python3-venv'; exit 1; }
	@echo 'Creating $(VENV) ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --quiet 'pip==$(PIP_VERSION)'
	@touch $@

$(VENV)/.service: $(VENV)/.python pyproject.toml constraints.txt
	@echo 'Installing the package and its pinned dependencies ...'
	@$(PIP) install --quiet $(PINS) -e '.[service]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml constraints.txt
	@echo 'Installing the package, all extras and the development tools ...'
	@$(PIP) install --quiet $(PINS) -e '.[all]' --group dev
	@touch $@ $(VENV)/.service

# Measurements. The peer gets an environment of its own, because it needs other versions of what we use.

.PHONY: bench bench-quick bench-jobs
PEER := .venv-peer
PEER_PACKAGE := reme-ai[decision]==0.4.2.0

bench: $(VENV)/.dev $(PEER)/.ready
	$(BIN)/python -m benchmarks.run --suite full --processes --command 'make bench$(if $(ARGS), ARGS="$(ARGS)")' $(ARGS)
	@echo
	@echo 'Into the document: $(BIN)/python -m benchmarks.document out/bench.json docs/benchmarks.md'

bench-quick: $(VENV)/.dev $(PEER)/.ready
	$(BIN)/python -m benchmarks.run --suite quick --out out/bench-quick.json --command 'make bench-quick$(if $(ARGS), ARGS="$(ARGS)")' $(ARGS)

bench-jobs: $(VENV)/.dev
	$(BIN)/python -m benchmarks.jobs $(ARGS)

$(PEER)/.ready: | $(VENV)/.python
	@echo 'Installing $(PEER_PACKAGE) into $(PEER) ...'
	@$(BIN)/python -m venv --clear $(PEER)
	@$(PEER)/bin/python -m pip --disable-pip-version-check install --quiet '$(PEER_PACKAGE)'
	@touch $@
