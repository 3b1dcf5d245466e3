# PolarLab: `make help` lists the targets; `make demo` and `make test` do all of their own set-up.

VENV := .venv/bin
POLARLAB := $(VENV)/polarlab
# Set-up and fabrics need root; where we are not, sudo asks for it.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
# Byte code is kept wherever this runs: else each of the hundreds of processes of the tests compiles the code.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup dev lock demo test test-all test-frameworks test-pythons mutations fuzz vm-test lint bench docs keys stubs messages digests benchmarks package clean help

setup: ## programs, kernel settings and the environment .venv/ with the command
	@$(SUDO) vagrant/provision.sh

# After a change of the requirements in setup.cfg, and to take newer versions. Some minutes.
lock: ## vagrant/requirements.lock: the newest versions that setup.cfg admits, with the hashes of their files
	@/usr/bin/python3 -m venv --clear build/lock
	@build/lock/bin/pip install -qq --disable-pip-version-check pip-tools
	@CUSTOM_COMPILE_COMMAND="make lock" build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe \
		--strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-config \
		$(foreach extra,ryu test notebooks cluster docs,--extra $(extra)) \
		--output-file vagrant/requirements.lock pyproject.toml vagrant/requirements.in

# What `lint`, `mutations` and `package` need beside.
dev:
	@$(SUDO) vagrant/provision.sh dev

# ER_5 with two hosts a router: the graph, the proof, a run, and a tornado under minimal and adaptive
# routing, side by side. The results stay in results/.
demo: setup ## graph, proof, a run, and a sweep of two routings
	$(POLARLAB) topology polarfly --q 5 --hosts 2
	$(POLARLAB) verify polarfly --q 5 --hosts 2 --routing min
	$(SUDO) $(POLARLAB) run polarfly --q 5 --hosts 2 --link-rate 500kbit --pattern uniform --load 0.4 \
		--duration 5
	$(SUDO) $(POLARLAB) sweep polarfly --q 5 --hosts 2 --link-rate 300kbit --routings min,ugal-pf \
		--patterns tornado --loads 0.6 --warmup 8 --duration 5 --out results/demo-$$(date +%Y%m%d-%H%M%S)

# SELECT chooses tests: `make test` leaves out those that only repeat what others show, `make test-all` does not.
test: SELECT := -m "not slow"
# Some unit tests wait, for shells and for other processes: there is a worker more than processors. Each takes
# whole files, whose tests share what takes long to make; in their order the last ones are short.
UNITS = -n "$$(($$(nproc) + 1))" --dist loadfile --no-loadscope-reorder
# Fabrics wait more than they compute: each worker has a machine of its own, as far as fabrics can tell.
FABRICS = --dist loadgroup --tx "$$(nproc)*popen//python=tests/fabric/machine.sh $(VENV)/python"
test: ## all tests, on real switches as well
test-all: ## the same, and those that repeat them at length
test test-all:
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) $(VENV)/python -m pytest -q $(UNITS) $(SELECT) tests/unit
	@$(SUDO) $(VENV)/python -m pytest -q --durations=15 $(FABRICS) $(SELECT) tests/fabric

# What needs no Mininet works on other versions than Debian's, too.
test-pythons: PYTHONS = python3.12 python3.13
test-pythons: ## unit tests on other versions of Python; PYTHONS="..." names the interpreters
	@tests/pythons.sh $(PYTHONS)

# `make test-frameworks FRAMEWORKS=os-ken` takes only that one.
FRAMEWORKS := ryu os-ken
test-frameworks: SELECT := -m "not slow"
test-frameworks: ## tests of controller and fabrics, all of them under each controller framework
	@$(SUDO) vagrant/provision.sh tests
	@for framework in $(FRAMEWORKS); do \
		python="env POLARLAB_FRAMEWORK=$$framework $(VENV)/python"; \
		echo "controller framework: $$framework"; \
		$(SUDO) $$python -m pytest -q -n auto $(SELECT) tests/unit/controller || exit 1; \
		$(SUDO) $$python -m pytest -q $(FABRICS) $(SELECT) tests/fabric || exit 1; \
	done

# Checks that the tests catch the faults of tests/mutations.toml; ARGS=--fabric adds those that need switches.
mutations: dev ## faults put into copies of the code, each of which the tests must catch
	@$(SUDO) $(VENV)/python tests/mutations.py $(ARGS)

# `make fuzz N=500 SEED=1 ATTACKS="controller"` runs 500 inputs of that one, made from that seed.
fuzz: ## generated attacks; N inputs of each, SEED repeats a run, ATTACKS="..." names some
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) $(VENV)/python tests/fuzz $(if $(N),--count $(N)) $(if $(SEED),--seed $(SEED)) $(ATTACKS)

# The kernel's datapath, in a virtual machine that this makes; TESTS="..." runs other tests in it.
vm-test: ## tests of the kernel datapath, in a virtual machine
	@$(SUDO) vagrant/provision.sh vm-test
	@$(SUDO) $(VENV)/python tests/vm $(TESTS)

lint: dev ## style, types, layers and spelling
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
	@$(VENV)/lint-imports --no-logo
	@$(VENV)/flake8 topology routing traffic/workload traffic/metrics
	@$(VENV)/codespell

bench: ## measurements; ROWS="..." runs only those rows; BEFORE=COMMIT is compared with
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) env $(if $(BEFORE),BEFORE=$(BEFORE)) $(VENV)/python tests/bench $(ROWS)

# Pages that follow from the code are made first, in build/docs/.
docs: ## the documentation as a site, in site/
	@$(SUDO) vagrant/provision.sh docs
	@$(VENV)/python docs/generate/assembly.py
	@PYTHONPATH=docs/generate $(VENV)/python -m zensical build --strict --clean

benchmarks: ## docs/lab/benchmarks.md, from the results that `make bench` left
	@$(VENV)/python docs/generate/benchmarks_page.py results/bench.json

messages: ## tests/data/messages.txt, what is said of wrong use; read the difference
	@$(VENV)/python tests/messages.py

stubs: ## polarlab/api/keyword_types.pyi, the types of keywords, made of the options
	@$(VENV)/python docs/generate/keyword_types.py > polarlab/api/keyword_types.pyi.new && mv polarlab/api/keyword_types.pyi.new polarlab/api/keyword_types.pyi

# Needed after each change of the code of routings, simulator or traffic that leaves the numbers as they are.
digests: ## experiments/papers/kept_code.csv, by which kept points stay valid; refuses if numbers have changed
	@$(VENV)/python tests/digests.py

keys: ## docs/reference/keys.md, the meaning of all keys and columns of results
	@$(VENV)/python -m experiments.report.keys > docs/reference/keys.md.new && mv docs/reference/keys.md.new docs/reference/keys.md

# The source archive is made first, and the wheel from it: what the archive lacks, the wheel lacks as well.
# For a release, setup.cfg, CITATION.cff and CHANGELOG.md get its version (a test compares them), and lint,
# test-all, test-pythons, vm-test and bench must have passed.
package: dev ## wheel and source archive, in dist/
	@rm -rf dist build
	@$(VENV)/python -m build
	@ls -l dist

clean: ## removal of crashed fabrics and build files
	@if [ -x $(POLARLAB) ]; then $(SUDO) $(POLARLAB) clean; fi
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis site .cache

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1: \2/p' Makefile
