# Two commands that need nothing but python3 with venv: `make demo` and `make test`.
# Each makes a virtual environment of its own in the checkout the first time.

PYTHON ?= python3
VENV ?= .venv
ROBOT ?=
ARGS ?=
# tests side by side: more processes than this disturb the ones that drive real nodes
WORKERS ?= 2

BIN := $(VENV)/bin
DEFINITION := setup.py pyproject.toml

.PHONY: help demo test bench lint clean

help:
	@echo "make demo [ROBOT=path/to/robot.urdf]   simulator and controller in two processes, a trajectory, a picture, a live view"
	@echo "make test [ARGS='-k name']             install what the tests need and run them"
	@echo "make bench                             speed, side by side with the peers"
	@echo "make lint                              ruff and mypy"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(DEFINITION) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[ros,view,viz]'
	@touch $@

$(VENV)/.test: $(DEFINITION) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[ros,test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.lint: $(DEFINITION) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/robot_dynamics demo $(if $(ROBOT),--robot '$(ROBOT)') $(ARGS)

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks $(ARGS)

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

clean:
	rm -rf $(VENV) build install log dist demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
