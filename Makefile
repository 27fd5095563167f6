# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make demo` and `make test` do everything on a fresh Debian 12: they install
# what packages.txt lists, configure the default preset into build/, build and
# run.

JOBS ?= $(shell nproc)
# A text file to train on; empty: Debian's license texts.
DATA ?=
# How build/ is configured: a preset of CMakePresets.json.
PRESET ?= default
# How long `make fuzz` runs, without the build.
SECONDS ?= 60
# What `make build` builds; empty: everything.
TARGETS ?=
# The version of PyTorch that `make test-torch` installs; empty: the newest it knows.
TORCH ?=
# The clients that `make test-clients` runs; empty: all.
CLIENTS ?=
# What `make gpu-first` or `make nightly` runs; empty: all its parts.
PARTS ?=
# Where `make install` installs.
PREFIX ?= /usr/local
LLVM = /usr/lib/llvm-22/bin
MAKEFLAGS += --no-print-directory

help:
	@echo 'make demo     set up, build, compile and train a small GPT (DATA=file: on your text)'
	@echo 'make test     set up, build, run all tests'
	@echo 'make setup    install the missing packages of packages.txt'
	@echo 'make build    configure and build into build/'
	@echo 'make install  build, and install the tools and the runtime (PREFIX=/usr/local)'
	@echo 'make wheel    build the Python wheels of rondo-schedules, in build/wheels'
	@echo 'make check    run all tests, without set-up'
	@echo 'make nightly  what takes long and rarely breaks; needs root (PARTS=fuzz: only that)'
	@echo 'make doc      regenerate docs/reference/'
	@echo 'make docs     build the documentation as a site, in build/site'
	@echo 'make format   clang-format all sources'
	@echo 'make tidy     clang-tidy all sources'
	@echo 'make bench    run the benchmarks'
	@echo 'make asan     run all tests with AddressSanitizer and UBSan, in build-asan/'
	@echo 'make fuzz     fuzz all readers, SECONDS=60 in total, in build-fuzz/'
	@echo 'make gpu-bundle write build/gpu-bundle: the next three for a GPU machine with only CUDA, cmake and g++'
	@echo 'make test-gpu test the CUDA target on a GPU'
	@echo 'make test-torch run schedules in PyTorch, which it installs into build/ (TORCH=2.10.0: that version)'
	@echo 'make test-export train exported PyTorch models and compare with PyTorch, which it installs into build/ (MODELS=gpt: only that)'
	@echo 'make test-clients run schedules in DeepSpeed, Megatron Core and torchtitan, which it installs into build/ (CLIENTS=megatron: only that)'
	@echo 'make gpu-first the tests, benchmarks and checks to run first on a new GPU (PARTS=kernels: only those)'
	@echo 'make bench-gpu benchmark GPT-2 on a GPU, next to PyTorch if installed'
	@echo 'make clean    remove build/, build-asan/, build-fuzz/ and build-gpu/'

setup:
	@sh scripts/setup.sh

demo:
	@sh scripts/setup.sh
	@$(MAKE) build TARGETS='rondo RondoRuntime RondoSearch'
	@sh scripts/demo.sh build $(if $(DATA),--data '$(DATA)')

test:
	@sh scripts/setup.sh
	@$(MAKE) check

build/build.ninja:
	cmake --preset $(PRESET) -B build --log-level=NOTICE

build-asan/build.ninja:
	cmake --preset asan --log-level=NOTICE

build: build/build.ninja
	cmake --build build -j $(JOBS) $(if $(TARGETS),--target $(TARGETS))

install: build
	cmake --install build --prefix '$(PREFIX)'

wheel:
	@sh scripts/setup.sh wheel
	@$(MAKE) build TARGETS='rondo rondo-wheel RondoRuntime RondoSearch'
	@python3 scripts/make-wheel.py build build/wheels

nightly:
	@sh scripts/setup.sh nightly
	@sh scripts/setup.sh fuzz
	@$(MAKE) build
	@$(if $(filter wheel,$(or $(PARTS),wheel)),$(MAKE) wheel)
	@sh scripts/nightly.sh build $(PARTS)

check: build
	@python3 scripts/run-tests.py build

asan: build-asan/build.ninja
	cmake --build build-asan -j $(JOBS)
	@python3 scripts/run-tests.py build-asan

fuzz:
	@sh scripts/setup.sh fuzz
	@JOBS=$(JOBS) sh scripts/fuzz.sh build-fuzz $(SECONDS)

gpu-bundle:
	@$(MAKE) build TARGETS=rondo
	@sh scripts/gpu-bundle.sh build build/gpu-bundle

test-gpu:
	@sh scripts/test-gpu.sh build-gpu

test-torch: wheel
	@sh scripts/test-torch.sh build $(TORCH)

test-export:
	@$(MAKE) build TARGETS='rondo RondoRuntime RondoSearch'
	@sh scripts/test-export.sh build $(MODELS)

test-clients:
	@$(MAKE) build TARGETS='rondo rondo-launch-cases'
	@sh scripts/test-clients.sh build $(CLIENTS)

bench-gpu:
	@sh bench/gpu/bench.sh build-gpu

gpu-first:
	@sh scripts/gpu-first.sh build-gpu $(PARTS)

doc:
	@$(MAKE) build TARGETS=manual
	@python3 scripts/reference-docs.py

docs:
	@sh scripts/setup.sh docs
	@mkdocs build --strict
	@python3 scripts/check-site.py build/site

format:
	@sh scripts/setup.sh
	@sh scripts/format.sh

tidy: build
	@sh scripts/setup.sh tidy
	$(LLVM)/run-clang-tidy -quiet -p build -j $(JOBS) -clang-tidy-binary $(LLVM)/clang-tidy \
	  -extra-arg=-Wno-unknown-warning-option '^$(CURDIR)/(schedule|lowering|planning|reports|dialect|plans|passes|formats|codegen|modules|runtime|tools)/'

bench:
	@$(MAKE) build TARGETS='all rondo-bench'
	@sh scripts/bench.sh build

clean:
	rm -rf build build-asan build-fuzz build-gpu

.PHONY: help setup demo test build install wheel nightly check asan fuzz gpu-bundle test-gpu gpu-first bench-gpu doc docs format tidy bench clean test-torch test-export test-clients
