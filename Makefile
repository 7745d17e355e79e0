# Names for the project's commands. Settings live in pyproject.toml; what an environment holds, in requirements/.

PY       := .venv/bin/python
SITE_DIR ?= site
SITE_URL ?=
JOBS     ?= 2
ARGS     ?=

export PYTHON

.DEFAULT_GOAL := help
.PHONY: help site serve validate test unit lint format docs bench sources checkpoints lock browser clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

site: ## build the whole site into site/
	@sh tools/venv.sh site
	@PYTHON=$(PY) sh tools/sources.sh
	@.venv/bin/rooflight build --out $(SITE_DIR) --jobs $(JOBS) $(if $(SITE_URL),--site-url '$(SITE_URL)')
	@echo "Built $(SITE_DIR)/. View it with: make serve (or .venv/bin/rooflight serve)"

serve: ## show site/ in a browser on this machine
	@sh tools/venv.sh site
	@.venv/bin/rooflight serve $(ARGS)

validate: sources ## hold every spec against facts outside the project (ARGS=ORG/NAME for one)
	@.venv/bin/rooflight validate $(ARGS)

test: lint sources checkpoints ## lint, types, architecture and all tests
	@$(PY) -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

unit: ## the quick tests only: no browser, nothing slow
	@sh tools/venv.sh test
	@$(PY) -m pytest -n $(JOBS) --dist loadgroup -m "not slow and not browser and not large" $(ARGS)

lint: ## ruff, basedpyright and the room contracts
	@sh tools/venv.sh test
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m basedpyright --pythonpath $(PY)
	@.venv/bin/lint-imports

format: ## let ruff format the code and apply its safe fixes
	@sh tools/venv.sh test
	@$(PY) -m ruff check --fix
	@$(PY) -m ruff format

docs: ## write the generated parts of docs/ and README.md again
	@sh tools/venv.sh test
	@$(PY) tools/docs_tables.py $(ARGS)
	@$(PY) tools/guards_table.py $(ARGS)

bench: ## measure, with a time per model (reports, gates nothing)
	@sh tools/venv.sh test
	@$(PY) -m pytest tests/bench -m bench -s $(ARGS)

sources: ## fetch the pinned texts that specs quote from, to be read only
	@sh tools/venv.sh test
	@PYTHON=$(PY) sh tools/sources.sh

checkpoints: ## fetch the small real checkpoint that tests read (LARGE=1 for the 83 MB one too)
	@sh tools/venv.sh test
	@PYTHON=$(PY) sh tools/checkpoints.sh

lock: ## resolve pyproject.toml into requirements/*.txt again (UPGRADE=1 for newer versions)
	@sh tools/lock.sh

browser: ## install Chromium for the browser tests where there is none (Debian, as root)
	@sh tools/browser.sh

clean: ## remove what these commands made
	rm -rf .venv .sources .checkpoints site build dist .cache .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	find engine builder tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
