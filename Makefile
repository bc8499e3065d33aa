# The commands of Slipway. Cargo does the work; this file only gives it short names.

CARGO ?= cargo
CARGO_TARGET_DIR ?= target
# `make up` starts the quick build: it shares what `make test` builds, and is ready in a third of the time.
QUICK = $(CARGO_TARGET_DIR)/debug/slipway
FAST = $(CARGO_TARGET_DIR)/release/slipway
# Further arguments for `make up` and `make bench`, as in: make bench ARGS="--help"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help up test bench build release

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

up: build ## Start the whole landscape on this machine; Ctrl-C stops it, its data stays
	@exec $(QUICK) up $(ARGS)

test: ## Check format, lints and house rules, and run all tests
	@$(CARGO) xtask ci

bench: release ## Measure the engine and print the figures as JSON
	@exec $(FAST) bench engine $(ARGS)

build: ## Build the binary quickly, for trying and developing
	$(CARGO) build -p slipway

release: ## Build the fast binary, for production and figures
	$(CARGO) build --release -p slipway
