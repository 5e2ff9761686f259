# Everything a person or CI runs. Set-up happens inside the targets.
CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: check test bench
check: ## formatting, and clippy with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

test: ## everything, set-up included
	scripts/fetch-postgres
	$(CARGO) test --workspace --locked

bench: ## figures: a table, and JSON lines in bench/out/
	$(CARGO) run --release --locked -p gristmill-bench --
