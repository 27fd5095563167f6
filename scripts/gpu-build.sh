#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-build.sh BUILD TARGET...
#
# Builds targets of test/gpu into BUILD for the GPUs of this machine. Needs the
# CUDA toolkit, NCCL (from the toolkit, the system or a Python wheel), cmake
# with make or ninja, and g++; no network, no BLAS. In a checkout it also needs
# build/bin/rondo, which writes the programs, and Debian's package googletest;
# a folder of `make gpu-bundle` has both. Status 77, with one line, if there is
# no device or a tool is missing; 1 if the build fails.
#
#   JOBS=N                    parallel compilations
#   ARCHITECTURES=90          builds for these without asking for a device
#   BUILT=1                   builds nothing: BUILD is from another machine
#   RONDO=PATH                writes the programs, instead of build/bin/rondo
#   RONDO_GOOGLETEST=FOLDER   has include/ and src/ of GoogleTest
#   RONDO_NCCL_WHEELS=FOLDER  a folder with a wheel of nvidia-nccl-cu13 or
#   -cu12,
#                             to use instead of the installed NCCL
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift

nothing() {
  echo "gpu: $1"
  exit 77
}
if [ -n "${BUILT:-}" ]; then
  if [ ! -x "$build/probe" ]; then
    echo "gpu: BUILT=1, but nothing is built in $build: copy a build there, or" \
      "leave BUILT out"
    exit 1
  fi
  found=$("$build/probe") || nothing "no device ($found)"
  echo "gpu: devices: ${found%% *}, architectures: ${found#* }, already built"
  exit 0
fi
for tool in cmake g++; do
  command -v $tool >/dev/null || nothing "there is no $tool"
done
generator=
if ! command -v make >/dev/null; then
  command -v ninja >/dev/null || nothing "there is no make and no ninja"
  generator=Ninja
fi
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || nothing "there is no nvcc; CUDACXX can name it"
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
mkdir -p "$build" || exit 1
# nvcc knows where an unusual toolkit has its files, but takes longer.
g++ -I"$toolkit/include" test/gpu/probe.cpp -o "$build/probe" -L"$toolkit/lib64" \
  -L"$toolkit/lib" -lcudart_static -ldl -lrt -lpthread 2>"$build/probe.log" ||
  "$nvcc" test/gpu/probe.cpp -o "$build/probe" || {
  cat "$build/probe.log"
  exit 1
}
if [ -n "${ARCHITECTURES:-}" ]; then
  architectures=$ARCHITECTURES
else
  found=$("$build/probe") || nothing "no device ($found)"
  architectures=${found#* }
  echo "gpu: devices: ${found%% *}, architectures: $architectures"
fi

# The programs of a bundle, or written now.
programs=$PWD/programs
if [ ! -d "$programs" ]; then
  rondo=${RONDO:-build/bin/rondo}
  if [ ! -x "$rondo" ]; then
    echo "gpu: no $rondo to write the programs: make build, or make gpu-bundle" \
      "on a machine that has it and copy build/gpu-bundle here"
    exit 1
  fi
  programs=$(readlink -f "$build")/programs
  sh scripts/gpu-programs.sh "$rondo" "$programs" >"$build/programs.log" 2>&1 || {
    cat "$build/programs.log"
    echo "gpu: $rondo did not write the programs"
    exit 1
  }
fi

set -- --target "$@"
wheel=
if [ -n "${RONDO_NCCL_WHEELS:-}" ]; then
  for wheel in "$RONDO_NCCL_WHEELS"/nvidia_nccl_cu*.whl; do :; done
  if [ ! -e "$wheel" ]; then
    echo "gpu: no wheel of nvidia-nccl-cu13 in $RONDO_NCCL_WHEELS"
    exit 1
  fi
  wheel=$(readlink -f "$wheel")
fi

log=$build/build.log
start=$(date +%s)
configure() {
  if [ -n "$wheel" ]; then
    mkdir -p "$build/nccl" &&
      (cd "$build/nccl" && cmake -E tar xf "$wheel") || return 1
    nccl=$(readlink -f "$build/nccl/nvidia/nccl")
    set -- "-DRONDO_NCCL=$nccl/lib/libnccl.so.2" \
      "-DRONDO_NCCL_INCLUDE_DIR=$nccl/include"
  fi
  # If this folder was configured with another generator, keep that one.
  CUDACXX=$nvcc cmake ${generator:+-G $generator} -S test/gpu -B "$build" \
    -DCMAKE_CUDA_ARCHITECTURES="$architectures" -DRONDO_GPU_PROGRAMS="$programs" \
    ${RONDO_GOOGLETEST:+"-DRONDO_GOOGLETEST=$RONDO_GOOGLETEST"} "$@"
}
if ! {
  configure && cmake --build "$build" -j "${JOBS:-$(nproc)}" "$@"
} >"$log" 2>&1; then
  grep -n -i -m 3 'error' "$log"
  tail -n 40 "$log"
  echo "gpu: the build failed; log in $log"
  exit 1
fi
# For a machine that this folder is copied to, which has no such header.
header=$(sed -n 's/^RONDO_NCCL_INCLUDE_DIR:[^=]*=//p' "$build/CMakeCache.txt")
awk '$2 == "NCCL_VERSION_CODE" && $3 + 0 > 0 { print $3; exit }' \
  "$header/nccl.h" >"$build/nccl.version"
echo "gpu: built into $build in $(($(date +%s) - start)) s"
sed -n 's/^-- CUDA \(.*\)$/gpu: CUDA \1/p' "$log"
