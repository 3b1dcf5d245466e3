# PolarLab: `make demo` and `make test` do all of their own set-up.

VENV := .venv/bin
POLARLAB := $(VENV)/polarlab
# Set-up and fabrics need root; where we are not, sudo asks for it.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: setup demo test vm-test lint bench clean

setup:
	@$(SUDO) vagrant/provision.sh

# ER_5 with two hosts a router: the graph, the proof, a run, and a tornado under minimal and adaptive
# routing, side by side. The results stay in results/.
demo: setup
	$(POLARLAB) topology polarfly --q 5 --hosts 2
	$(POLARLAB) verify polarfly --q 5 --hosts 2 --routing min
	$(SUDO) $(POLARLAB) run polarfly --q 5 --hosts 2 --link-rate 500kbit --pattern uniform --load 0.4 \
		--duration 5
	$(SUDO) $(POLARLAB) sweep polarfly --q 5 --hosts 2 --link-rate 300kbit --routings min,ugal-pf \
		--patterns tornado --loads 0.6 --warmup 8 --duration 5 --out results/demo-$$(date +%Y%m%d-%H%M%S)

test:
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) $(VENV)/python -m pytest -q -n auto tests/unit
	@$(SUDO) $(VENV)/python -m pytest --durations=15 tests/fabric

# The kernel's datapath, in a virtual machine that this makes; TESTS="..." runs other tests in it.
vm-test:
	@$(SUDO) vagrant/provision.sh vm-test
	@$(SUDO) $(VENV)/python tests/vm $(TESTS)

lint: setup
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
	@$(VENV)/lint-imports --no-logo
	@$(VENV)/codespell

bench: setup
	@$(SUDO) $(VENV)/python tests/bench $(ROWS)

clean:
	@if [ -x $(POLARLAB) ]; then $(SUDO) $(POLARLAB) clean; fi
	@rm -rf build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
