# The commands of Slipway. Cargo does the work; this file only gives it short names.

CARGO ?= cargo
CARGO_TARGET_DIR ?= target
SLIPWAY = $(CARGO_TARGET_DIR)/release/slipway
# Further arguments for `make up` and `make bench`, as in: make bench ARGS="--help"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help up test bench build

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

up: build ## Start the whole landscape on this machine; Ctrl-C stops it, its data stays
	@exec $(SLIPWAY) up $(ARGS)

test: ## Check format, lints and house rules, and run all tests
	@$(CARGO) xtask ci

bench: build ## Measure the engine and print the figures as JSON
	@exec $(SLIPWAY) bench engine $(ARGS)

build: ## Build the release binary
	$(CARGO) build --release -p slipway
