# Everything a user needs: `make run` (the main job) and `make test`.
# The first call builds .venv; nothing else has to be installed but python3, python3-venv and make.
# Every path is relative: the checkout may lie in a folder with spaces in its name.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# As variables, both hold for the environment of the build too. Python compiles what is imported, when it is: all packages take 15 s more.
PIP := PIP_COMPILE=0 PIP_CONSTRAINT=constraints.txt $(PY) -m pip --disable-pip-version-check --no-input --quiet

# Processes that tests start read the compiled modules of those before, even where the variable was set: a second or more each.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
ifeq "$(MAKELEVEL)" "0"
.NOTPARALLEL:
endif
.PHONY: help run test test-all test-random test-simulators native slow-slice types-and-slice check style types suite generated docs wheel wheels bench bench-quick bench-check bench-peers data data-tools clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 17

comma := ,

# A stamp says that one set of packages is installed. `.complete` names the checkout and is absent
# while pip works: after an interrupted call, or when the checkout was moved (scripts and the editable
# install hold absolute paths), the next call builds .venv anew.
ifneq "$(shell cat $(VENV)/.complete 2>/dev/null)" "$(CURDIR)"
.PHONY: $(VENV)/.user $(VENV)/.dev $(VENV)/.everything $(VENV)/.docs $(VENV)/.bench
endif

define install
	@test "$$(cat $(VENV)/.complete 2>/dev/null)" = "$$(pwd -P)" \
		|| { rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
	@rm -f $(VENV)/.complete
	@$(PIP) install --upgrade pip # that of Debian 12 takes twice as long
	@echo "installing $(1) into $(VENV)"
	@$(PIP) install $$($(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@$(MAKE) --no-print-directory --jobs=2 compiled packages INSTALLED="$(1)"
	@pwd -P > $(VENV)/.complete
endef

# Side by side: pip uses one core. What the build imports is installed before.
.PHONY: compiled packages
compiled:
	@PYTHONWARNINGS=ignore $(PY) hatch_build.py >/dev/null
packages:
	@HATCH_BUILD_NO_HOOKS=true $(PIP) install --no-build-isolation --editable "$(INSTALLED)"

$(VENV)/.user: pyproject.toml constraints.txt
	$(call install,.)
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(VENV)/.user $@

$(VENV)/.everything: pyproject.toml constraints.txt
	$(call install,.[dev$(comma)browser$(comma)scale])
	@touch $(VENV)/.user $(VENV)/.dev $@

$(VENV)/.docs: pyproject.toml constraints.txt
	$(call install,.[docs])
	@touch $(VENV)/.user $@

$(VENV)/.bench: pyproject.toml constraints.txt
	$(call install,.[bench])
	@touch $(VENV)/.user $@

run: $(VENV)/.user ## validate every model against bundled packet simulations; writes report/index.html
	$(VENV)/bin/hopflow validate

check: style types ## lint, format, types, repository review

style: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.dev
	$(PY) -m mypy
	$(PY) -m repo_review . --show err

suite: $(VENV)/.dev
	$(PY) -m pytest -n auto --dist worksteal -m "not slow and not simulators and not browser"

test: style suite ## lint, format and the quick tests; `make types` checks the types

test-all: check $(VENV)/.everything ## the slow tests too, the simulators' and those in Chromium where installed
	$(PY) -m pytest -n auto --dist worksteal

# Another part of the slow tests each day. DATE=2026-01-31 repeats the order of that day.
DATE ?= $(shell date +%F)
SLICE_SECONDS ?= 60

slow-slice: $(VENV)/.dev ## slow tests for one to two minutes, drawn by the date; DATE=YYYY-MM-DD repeats a draw
	$(PY) -m pytest -n auto --dist worksteal --slice-date $(DATE) --slice-seconds $(SLICE_SECONDS) \
		-m "slow and not simulators and not browser and not network and not longest"

# Another order each call. SEED=N repeats one.
SEED ?= $(shell date +%s)

test-random: $(VENV)/.dev ## the quick tests in random order; SEED=N repeats one
	$(PY) -m pytest -n auto --dist worksteal --random-order $(SEED) -m "not slow and not simulators and not browser"

# Side by side: mypy runs in one process.
types-and-slice: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs=2 types slow-slice

# The first of 40 seeds of random networks: another one each day. FIRST_SEED=... repeats a draw.
FIRST_SEED ?= $(shell date +%y%m%d)00

test-simulators: $(VENV)/.dev ## the tests that need ns-2 or ns-3, and 40 new random networks in ns-2
	@command -v ns >/dev/null || echo "ns-2 is not installed, its tests are skipped: \`make data-tools\` installs it"
	@echo "40 random networks; to repeat this draw: make test-simulators FIRST_SEED=$(FIRST_SEED)"
	HOPFLOW_FIRST_SEED=$(FIRST_SEED) $(PY) -m pytest -n auto --dist worksteal -m simulators

native: $(VENV)/.dev ## the quick tests that compile congestion control in C and Rust
	$(PY) -m pytest -n auto --dist worksteal -m "compilers and not slow"

generated: $(VENV)/.dev ## write what is made from the code: index of rules, stubs, closed forms, records of tests, tables of the documentation
	$(PY) -m responsefn.rule_index
	$(PY) -m responsefn.print_formulas
	$(PY) -m tests.responsefn.test_rule_walks
	$(PY) -m tests.hopflow.test_recorded_answers
	$(PY) -m tests.responsefn.test_recorded_cycles
	$(PY) -m tests.responsefn.test_recorded_output
	$(PY) -m tests.responsefn.measurements.test_damaged_files
	$(PY) docs/generated.py

docs: $(VENV)/.docs ## build docs/_build/html
	$(PY) -m sphinx -b html --fail-on-warning --keep-going docs docs/_build/html

wheel: $(VENV)/.dev ## build dist/hopflow-*.whl
	$(PY) -m hopflow.kernels.build # with a line per unit, which pip would hide
	PIP_CONSTRAINT=constraints.txt $(PY) -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .

wheels: $(VENV)/.dev ## build dist/hopflow-*.whl for Linux on x86-64 and on arm64, with object code
	HOPFLOW_LEVELS="x86-64-v3 x86-64-v2" $(PIP) wheel --no-deps --wheel-dir dist .
	HOPFLOW_LEVELS="aarch64" $(PIP) wheel --no-deps --wheel-dir dist .

bench: $(VENV)/.bench ## side by side with peers; writes benchmarks/results/<machine>.json
	$(PY) -m benchmarks.scale
	$(PY) -m benchmarks --save

bench-quick: $(VENV)/.bench ## the suites that take minutes
	$(PY) -m benchmarks --quick

bench-check: $(VENV)/.bench ## the same, and fail below a floor of ratios or above a budget of instructions
	$(PY) -m benchmarks.budgets
	$(PY) -m benchmarks --quick --check

# The programs that solve the same chains have an environment of their own, beside this checkout's code.
PEERS := .venv-peers
PEERS_PIP := $(PEERS)/bin/python -m pip --disable-pip-version-check --no-input --quiet install

bench-peers: $(PEERS)/.complete ## the same chains, solved by seven other programs
	$(PEERS)/bin/python -m benchmarks.peers

$(PEERS)/.complete: benchmarks/peers/requirements.txt
	rm -rf $(PEERS)
	$(PYTHON) -m venv $(PEERS)
	@echo "installing the peers into $(PEERS)"
	@$(PEERS_PIP) --requirement benchmarks/peers/requirements.txt
	@$(PEERS_PIP) --no-deps PyDTMC==8.7.0
	@touch $@

# Only for rebuilding the bundled evidence; users and tests never need the simulators.
NS3 := .venv-data
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)

data-tools: $(NS3)/.ns3 ## install ns-2 (Debian) and ns-3 (headers and libraries) for `make data`
	command -v ns >/dev/null || { $(SUDO) apt-get update && $(SUDO) apt-get install --yes ns2; }
	command -v g++ >/dev/null || $(SUDO) apt-get install --yes g++

$(NS3)/.ns3:
	rm -rf $(NS3)
	$(PYTHON) -m venv $(NS3)
	$(NS3)/bin/python -m pip --disable-pip-version-check --no-input --quiet install --no-deps ns3==3.44.post0
	@touch $@

data: $(VENV)/.user data-tools ## rebuild validation/data with the simulators, continuing where an earlier call stopped
	$(PY) -m validation.generate --all

clean: ## remove everything that was built
	rm -rf $(VENV) $(NS3) $(PEERS) build dist report docs/_build docs/reference .mypy_cache .ruff_cache .pytest_cache
