# Everything a newcomer needs: `make demo`, `make test`, `make test-all`. Each sets itself up in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two at once, each with one thread: threads of several processes on few cores spin and slow each other down.
PARALLEL ?= 2
# Bytecode is kept whatever the environment says: each command and each trial is a process that would compile it anew.
PYTEST = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(PARALLEL) --dist worksteal

# As root, or where sudo asks for no password, and not for long; the tests that need a server are else skipped.
ROOT = $(if $(filter 0,$(shell id -u)),,sudo -n)
APT = timeout 120 $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=20

.PHONY: demo test test-all lint types layers unit postgresql wheel clean

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/traindyno find

test: $(READY) lint types layers unit

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY) postgresql
	$(PYTEST)

test-all: $(READY) lint types layers postgresql
	$(PYTEST) --slow

postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { command -v apt-get && $(APT) update && \
	$(APT) install -y --no-install-recommends postgresql; } >/dev/null 2>&1 || \
	echo "PostgreSQL could not be installed: the tests that need a server are skipped"

wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
