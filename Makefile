# make demo   sets up and runs the main job
# make test   sets up and passes the tests
# make lint   sets up and runs ruff and mypy

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint schema bench minio clean

demo: .venv/ready
	$(BIN)/tailcast demo

test: .venv/ready
	$(BIN)/python -m pytest -q -m "not clock" -n 2 --dist loadfile
	$(BIN)/python -m pytest -q -m clock

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The JSON schema of spec files, for editors.
schema: .venv/ready
	$(BIN)/python -c 'import json; from models.spec import json_schema; print(json.dumps(json_schema(), indent=1))' \
	  > docs/spec.schema.json

bench: .venv/ready
	$(BIN)/python benchmarks/engines.py

# A live MinIO for the demo and the live tests: some ten minutes of compiling, once.
minio: .venv/ready
	$(BIN)/tailcast lab install minio

# Debian's python3 comes without the venv module's pip.
.venv/ready: pyproject.toml
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || (apt-get update -qq && apt-get install -y -qq python3-venv)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	touch $@

clean:
	rm -rf .venv out build *.egg-info
