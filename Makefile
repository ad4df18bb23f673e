# Two commands: `make verdicts` judges the headline claims, `make test` checks everything.
PYTHON ?= python3
PYTHON_OLDEST ?= python3.11
JOBS ?= 2
# One more than this machine's least: a third of the tests wait for other processes
TESTERS ?= 3
# The newest that runs: a name on the path may lead nowhere
PYTHON_NEWEST ?= $(shell for minor in 16 15 14 13 12 11; do \
	python3.$$minor -c "" 2>/dev/null && echo python3.$$minor && break; done)
BIN := .venv/bin

.PHONY: install verdicts test smoke test-oldest test-newest dist exports results bundle clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[theory]'
	touch $@

.venv/tested: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

verdicts: install
	$(BIN)/ontogeny judge
	$(BIN)/ontogeny report --out report

test: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(TESTERS) --dist worksteal

# The core tests: all but those that need torch, ray, a browser or what builds a release, and the attacks, which take minutes
NOT_CORE := attacks bench llm scorecard engine/pools/test_cluster.py report/test_browser.py test_wheel.py
CORE := tests $(NOT_CORE:%=--ignore tests/%)
PYTEST_CORE = -m pytest -n $(JOBS) --dist worksteal $(CORE)

# At both ends of the ranges in pyproject.toml, each time in a new environment
test-oldest:
	$(PYTHON_OLDEST) -m venv --clear .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[theory,core-test]'
	.venv-oldest/bin/python $(PYTEST_CORE)

test-newest:
	$(PYTHON_NEWEST) -m venv --clear .venv-newest
	.venv-newest/bin/pip install --quiet --disable-pip-version-check -e '.[theory,core-test]'
	.venv-newest/bin/pip list --disable-pip-version-check
	.venv-newest/bin/python $(PYTEST_CORE)

# Every claim from end to end, in a few steps: it decides nothing, and fails if one cannot be run
smoke: .venv/tested
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(BIN)/ontogeny judge all --scale smoke --seeds 2 --store $$(mktemp -d)

# The source distribution and the wheel, as a package index takes them
dist: .venv/tested
	rm -rf dist build
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

# What `import ontogeny` gives, after a component came, went or moved
exports: .venv/installed
	$(BIN)/python tools/exports.py

# The last full judgement, committed, docs/verdicts.md and the README's tally made from it: two and a half hours on two cores, resumable.
# With a pretrained model here (ontogeny models get smollm2-135m) and ONTOGENY_WIKITEXT set, all claims are judged
results: .venv/tested
	$(BIN)/ontogeny judge all --json results/verdicts.json
	$(BIN)/ontogeny write-verdicts results/verdicts.json

# The charts' library, as the package carries it; needs Node
bundle:
	cd bundle && npm install --no-package-lock && npm run build

clean:
	rm -rf .venv .venv-oldest .venv-newest .ontogeny build dist report
