# Thin wrappers: everything here can be typed by hand, see README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# A server would compile itself at every start, which takes it a third longer.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test quick prove test-cluster test-sentinel unit bench soak long lint format lock audit sbom keys timings clean

run: $(VENV)/run.stamp  ## install if needed, start ThreadKit on http://localhost:8080
	$(BIN)/threadkit serve $(ARGS)

test: lint  ## everything but what is slow by nature, in six minutes on two cores
	$(BIN)/pytest -n auto $(ARGS)

quick: $(VENV)/dev.stamp  ## the unit tests, and the integration tests of what changed since main, in forty seconds
	$(BIN)/python -m tests.quick $(ARGS)

timings: $(VENV)/dev.stamp  ## take what the last whole runs cost for the record that later ones are compared with
	$(BIN)/python -m tests.timings

test-cluster: $(VENV)/dev.stamp  ## the tests that use the store, on a cluster of three primaries with a replica each
	THREADKIT_TEST_STORE=cluster $(BIN)/pytest -n auto tests/integration tests/property $(ARGS)

test-sentinel: $(VENV)/dev.stamp  ## the same behind three sentinels
	THREADKIT_TEST_STORE=sentinel $(BIN)/pytest -n auto tests/integration tests/property $(ARGS)

unit: $(VENV)/dev.stamp  ## only the tests that touch nothing outside Python
	$(BIN)/pytest tests/unit $(ARGS)

bench: $(VENV)/dev.stamp  ## the design's figures beside their floors; ARGS="--quick", "--only read,vote", "--million"
	$(BIN)/python -m tests.bench $(ARGS)

prove: $(VENV)/dev.stamp  ## what is slow by nature, and what was seen of each goal of docs/proof.md; ARGS=3/7 for one part of seven
	$(BIN)/python -m tests.prove $(ARGS)

long: $(VENV)/dev.stamp  ## tests in their long form, one at a time: make long ARGS=tests/faults
	THREADKIT_SOAK=1 $(BIN)/pytest -n 0 -s $(ARGS)

soak: $(VENV)/dev.stamp  ## half an hour of mixed traffic in which nothing may grow; ARGS="--minutes 5"
	$(BIN)/python -m tests.soak $(ARGS)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

keys: $(VENV)/run.stamp  ## write threadkit/storage/KEYS.md from the key registry
	$(BIN)/threadkit keys --markdown > threadkit/storage/KEYS.md

lock: $(VENV)/dev.stamp  ## freeze the dependencies, with hashes and without addresses
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra dev pyproject.toml -o requirements-dev.lock

# It lives apart, so that nothing it needs is taken for ours. Error 3: no database could be asked, nor a copy of one.
ADVISORIES ?= advisories.zip
audit: $(VENV)/dev.stamp  ## are holes known in what requirements.lock names?
	-@test -x $(VENV)/audit/bin/pip-audit || ($(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install --quiet pip-audit)
	$(BIN)/python -m tests.audit $(VENV)/audit/bin/pip-audit requirements.lock $(ADVISORIES)

sbom: $(VENV)/run.stamp  ## everything ThreadKit runs with, as CycloneDX, in dist/threadkit.cdx.json
	@mkdir -p dist
	$(BIN)/threadkit version --sbom --lock requirements.lock > dist/threadkit.cdx.json

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps -e .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python requirements-dev.lock pyproject.toml
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --no-deps -e .
	@touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
