# Two commands: `make verdicts` judges the headline claims, `make test` checks everything.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install verdicts test results bundle clean

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
	$(BIN)/pytest -n auto --maxprocesses 2 --dist worksteal

# The last full judgement, committed, and the README's table made from it
results: install
	$(BIN)/ontogeny judge all --json results/verdicts.json
	$(BIN)/ontogeny readme results/verdicts.json README.md

# The charts' library, as the package carries it; needs Node
bundle:
	cd bundle && npm install --no-package-lock && npm run build

clean:
	rm -rf .venv .ontogeny report
