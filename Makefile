# PolarLab: `make help` lists the targets; `make demo` and `make test` install what they need.

VENV := .venv/bin
POLARLAB := $(VENV)/polarlab
# Set-up and fabrics need root; sudo is used where the caller is not root.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
# Byte code is always kept: otherwise each of the tests' hundreds of processes would compile the code.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup dev lock demo test test-all test-frameworks test-pythons test-oldest test-systems mutations fuzz vm-test container container-test lint bench docs keys citations licences stubs messages cited digests benchmarks package release clean help

# Made by whoever runs make, and the checkout's owner's if that is root: targets with sudo would leave them to root.
build results:
	@mkdir -p $@ && chown --reference=. $@

setup: ## install programs, kernel settings, and .venv/ with the polarlab command
	@$(SUDO) vagrant/provision.sh

# Run this after changing the requirements in setup.cfg, or to take newer versions. It takes some minutes.
lock: | build ## update vagrant/requirements.lock to the newest versions that setup.cfg allows, with hashes
	@/usr/bin/python3 -m venv --clear build/lock
	@build/lock/bin/pip install -qq --disable-pip-version-check pip-tools
	@CUSTOM_COMPILE_COMMAND="make lock" build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe \
		--strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-config \
		$(foreach extra,ryu test notebooks cluster docs,--extra $(extra)) \
		--output-file vagrant/requirements.lock pyproject.toml vagrant/requirements.in

# Further requirements of `lint`, `mutations` and `package`.
dev:
	@$(SUDO) vagrant/provision.sh dev

# ER_5 with two hosts per router: the graph, the proof, a run, and a tornado under minimal and adaptive
# routing, side by side. The results are kept in results/.
demo: setup ## show a graph, a proof, a run, and a sweep of two routings
	$(POLARLAB) topology polarfly --q 5 --hosts 2
	$(POLARLAB) verify polarfly --q 5 --hosts 2 --routing min
	$(SUDO) $(POLARLAB) run polarfly --q 5 --hosts 2 --link-rate 500kbit --pattern uniform --load 0.4 \
		--duration 5
	$(SUDO) $(POLARLAB) sweep polarfly --q 5 --hosts 2 --link-rate 300kbit --routings min,ugal-pf \
		--patterns tornado --loads 0.6 --warmup 8 --duration 5 --out results/demo-$$(date +%Y%m%d-%H%M%S)

# SELECT chooses tests: slow tests only repeat others at length, and only `make test-all` runs them.
test: SELECT := -m "not slow"
# Some unit tests wait for shells and other processes, so there is one worker more than processors. A worker runs
# whole files, because tests of a file share costly fixtures; in the files' order the last ones are short.
UNITS = -n "$$(($$(nproc) + 1))" --dist loadfile --no-loadscope-reorder
# Fabrics wait more than they compute: each worker has namespaces that look to fabrics like a separate machine.
FABRICS = --dist loadgroup --tx "$$(nproc)*popen//python=tests/fabric/machine.sh $(VENV)/python"
test: ## run the tests, including those on real switches
test-all: ## run the tests, including the slow ones
test test-all:
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) $(VENV)/python -m pytest -q $(UNITS) $(SELECT) tests/unit
	@$(SUDO) $(VENV)/python -m pytest -q --durations=15 $(FABRICS) $(SELECT) tests/fabric

# Code that needs no Mininet also works on other versions of Python than the system's.
test-pythons: PYTHONS = python3.12 python3.13 python3.14
test-pythons: | build ## run unit tests on other versions of Python; PYTHONS="..." names the interpreters
	@tests/pythons.sh $(PYTHONS)

# The lower bounds in setup.cfg must be true on the system's Python: pip always takes the newest versions, but uv
# can take the oldest. Tests leave root's byte code in the environment.
# A newer pyparsing warns about the calls of older versions of matplotlib.
test-oldest: SELECT = -m "not slow" tests/unit
test-oldest: | build ## run unit tests with the oldest packages that setup.cfg allows; SELECT="..." chooses tests
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) rm -rf build/oldest
	@/usr/bin/python3 -m venv build/oldest
	@cp .venv/lib/python3*/site-packages/system-packages.pth build/oldest/lib/python3*/site-packages/
	@build/oldest/bin/pip install -qq --disable-pip-version-check uv
	@build/oldest/bin/uv pip install --quiet --python build/oldest/bin/python --resolution lowest-direct \
		--editable ".[test,notebooks,symmetry,paper,cluster]" "pyparsing < 3.3"
	@$(SUDO) build/oldest/bin/python -m pytest -q $(UNITS) $(SELECT)

# `make test-frameworks FRAMEWORKS=os-ken` tests only that one.
FRAMEWORKS := ryu os-ken
test-frameworks: SELECT := -m "not slow"
test-frameworks: ## run the tests of controller and fabrics with each controller framework
	@$(SUDO) vagrant/provision.sh tests
	@for framework in $(FRAMEWORKS); do \
		python="env POLARLAB_FRAMEWORK=$$framework $(VENV)/python"; \
		echo "controller framework: $$framework"; \
		$(SUDO) $$python -m pytest -q -n auto $(SELECT) tests/unit/controller || exit 1; \
		$(SUDO) $$python -m pytest -q $(FABRICS) $(SELECT) tests/fabric || exit 1; \
	done

# Checks that the tests catch the faults of tests/mutations.toml; ARGS=--fabric adds faults that need switches.
mutations: dev ## check that the tests catch faults injected into copies of the code
	@$(SUDO) $(VENV)/python tests/mutations.py $(ARGS)

# `make fuzz N=500 SEED=1 ATTACKS="controller"` runs 500 inputs of that attack, generated from that seed.
fuzz: ## run generated attacks; N=inputs of each, SEED repeats a run, ATTACKS="..." chooses
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) $(VENV)/python tests/fuzz $(if $(N),--count $(N)) $(if $(SEED),--seed $(SEED)) $(ATTACKS)

# Settings of debootstrap, which sudo would drop.
MIRROR = $(foreach name,DEBIAN_MIRROR APT_SETTINGS,$(if $($(name)),$(name)='$($(name))'))
VM = $(SUDO) env PYTHONPATH=tests $(MIRROR) $(VENV)/python -m
# Creates a virtual machine with the kernel's datapath; TESTS="..." runs other tests in it.
vm-test: | build results ## test the kernel datapath in a virtual machine
	@$(SUDO) vagrant/provision.sh vm-test
	@$(VM) vm $(TESTS)

# ENGINE="docker" chooses another program, BUILD="--no-cache" adds options.
container: ## build the container image polarlab, with Podman or Docker
	@$(or $(ENGINE),$(if $(shell command -v podman),$(SUDO) podman,docker)) build $(BUILD) --file Containerfile --tag polarlab .

# Needs Podman or Docker (ENGINE="docker" chooses), and debootstrap where Debian's image cannot be fetched.
container-test: | build ## build the container image and test it: its size, its user, fabrics in it
	@$(SUDO) vagrant/provision.sh dev
	@$(SUDO) env $(MIRROR) $(if $(ENGINE),ENGINE='$(ENGINE)') $(VENV)/python -m pytest -q -rP tests/container

# Debian's names of releases; `make test-systems SYSTEMS=trixie TESTS=tests/unit` runs only these tests there.
SYSTEMS := bookworm trixie testing
test-systems: | build results ## set-up, demo and tests in root file systems of other Debian releases
	@$(SUDO) vagrant/provision.sh systems
	@$(VM) vm.systems $(SYSTEMS) $(if $(TESTS),--tests $(TESTS))

lint: dev ## check style, types, layers, spelling
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
	@$(VENV)/lint-imports --no-logo
	@$(VENV)/flake8 topology routing traffic/workload traffic/metrics
	@$(VENV)/codespell
	@$(VENV)/python tests/language.py

bench: | build results ## run the benchmarks; ROWS="..." chooses rows, BEFORE=COMMIT compares with a commit
	@$(SUDO) vagrant/provision.sh tests
	@$(SUDO) env $(if $(BEFORE),BEFORE=$(BEFORE)) $(VENV)/python tests/bench $(ROWS)

# Pages that follow from the code are generated first, in build/docs/.
docs: | build ## build the documentation's site in site/
	@$(SUDO) vagrant/provision.sh docs
	@$(VENV)/python docs/generate/assembly.py
	@PYTHONPATH=docs/generate $(VENV)/python -m zensical build --strict --clean

benchmarks: ## update docs/lab/benchmarks.md from the results of `make bench`
	@$(VENV)/python docs/generate/benchmarks_page.py results/bench.json

messages: ## update tests/data/messages.txt, the messages about wrong use; review the diff
	@$(VENV)/python tests/messages.py

cited: ## update tests/data/citations.csv, the citations of papers that were looked up; review the diff
	@$(VENV)/python tests/citations.py

stubs: ## update polarlab/api/keyword_types.pyi, the types of keywords, from the options
	@$(VENV)/python docs/generate/keyword_types.py > polarlab/api/keyword_types.pyi.new && mv polarlab/api/keyword_types.pyi.new polarlab/api/keyword_types.pyi

# Needed after each change of the code of routings, simulator or traffic that does not change the numbers.
digests: ## update experiments/papers/kept_code.csv, so that kept points stay valid; refuses if numbers changed
	@$(VENV)/python tests/digests.py

citations: ## update experiments/papers/citations.bib, the BibTeX of CITATION.cff
	@$(VENV)/python docs/generate/citations.py > experiments/papers/citations.bib.new && mv experiments/papers/citations.bib.new experiments/papers/citations.bib

# Needs the packages of `make test`. Run it after `make lock`.
licences: ## update docs/reference/licences.md, the licences of all packages in the lock file
	@$(VENV)/python docs/generate/licences_page.py

keys: ## update docs/reference/keys.md, the meaning of all keys and columns of results
	@$(VENV)/python -m experiments.report.keys > docs/reference/keys.md.new && mv docs/reference/keys.md.new docs/reference/keys.md

# The source archive is built first, and the wheel from it: a file that the archive lacks is missing in the wheel, too.
package: dev ## build the wheel and the source archive in dist/
	@rm -rf dist
	@$(VENV)/python -m build
	@ls -l dist

# CONTRIBUTING.md lists what comes before it. ARGS="--draft --no-container" tries the rest at any time.
release: dev | build results ## build, try and describe a release in dist/; ARGS="--draft" takes an unreleased changelog
	@$(SUDO) vagrant/provision.sh systems
	@env $(MIRROR) $(if $(ENGINE),ENGINE='$(ENGINE)') $(VENV)/python tests/release.py $(ARGS)

clean: ## remove crashed fabrics and build files
	@if [ -x $(POLARLAB) ]; then $(SUDO) $(POLARLAB) clean; fi
	@$(SUDO) rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis site .cache

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1: \2/p' Makefile
