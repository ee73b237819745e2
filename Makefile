# Everything a newcomer needs: `make demo`, `make test`, `make test-all`. Each sets itself up in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint types layers unit wheel clean

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/traindyno throughput --model torchvision:mobilenet_v3_small --image-size 64 --classes 10 \
		--batch-size 1..64 --repeats 2 --trial-seconds 2s --name demo-$$(date +%Y%m%d-%H%M%S) --no-report \
		--export-json .traindyno-demo.json --store traindyno.db
	$(BIN)/traindyno plan --from $$($(BIN)/python -c 'import json; print(json.load(open(".traindyno-demo.json"))["study"])') \
		--examples 50000 --epochs 10 --store traindyno.db

test: $(READY) lint types layers unit

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/python -m pytest

test-all: $(READY) lint types layers
	$(BIN)/python -m pytest --slow

wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
