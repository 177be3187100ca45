# Every command sets up what it needs, once, and again only when requirements change.
# It needs make and Python >= 3.11; the logic is in local/setup.

SHELL := /bin/sh
.DEFAULT_GOAL := help

PY := .venv/bin/python
# jsii (the CDK's engine) runs on the node of a wheel: none has to be installed.
export JSII_NODE := $(CURDIR)/.venv/bin/node
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

# The set-up runs on .venv's interpreter once there is one, before that on the
# first one that is new enough.
define set_up
@for python in $(PY) $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then exec $$python -m local.setup $(1); fi; \
done; \
echo "set-up: want Python 3.11 or newer: none of python3, python3.13, python3.12, python3.11 is" >&2; \
exit 1
endef

.PHONY: help setup deps lock sdks test prove up down demo synth bench crash-matrix clean

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

setup:  ## make .venv, .venv-engine and the functions' dependencies (done by every command)
	$(call set_up)

deps: setup  ## build the functions' dependencies into .build (part of setup)

lock:  ## take the newest versions that the pins allow
	$(call set_up,lock)

sdks: setup
	$(call set_up,sdk)

test: sdks  ## prove everything, offline, in a size for every day
	@$(PY) -m local.proofs

prove: sdks  ## the same proofs in full size
	@$(PY) -m local.proofs --full

up: setup  ## the whole system on this machine, kept running
	@$(PY) -m local up

down: setup  ## stop it and leave nothing but .local/logs
	@$(PY) -m local down

demo: setup  ## the whole system up, a story played through it and checked, then down
	@$(PY) -m local demo

synth: setup  ## write the CloudFormation template into cdk.out
	@$(PY) app.py
	@echo "written: cdk.out/Bellhop.template.json"

bench:  ## measure against the floors, as ratios
	$(call set_up,bench)
	@$(PY) -m bench

crash-matrix: setup  ## kill the worker between any two AWS calls and look for one effect
	@$(PY) -m pytest tests/e2e -m crash_matrix --prove

clean:  ## remove all that these commands made
	@if [ -e .local/stack.json ]; then $(PY) -m local down; fi
	rm -rf .venv .venv-engine .venv-sdk .venv-bench .build .local cdk.out .hypothesis .mypy_cache .ruff_cache .pytest_cache bellhop.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
