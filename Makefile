# make parity   set up and prove the pairs          make test   everything
# make help     the other targets

PYTHON ?= python3
VENV   ?= .venv
# More options for pip, such as an index that has CPU builds of torch.
PIP_OPTIONS ?=
# More options for pytest, such as -n2 or -k td3.
ARGS ?=

BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest
# The slowest tests are printed, so that one that grew is seen.
SLOWEST := --durations=20 --durations-min=0.5
# A missing package must fail the suite, not shorten it.
export PARITY_REQUIRE ?= torch,tf,gym,gymnasium,mujoco,box2d,safetensors
# What the last run of the suite found, and the run that it is judged by.
RESULTS  := .parity/results.json
BASELINE := tests/parity/baseline.json
OTHERS := not benchmark and not gpu and not learning and not slow

.DEFAULT_GOAL := help
.PHONY: help install parity test lint types suite gate baseline gpu stage learning slow bench corpus site format \
  clean distclean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

install: $(READY) ## create .venv and install everything, pinned by constraints.txt

$(READY): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 10) <= v <= (3, 13) else \
	  "Python %d.%d: TensorFlow and torch need 3.10 to 3.13; say: make PYTHON=python3.12 ..." % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) \
	  --constraint constraints.txt --editable '.[all]'
	@touch $@

parity: $(READY) ## prove every pair, both frameworks against each other and the reference
	$(PYTEST) -m parity $(SLOWEST) --parity-json=$(RESULTS) $(ARGS)

test: lint types suite gate stage ## lint, types, and every test that needs no GPU and trains nothing

lint: $(READY) ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy --strict on the harness
	$(BIN)/mypy

suite: $(READY) ## unit, meta, plugin, parity, command line and documentation tests
	$(PYTEST) -m '$(OTHERS)' $(SLOWEST) --parity-json=$(RESULTS) $(ARGS)

gate: $(READY) ## judge the last `make parity` or `make suite` by the committed baseline
	$(BIN)/parity gate $(BASELINE) $(RESULTS) \
	  $(if $(GITHUB_STEP_SUMMARY),--markdown '$(GITHUB_STEP_SUMMARY)')

baseline: $(READY) ## make the last `make parity` or `make suite` the new baseline, and show the diff
	$(BIN)/parity gate $(BASELINE) $(RESULTS) --update

gpu: $(READY) ## the pairs on a GPU
	$(PYTEST) -m gpu $(ARGS)

stage: $(READY) ## every body of the GPU stage, on the CPU
	$(PYTEST) -m gpu --parity-device=cpu $(ARGS)

learning: $(READY) ## the tests that train for minutes
	$(PYTEST) -m learning $(ARGS)

slow: $(READY) ## the tests that take more than a few seconds each
	$(PYTEST) -m slow $(ARGS)

bench: $(VENV)/.peers ## speed of the training steps and of the harness; writes docs/performance.md
	$(BIN)/python scripts/bench.py
	$(PYTEST) -m benchmark --benchmark-json=$(VENV)/harness.json $(ARGS); status=$$?; \
	  $(BIN)/python scripts/bench.py --page --harness $(VENV)/harness.json && exit $$status

$(VENV)/.peers: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) \
	  --constraint constraints.txt --editable '.[peers]'
	@touch $@

corpus: $(READY) ## score `parity check` on the corpus of porting faults
	$(BIN)/python scripts/corpus.py $(ARGS)

site: $(READY) ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(READY) ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what tests and tools left behind
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -type d -prune -exec rm -rf {} +

distclean: clean ## and the virtual environment
	rm -rf $(VENV)
