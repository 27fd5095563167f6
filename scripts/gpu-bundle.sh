#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-bundle.sh BUILD FOLDER
#
# Writes a FOLDER with all that `make test-gpu`, `make gpu-first` and
# `make bench-gpu` need on a machine without MLIR: the runtime as `rondo bundle`
# writes it, the tests, the programs that BUILD/bin/rondo emits, and GoogleTest's
# sources from Debian's package. A FOLDER that is already there is replaced once
# the new one is complete.
set -eu
cd "$(dirname "$0")/.."
rondo=$1/bin/rondo
to=$2
googletest=${RONDO_GOOGLETEST:-/usr/src/googletest/googletest}

fail() {
  echo "gpu-bundle: $*" >&2
  exit 1
}
[ -x "$rondo" ] || fail "$rondo not found: make build"
[ -r "$googletest/src/gtest-all.cc" ] ||
  fail "no GoogleTest sources in $googletest: install Debian's package googletest," \
    "or set RONDO_GOOGLETEST to a folder with include/ and src/"
[ ! -e "$to" ] || [ -e "$to/programs" ] ||
  fail "$to exists and is no bundle: remove it or name another folder"

new=$to.new
rm -rf "$new"
trap 'rm -rf "$new"' EXIT
# The runtime with its search, the parts of the core that they need, and their
# build files.
"$rondo" bundle test/gpu/Inputs/uneven.mlir --schedule gpt_drawn --target=cuda -o "$new" >/dev/null
rm "$new/train.cpp" "$new/CMakeLists.txt" "$new/README.md"
sh scripts/gpu-programs.sh "$rondo" "$new/programs" >/dev/null
mkdir "$new/googletest"
cp -r "$googletest/include" "$googletest/src" "$new/googletest/"
for license in /usr/share/doc/googletest/copyright "$googletest/../LICENSE"; do
  [ ! -r "$license" ] || cp "$license" "$new/googletest/LICENSE"
done
for file in LICENSE Makefile scripts/gpu-asynchronous.sh scripts/gpu-build.sh \
  scripts/gpu-export.sh scripts/gpu-first.sh scripts/gpu-offload.sh scripts/gpu-part.sh scripts/gpu-uneven.sh \
  scripts/one-generation.py scripts/test-gpu.sh bench/gpu/* \
  test/gpu/CMakeLists.txt test/gpu/*.cpp test/gpu/*.txt test/gpu/text.awk test/unit/*.h test/unit/bodies/*.h \
  test/unit/conformance/*Test.cpp test/unit/conformance/*.h test/unit/cuda/*.cpp \
  test/unit/cuda/*.h test/unit/runtime/Fixture*.cpp test/unit/runtime/*.h; do
  [ ! -d "$file" ] || continue
  # Tests of the emulation, which a device does not run.
  ! grep -q '^#include .*cuda_emulation/' "$file" || continue
  mkdir -p "$new/$(dirname "$file")" && cp "$file" "$new/$file"
done
cat >"$new/README.md" <<END
# Rondo's tests and benchmarks on a GPU

Written by \`make gpu-bundle\`, of $("$rondo" --version | head -n 1). This folder needs cmake with make or ninja,
g++, and the CUDA toolkit 12.8 or later with NCCL; no network, no MLIR, no BLAS.

    make test-gpu      # tests, and training compared with the CPU
    make gpu-first     # tests, kernels, benchmarks and sanitizers
    make bench-gpu     # GPT-2, compared with PyTorch if installed

\`googletest/\` is GoogleTest, unmodified, under its own license.
END
rm -rf "$to"
mv "$new" "$to"
trap - EXIT
echo "wrote $to: $(find "$to" -type f | wc -l) files"
