# SPDX-License-Identifier: GPL-3.0-or-later
# The house of hpc.onboard. "make" alone lists what it can do.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAGES := check unit sanity integration packages

.PHONY: help demo test exhaustive bench generate transcripts docs format clean lock locked release oldest $(STAGES)

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z]+: .*## / { printf "    make %-14s %s\n", $$1, $$2 }' Makefile
	@printf "    make %-14s Run one stage of the tests: $(STAGES)\n" STAGE

demo: $(VENV)/installed ## Set everything up and show on a sandbox account what is done
	@tools/demo

test: $(VENV)/installed-test debian-packages ## Set everything up and pass the tests: 11 minutes on two cores
	@$(BIN)/python tools/stages.py $(STAGES)

exhaustive: $(VENV)/installed-test debian-packages ## Every moment, every fault, every version: for a night
	@HPC_ONBOARD_EXHAUSTIVE=1 $(BIN)/python tools/stages.py $(STAGES) oldest

$(STAGES) oldest: $(VENV)/installed-test
	@$(BIN)/python tools/stages.py $@

bench: $(VENV)/installed-test $(VENV)/installed-bench debian-packages ## Measure the whole against a bare connection and other tools
	@$(BIN)/python -m tests.bench $(if $(ROUNDS),--rounds $(ROUNDS))

generate: $(VENV)/installed-test ## Write the files that are generated from code
	@$(BIN)/python tools/generate.py

transcripts: $(VENV)/installed-test debian-packages ## Record the transcripts on the pages again; as root, six minutes
	@unshare -m sh -c 'mount -t tmpfs -o mode=1777 transcripts /tmp && for tool in init adoption logins; do \
		$(BIN)/python tools/record_$$tool.py || exit; done'

docs: $(VENV)/installed-docs ## Build the documentation site into build/site, offline, and check its links
	@$(BIN)/python -m tools.build_site build/site
	@echo "Open build/site/index.html"

format: $(VENV)/installed-test ## Put all Python into the house's format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

locked: | $(BIN)/activate ## Install the very packages of tools/constraints.txt, by their sums, to work on this
	@$(BIN)/pip install -qq --require-hashes -r tools/constraints.txt
	@$(BIN)/pip install -qq --no-deps -e .
	@touch $(VENV)/installed $(VENV)/installed-test

lock: $(VENV)/installed-release ## Make tools/constraints.txt anew, with the newest packages that fit
	@mkdir -p .cache && head -2 tools/constraints.txt > .cache/constraints.txt
	@$(BIN)/pip-compile -q --upgrade --generate-hashes --extra test --strip-extras --allow-unsafe --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links -o - pyproject.toml >> .cache/constraints.txt
	@mv .cache/constraints.txt tools/constraints.txt

release: $(VENV)/installed-release $(VENV)/installed-docs ## Build packages, sums, bill of materials and site; ask for known faults (network)
	@rm -rf dist .cache/release
	@$(BIN)/python -m tools.build_packages dist
	@$(BIN)/python -m tools.build_site dist/site
	@$(BIN)/python -m venv .cache/release
	@.cache/release/bin/pip install -qq dist/*.whl
	@$(BIN)/cyclonedx-py environment .cache/release/bin/python --output-reproducible --validate -o dist/hpc-onboard.cdx.json
	@$(BIN)/pip freeze --path "$$(echo .cache/release/lib/python*/site-packages)" --exclude hpc-onboard --exclude pip \
		> .cache/release/installed.txt
	@$(BIN)/pip-audit --strict --no-deps --disable-pip -r .cache/release/installed.txt

clean: ## Take out all that was made here, the sandbox accounts too
	rm -rf $(VENV) .cache .ansible build dist inventory/.sandbox .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: debian-packages
debian-packages:
	@tools/debian-packages

integration oldest: debian-packages

# The environments. The newest Python that ansible-core supports is found by running it; the stamps make a second "make"
# quick.
$(BIN)/activate:
	@python=$$(tools/find-python 3.14 3.13 3.12 3.11) && echo "Making $(VENV) with $$python" && "$$python" -m venv $(VENV)

$(VENV)/installed: pyproject.toml galaxy.yml | $(BIN)/activate
	@echo "Installing hpc.onboard into $(VENV)"
	@$(BIN)/pip install -qq -e .
	@touch $@

$(VENV)/installed-%: pyproject.toml galaxy.yml | $(BIN)/activate
	@echo "Installing hpc.onboard into $(VENV), with what \"make $*\" needs"
	@$(BIN)/pip install -qq -e '.[$*]'
	@touch $@ $(VENV)/installed
