# Two commands that need nothing but python3 with venv: `make demo` and `make test`.
# Each makes a virtual environment of its own in the checkout the first time.

PYTHON ?= python3
VENV ?= .venv
ROBOT ?=
ARGS ?=
# tests side by side: more processes than this disturb the ones that drive real nodes
WORKERS ?= 3
N ?= 100000
SECONDS ?= 3600

# Wheels of ROS 2 are for this platform only, and an installation that is sourced must not mix with them:
# its Python modules would load the wheels' libraries.  Elsewhere the sourced installation is what the nodes use.
ifeq ($(shell uname -sm),Linux x86_64)
unexport PYTHONPATH LD_LIBRARY_PATH RMW_IMPLEMENTATION
endif

BIN := $(VENV)/bin
DEFINITION := setup.py pyproject.toml

OLDEST_PYTHON ?= python3.10
NEWEST_PYTHON ?= $(PYTHON)
NEXT_PYTHON ?= python3.14
OLDEST := llvmlite==0.39.1 numpy==1.24.4 scipy==1.10.1
NEWEST := llvmlite numpy scipy
ENGINE_TESTS := $(addprefix test/dynamics/test_,backends.py base_parameters.py public.py lifetime.py cache.py closed_forms.py \
	bad_input.py rollout.py parallel.py inverse_dynamics.py forward_dynamics.py compiler.py compile_process.py) \
	test/control/test_cycle.py
# all that needs neither the middleware nor a peer that has no wheel for every Python
CORE_TESTS := $(addprefix test/,model dynamics control simulation identification equations export recordings)

RATIOS ?= build/ratios.json

.PHONY: help demo test test-quick test-faults test-matrix test-next fuzz soak bench docs figures pictures lint clean

help:
	@echo "make demo [ROBOT=path/to/robot.urdf]   simulator and controller in two processes, a trajectory, a picture, a live view"
	@echo "make test [ARGS='-k name']             install what the tests need and run them"
	@echo "make test-quick [ARGS='-k name']       those that take seconds, without the middleware and browsers"
	@echo "make test-matrix                       the engine's tests with the oldest and the newest compiler and NumPy"
	@echo "make test-next                         model, dynamics, control, simulation … with NEXT_PYTHON ($(NEXT_PYTHON)), no middleware"
	@echo "make test-faults                       every fault of the matrix, and the page about them"
	@echo "make fuzz [N=100000]                   N damaged inputs of each kind: files, messages, parameters, command lines"
	@echo "make soak [SECONDS=3600]               the nodes for an hour at 500 Hz and at 1 kHz, with faults"
	@echo "make bench [RATIOS=file]               speed, side by side with the peers; what changed since benchmarks/results/ratios.json"
	@echo "make docs                              the documentation as a site, in build/site"
	@echo "make figures [ARGS=--all]              measure the tables of the documentation anew, on an idle machine"
	@echo "make pictures                          every picture of the documentation, drawn anew"
	@echo "make lint                              ruff and mypy"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# says every 5 s how far it is, and uses uv where it can
$(VENV)/.demo: $(DEFINITION)
	@$(PYTHON) environment.py $(VENV) --expect 650 -- --editable '.[ros,view,viz]'
	@touch $@

# bytecode of what is imported, made once for all processes of a run and kept in the virtual environment
demo test test-quick: export PYTHONDONTWRITEBYTECODE :=
demo test test-quick: export PYTHONPYCACHEPREFIX := $(abspath $(VENV))/bytecode
# the workers share the processors already; threads of BLAS beside them wait for each other
demo test test-quick: export OPENBLAS_NUM_THREADS := 1

$(VENV)/.test: $(DEFINITION)
	@$(PYTHON) environment.py $(VENV) --expect 2600 -- --editable '.[ros,test]'
# the compiler of older systems, for the test that runs robot and controller with it
	@$(PYTHON) environment.py $(VENV) --expect 2700 -- --no-deps --target $(VENV)/older 'llvmlite<0.45; python_version < "3.14"'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: $(DEFINITION) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[ros,docs]'
	@touch $@ $(VENV)/.demo

# neither the package nor a peer: seconds to make
.venv-lint/.ready: lint-requirements.txt
	$(PYTHON) -m venv .venv-lint
	.venv-lint/bin/python -m pip install --quiet --requirement lint-requirements.txt
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/robot_dynamics demo $(if $(ROBOT),'$(ROBOT)') $(ARGS)

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-quick: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow and not middleware and not browser' $(ARGS)

.venv-matrix-oldest/.ready: PACKAGES := $(OLDEST)
.venv-matrix-newest/.ready: PACKAGES := --upgrade $(NEWEST)
.venv-matrix-next/.ready: PACKAGES := --upgrade $(NEWEST) sympy matplotlib trimesh
.venv-matrix-oldest/.ready: INTERPRETER := $(OLDEST_PYTHON)
.venv-matrix-newest/.ready: INTERPRETER := $(NEWEST_PYTHON)
.venv-matrix-next/.ready: INTERPRETER := $(NEXT_PYTHON)
.venv-matrix-%/.ready: $(DEFINITION)
	$(INTERPRETER) -m venv .venv-matrix-$*
	.venv-matrix-$*/bin/python -m pip install --quiet $(PACKAGES) urdf-parser-py pytest pytest-timeout pytest-xdist hypothesis
	@touch $@

test-matrix: .venv-matrix-oldest/.ready .venv-matrix-newest/.ready
	.venv-matrix-oldest/bin/python -m pytest $(ENGINE_TESTS) $(ARGS)
	.venv-matrix-newest/bin/python -m pytest $(ENGINE_TESTS) $(ARGS)

# the newest Python, where the middleware has no wheels yet
test-next: .venv-matrix-next/.ready
	.venv-matrix-next/bin/python -m pytest -n $(WORKERS) $(CORE_TESTS) $(ARGS)

test-faults: $(VENV)/.test
	@rm -f build/faults.md && mkdir -p build
	FAULTS=all FAULT_REPORT=build/faults.md $(BIN)/python -m pytest test/ros/test_fault_matrix.py $(ARGS)
	$(BIN)/python docs/make_fault_page.py build/faults.md

# N inputs of each kind; what fails lands in build/fuzz
fuzz: $(VENV)/.test
	FUZZ=$(N) $(BIN)/python -m pytest test/fuzz -n $(WORKERS) -o faulthandler_timeout=0 $(ARGS)

# an hour at each of two rates, with faults
soak: $(VENV)/.test
	$(BIN)/python -m benchmarks.soak --seconds $(SECONDS) --rate 500 1000 $(ARGS)

bench: $(VENV)/.test
	ROBOT_DYNAMICS_RATIOS=$(RATIOS) $(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet $(ARGS)
	@echo "open build/site/index.html"

figures: $(VENV)/.test
	$(BIN)/python -m docs.generate.measure $(ARGS)

pictures: $(VENV)/.test
	$(BIN)/python -m docs.images.all_pictures $(ARGS)

lint: .venv-lint/.ready
	.venv-lint/bin/ruff check .
	.venv-lint/bin/ruff format --check .
	.venv-lint/bin/mypy

clean:
	rm -rf $(VENV) .venv-lint .venv-matrix-oldest .venv-matrix-newest .venv-matrix-next build install log dist demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
