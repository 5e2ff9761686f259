# Everything a person or CI runs. Set-up happens inside the targets, into .tools/.
CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

# Every test target names the workspace, so that all of them share one build.
# nextest where it is installed, cargo's own runner elsewhere.
TEST := $(shell $(CARGO) nextest --version >/dev/null 2>&1 && echo 'nextest run' || echo test)

.DEFAULT_GOAL := help
.PHONY: help run check test nextest test-api faults damage browser office screenshots bench eval mutations fuzz model postgres

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: model ## the product on this machine: http://127.0.0.1:8470
	$(CARGO) run --release --locked -p gristmill-app -- serve

check: ## formatting, and clippy with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

test: model postgres ## everything, set-up included
	-scripts/fetch-browser
	-scripts/fetch-office
	@[ "$(TEST)" != test ] || echo "nextest is not here: cargo's own runner is used (make nextest installs it)"
	$(CARGO) $(TEST) --workspace --locked

nextest: ## installs the runner that make test prefers
	$(CARGO) install --locked cargo-nextest

test-api: ## the served OpenAPI description against the server, with schemathesis
	scripts/test-api

faults: model postgres ## hundreds of seeds of failing seams, kills and power cuts
	GRISTMILL_FAULT_SEEDS=500 $(CARGO) test --workspace --locked --test faults -- --nocapture
	GRISTMILL_FAULT_DOCUMENTS=1000 $(CARGO) test --workspace --locked --test it -- cancel:: crash::

damage: ## damages a data folder in 200 drawn ways: verify names each, repair mends it
	GRISTMILL_DAMAGES=200 $(CARGO) test --workspace --locked --test it every_damage -- --nocapture

browser: ## the pages in headless Chromium, used as people use them
	scripts/fetch-browser
	GRISTMILL_BROWSER=needed $(CARGO) $(TEST) --workspace --locked --test it browser::

office: ## page images of DOCX by LibreOffice, which make test tries where it is installed
	scripts/fetch-office
	GRISTMILL_OFFICE=needed $(CARGO) $(TEST) --workspace --locked --test print --test it libreoffice

screenshots: ## every page, light and dark, desktop and phone, into screenshots/
	scripts/fetch-browser
	GRISTMILL_BROWSER=needed GRISTMILL_SCREENSHOTS=$(CURDIR)/screenshots \
		$(CARGO) $(TEST) --workspace --locked --test it -- browser::every_page browser::letters

bench: model ## figures: a table, and JSON lines in bench/out/ (TOPICS=thread for a few)
	@# Together: apart they ask for other features, and the stores would be compiled twice.
	$(CARGO) build --release --locked -p gristmill-app -p gristmill-bench
	$${CARGO_TARGET_DIR:-target}/release/gristmill-bench $(TOPICS)

eval: ## scores the parsers on ../shared/eval, where that is there
	scripts/eval

mutations: ## 5,000 damaged files through the sandbox, and real PDFs where the bench fetched some
	$(CARGO) run --release --locked -p gristmill-sandbox --example mutations -- 5000 $(wildcard .tools/pdfs)

fuzz: ## fuzzes each parser for SECONDS (60); fetches cargo-fuzz
	scripts/fuzz $(or $(SECONDS),60)

model: ## fetches the embedding weights once, by name, with their hash pinned
	scripts/fetch-model

postgres: ## fetches PostgreSQL with pgvector for the tests, by name
	scripts/fetch-postgres
