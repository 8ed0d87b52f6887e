# Two commands are enough: `make demo` and `make test`. Each sets up its own .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
unexport PYTHONDONTWRITEBYTECODE  # else each of hundreds of processes would compile all modules again

.PHONY: demo test test-long ready-to-test lint warm pages bench bench-check wheel clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       compare ways to publish sample data, make the best, show what came out"
	@echo "make test       lint, type-check and run every test"
	@echo "make test-long  the same tests with far more random cases"
	@echo "make lint       ruff, mypy and import-linter only"
	@echo "make warm       compile now what is compiled at first use"
	@echo "make pages      the pages and schemas of docs that the code writes"
	@echo "make wheel      build what pip installs, and try it in a clean environment"
	@echo "make bench      other tools beside ours, each in an environment of its own; writes docs/benchmarks.md"
	@echo "make bench-check  counted work against what is recorded: fails if something got 15 % worse"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Ringfence needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/ringfence demo -o demo-release

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

warm: $(READY)
	$(BIN)/ringfence warm

# Types are checked while kernels are compiled, each once: two processes of tests would compile the same ones side by side.
ready-to-test: $(READY)
	$(MAKE) --no-print-directory --jobs=2 lint warm

test: ready-to-test
	$(BIN)/pytest -n 2 --dist loadgroup

test-long: ready-to-test
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 --dist loadgroup

# What the code writes itself: the page of errors, from what the commands print; the commands; the schema of plans.
pages: $(READY)
	$(BIN)/python -m tests.error_cases
	$(BIN)/python tests/written_pages.py

# Each tool gets an environment of its own under .venv-peers, made once. What compiles at first use is compiled before.
bench: warm
	$(BIN)/python -m benchmarks.peers

bench-check: $(READY)
	$(BIN)/python -m benchmarks.check

# What `pip install ringfence` gets: built, installed where nothing else is, and used there. One wheel is for everybody,
# the other has kernels compiled ahead for this version of Python and most processors: its first use compiles nothing.
wheel: $(READY)
	rm -rf dist .venv-wheel .kernels
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m ringfence.warming .kernels
	RINGFENCE_KERNELS=$(CURDIR)/.kernels $(BIN)/python -m build --wheel --outdir dist
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/pip install --quiet --disable-pip-version-check dist/*-manylinux*.whl
	cd dist && ../.venv-wheel/bin/ringfence demo -o demo-of-the-wheel && rm -rf demo-of-the-wheel

clean:
	rm -rf $(VENV) .venv-peers .venv-wheel .kernels dist demo-release
