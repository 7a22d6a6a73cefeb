# SPDX-License-Identifier: GPL-3.0-or-later
# Development tasks of hpc.onboard. Run `make` to list all targets.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAGES := check unit sanity integration packages

.PHONY: help demo test exhaustive bench generate transcripts docs format clean lock locked release oldest $(STAGES)

help: ## List all targets
	@awk -F ':.*## ' '/^[a-z]+: .*## / { printf "    make %-14s %s\n", $$1, $$2 }' Makefile
	@printf "    make %-14s Run one stage of the tests: $(STAGES)\n" STAGE

demo: $(VENV)/installed ## Set up a sandbox account and let it drift
	@tools/demo

test: $(VENV)/installed-test debian-packages ## Run the tests that every change must pass: 10 minutes on two cores
	@$(BIN)/python tools/stages.py $(STAGES)

exhaustive: $(VENV)/installed-test debian-packages ## Run all test cases, also with other versions of Python and ansible-core: takes a night
	@HPC_ONBOARD_EXHAUSTIVE=1 $(BIN)/python tools/stages.py $(STAGES) oldest

$(STAGES) oldest: $(VENV)/installed-test
	@$(BIN)/python tools/stages.py $@

bench: $(VENV)/installed-test $(VENV)/installed-bench debian-packages ## Measure the cost against a bare connection and other tools
	@$(BIN)/python -m tests.bench $(if $(ROUNDS),--rounds $(ROUNDS))

generate: $(VENV)/installed-test ## Write the files that are generated from code
	@$(BIN)/python tools/generate.py

transcripts: $(VENV)/installed-test debian-packages ## Record the screens on the documentation pages again: needs root, six minutes
	@unshare -m sh -c 'mount -t tmpfs -o mode=1777 transcripts /tmp && for tool in init adoption logins; do \
		$(BIN)/python tools/record_$$tool.py || exit; done'

docs: $(VENV)/installed-docs ## Build the documentation site in build/site, offline, and check its links
	@$(BIN)/python -m tools.build_site build/site
	@echo "Open build/site/index.html"

format: $(VENV)/installed-test ## Format all Python files, and fix what ruff can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

locked: | $(BIN)/activate ## Install exactly the packages in tools/constraints.txt, verified by checksum
	@$(BIN)/pip install -qq --require-hashes -r tools/constraints.txt
	@$(BIN)/pip install -qq --no-deps -e .
	@touch $(VENV)/installed $(VENV)/installed-test

lock: $(VENV)/installed-release ## Write tools/constraints.txt again, with the newest compatible packages
	@mkdir -p .cache && head -2 tools/constraints.txt > .cache/constraints.txt
	@$(BIN)/pip-compile -q --upgrade --generate-hashes --extra test --strip-extras --allow-unsafe --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links -o - pyproject.toml >> .cache/constraints.txt
	@mv .cache/constraints.txt tools/constraints.txt

release: $(VENV)/installed-release $(VENV)/installed-docs ## Build packages, checksums, bill of materials and site; check for known vulnerabilities (network)
	@rm -rf dist .cache/release
	@$(BIN)/python -m tools.build_packages dist
	@$(BIN)/python -m tools.build_site dist/site
	@$(BIN)/python -m venv .cache/release
	@.cache/release/bin/pip install -qq dist/*.whl
	@$(BIN)/cyclonedx-py environment .cache/release/bin/python --output-reproducible --validate -o dist/hpc-onboard.cdx.json
	@$(BIN)/pip freeze --path "$$(echo .cache/release/lib/python*/site-packages)" --exclude hpc-onboard --exclude pip \
		> .cache/release/installed.txt
	@$(BIN)/pip-audit --strict --no-deps --disable-pip -r .cache/release/installed.txt

clean: ## Remove everything that `make` and the tests created, including the sandbox accounts
	rm -rf $(VENV) .cache .ansible build dist inventory/.sandbox .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: debian-packages
debian-packages:
	@tools/debian-packages

integration oldest: debian-packages

# The virtual environment uses the newest Python that ansible-core supports and that works here. The files
# $(VENV)/installed* record what is installed, so that `make` installs nothing twice.
$(BIN)/activate:
	@python=$$(tools/find-python 3.14 3.13 3.12 3.11) && echo "Creating $(VENV) with $$python" && "$$python" -m venv $(VENV)

$(VENV)/installed: pyproject.toml galaxy.yml | $(BIN)/activate
	@echo "Installing hpc.onboard in $(VENV)"
	@$(BIN)/pip install -qq -e .
	@touch $@

$(VENV)/installed-%: pyproject.toml galaxy.yml | $(BIN)/activate
	@echo "Installing hpc.onboard in $(VENV), with the packages for \"make $*\""
	@$(BIN)/pip install -qq -e '.[$*]'
	@touch $@ $(VENV)/installed
