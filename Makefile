# make demo | gallery | test | quick | nightly | coverage | lint | tidy | docs | docs-version | dist | bench | evidence | evidence-check | native-test | thread-test | sanitize | clean
# Everything runs in .venv, made from python3 (3.11 or newer). The package is installed editable, so
# Python files are always current; the stamps reinstall it when the native code or the settings change.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(shell find cpp -type f -not -path 'cpp/tests/*')

# What pip installs is compiled on its first import, and most of it is never imported.
export PIP_COMPILE := 0
# Without this, each process would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo gallery test quick nightly coverage lint tidy docs docs-version dist bench evidence evidence-check native-test thread-test sanitize clean

help:
	@echo "make demo    the toy networks, end to end: open demo-output/report.html"
	@echo "make gallery the pictures of docs/gallery.md and of the README"
	@echo "make test    every test, with warnings as errors"
	@echo "make quick   the tests that every wheel passes before it is published, in a minute"
	@echo "make nightly slow tests of rare paths"
	@echo "make coverage  the tests, with the share of lines that they reach"
	@echo "make lint    ruff, mypy and clang-format"
	@echo "make tidy    clang-tidy: slips in the native code"
	@echo "make docs    the documentation, in site/index.html"
	@echo "make docs-version  the same, kept beside earlier versions in the branch gh-pages"
	@echo "make dist    what is published, built and tested away from the sources"
	@echo "make bench   the benchmarks"
	@echo "make evidence  lists results that are older than the code; RUN=name measures one again, RUN=older all of them"
	@echo "make evidence-check  fails if a page shows other numbers than benchmarks/results"
	@echo "make native-test  the native code alone: GCC and Clang with sanitizers, and ARM64"
	@echo "make thread-test  the same under the thread sanitizer"
	@echo "make sanitize  kernel tests under the address and undefined-behaviour sanitizers"
	@echo "make clean   remove what the other targets made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "repshape needs Python 3.11 or newer: set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Making an environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)

# The native code alone, without what it needs in Python.
$(VENV)/.compiled: $(BUILD_INPUTS) | $(BIN)/python
	@echo "Compiling the native code: about a minute on two cores"
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@echo "Compiled the native code"
	@touch $@

# The packages of an extra. The import compiles the ones that every command needs, and lists the fonts of matplotlib.
$(VENV)/.packages-%: pyproject.toml packaging/requirements.py | $(BIN)/python
	@echo "Installing packages"
	$(BIN)/python packaging/requirements.py $(filter-out user,$*) > $(VENV)/packages-$*.txt
	$(BIN)/python -m pip install --quiet --requirement $(VENV)/packages-$*.txt
	@$(BIN)/python -c 'import jinja2, matplotlib.pyplot, pandas, rich.progress, scipy.stats, sklearn.manifold, typer, zarr'
	@echo "Installed packages"
	@touch $@

# The compiler runs while pip downloads and unpacks.
BESIDE := @$(MAKE) --no-print-directory -j2 $(VENV)/.compiled

# What a user needs.
$(VENV)/.installed: $(BUILD_INPUTS) | $(BIN)/python
	$(BESIDE) $(VENV)/.packages-user
	@touch $@

# What the quick tests need, which includes the above.
$(VENV)/.installed-test: $(BUILD_INPUTS) | $(BIN)/python
	$(BESIDE) $(VENV)/.packages-test
	@touch $(VENV)/.installed $@

# What a developer needs, which includes the above.
$(VENV)/.installed-dev: $(BUILD_INPUTS) | $(BIN)/python
	$(BESIDE) $(VENV)/.packages-dev
	@touch $(VENV)/.installed $(VENV)/.installed-test $@

demo: $(VENV)/.installed
	@echo "Running the demo"
	$(BIN)/repshape demo --out demo-output

# Byte for byte the same for the same versions of matplotlib and of its fonts.
gallery: $(VENV)/.installed
	MPLBACKEND=Agg $(BIN)/python -m repshape.plots.gallery --out docs/images/gallery
	MPLBACKEND=Agg $(BIN)/python -m docs_tools.banner

# One process more than there are cores, since many tests wait for a browser or for other processes; and one thread in
# each, since threads that wait for each other on busy cores would take most of the time.
test: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -q -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --durations=10 $(PYTEST_OPTIONS)

# Without PyTorch, documentation and browser. The tests of the native code, the metrics and the files on disk.
quick: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -q -n $$(getconf _NPROCESSORS_ONLN) --dist loadfile @tests/quick.txt

# Slow tests of rare paths, and the share of lines that the other tests reach.
nightly: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -q -n $$(getconf _NPROCESSORS_ONLN) --dist loadfile -m nightly

coverage: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	  $(BIN)/python -m coverage run --source=src/repshape -m pytest -q
	$(BIN)/python -m coverage report --skip-covered --show-missing

lint: $(VENV)/.installed-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/clang-format --dry-run -Werror $(shell find cpp -name '*.h' -o -name '*.cpp')

# Without the kernels, whose vector extensions it reads as mistakes, and the bindings, which mostly include nanobind.
TIDIED := $(shell find cpp -name '*.cpp' -not -name kernel.cpp -not -path 'cpp/bind/*' -not -path 'cpp/tests/*')
tidy:
	printf '%s\n' $(TIDIED) | xargs -P $(shell getconf _NPROCESSORS_ONLN) -I {} clang-tidy --quiet {} -- -std=c++17 -Icpp

# Strict: a broken link, or a name without an entry, ends the build. The site needs no network.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "Open site/index.html"

# Adds the documentation of this version to the branch gh-pages, beside those of earlier versions; pushes nothing.
docs-version: $(VENV)/.installed-dev
	$(BIN)/mike deploy --update-aliases "$$($(BIN)/repshape --version | grep -o '[0-9]*\.[0-9]*' | head -n 1)" latest
	$(BIN)/mike set-default latest

# Takes some minutes: the lowest and the newest dependencies are installed from scratch. With LATER="python3.12 python3.13",
# it also builds the wheel of the stable ABI and tests it with each of these.
dist:
	PYTHON="$(PYTHON)" LATER="$(LATER)" .ci/dist

# NETREP_PATH=/path/to/netrep adds the public reference code as a rival, REPSHAPE_DATA=/path the
# recordings. All of it takes about half an hour; each line can be run alone.
bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.solver
	$(BIN)/python -m benchmarks.optimum
	$(BIN)/python -m benchmarks.resources

# An interrupted run continues when it is repeated. Some results need NETREP_PATH, as above.
evidence: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.evidence $(if $(RUN),--run $(RUN))

evidence-check: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.evidence --check
	$(BIN)/python -m pytest -q tests/docs/test_facts.py

# A program of its own, without Python: under sanitizers with two compilers, and for another processor in an emulator.
# Without optimisation, a build with sanitizers takes a third of the time.
NATIVE := $(MAKE) --no-print-directory -s -j$(shell getconf _NPROCESSORS_ONLN) -f cpp/tests/Makefile
CHECKED := -O0 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all
native-test:
	$(NATIVE) OUT=build/native/gcc CXX=g++ OPTIONS='$(CHECKED) -fsanitize=address,undefined'
	$(NATIVE) OUT=build/native/clang CXX=clang++ OPTIONS='$(CHECKED) -fsanitize=address,undefined'
	$(NATIVE) OUT=build/native/arm64 CXX=aarch64-linux-gnu-g++ OPTIONS='-O1 -static' RUN=qemu-aarch64

thread-test:
	$(NATIVE) OUT=build/native/threads CXX=clang++ OPTIONS='$(CHECKED) -fsanitize=thread'

# The tests in Python with native code under the address and undefined-behaviour sanitizers.
SANITIZED := build/sanitized
sanitize: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet nanobind ninja
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B $(SANITIZED) -G Ninja -DREPSHAPE_SANITIZE=ON -DCMAKE_BUILD_TYPE=None \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(SANITIZED)
	rm -rf $(SANITIZED)/package && mkdir -p $(SANITIZED)/package
	cp -r src/repshape $(SANITIZED)/package/ && cp $(SANITIZED)/_core*.so $(SANITIZED)/package/repshape/
	REPSHAPE_SANITIZED=$(CURDIR)/$(SANITIZED)/package ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/python -m pytest -q -p no:cacheprovider tests/test_native.py \
	  tests/parity/test_native_kernels.py tests/metrics/test_energy.py tests/properties/test_optima.py

clean:
	rm -rf $(VENV) build dist demo-output site .pytest_cache .mypy_cache .ruff_cache
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
