#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# nightly.sh BUILD [PART...]
#
# Checks that take long and rarely break. The parts, all by default:
#
#   tests  lit tests that say `REQUIRES: nightly`
#   cases  all random cases of searches and bounds; `make test` tries a quarter
#   crossings  every pair of features works, or is refused as docs/limits.md says;
#          `make test` tries 150
#   bench  the benchmarks compile
#   cuda   the CUDA runtime compiles for every generation of GPUs, and all that a
#          folder of `make gpu-bundle` holds, in that folder alone
#   fuzz   all fuzz targets, FUZZ_SECONDS=600 together, in BUILD/fuzz
#   wheel  the wheel, with its own BLAS, is smaller than 12 MB; pipx and uv install
#          it; where nvcc is, it compiles for CUDA; as root, on clean Debian 12 and
#          13, which have g++ and no LLVM, commands print what the build's print, and
#          programs that `rondo compile` makes are right
#   clients  schedules in DeepSpeed, Megatron Core and torchtitan (test-clients.sh)
#   models  exported PyTorch models, next to PyTorch (test-export.sh)
#
# BUILD is a whole build, with the wheels of `make wheel` in BUILD/wheels. Packages
# come from the mirror that apt uses. The last line is
# `N passed, N failed, N skipped`; status 1 after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$(cd "$1" && pwd) || exit 1
shift
[ $# -gt 0 ] || set -- tests cases crossings bench cuda fuzz wheel clients models
for part in "$@"; do
  case $part in
  tests | cases | crossings | bench | cuda | fuzz | wheel | clients | models) ;;
  *)
    echo "nightly: unknown part $part; parts: tests, cases, crossings, bench, cuda, fuzz, wheel, clients, models"
    exit 2
    ;;
  esac
done
work=$build/nightly
inputs=$PWD/test/driver/Inputs
passed=0 failed=0 skipped=0
log=$work/log

# check NAME COMMAND...: runs a command, whose output is printed after a failure.
check() {
  name=$1
  shift
  "$@" >"$log" 2>&1
  status=$?
  if [ $status = 77 ]; then
    skip "$name: $(tail -n 1 "$log")"
  elif [ $status = 0 ]; then
    passed=$((passed + 1))
    echo "ok  $name"
  else
    failed=$((failed + 1))
    echo "FAILED  $name"
    tail -n 40 "$log"
  fi
}
skip() {
  skipped=$((skipped + 1))
  echo "skipped  $*"
}

lit_test() {
  RONDO_NIGHTLY=1 python3 /usr/lib/llvm-22/bin/lit -v "$build/test" --filter "^rondo :: $1\$" >"$work/lit"
  status=$?
  cat "$work/lit"
  # Another feature is missing: report the test as skipped.
  if grep -q '^UNSUPPORTED' "$work/lit"; then
    return 77
  fi
  return $status
}
tests() {
  for test in $(cd test && grep -rl '^[# ]*REQUIRES:.*nightly' --include '*.test' . | sort); do
    check "${test#./}" lit_test "${test#./}"
  done
}

cases() {
  check "all random cases of searches and bounds" env RONDO_ALL_CASES=1 "$build/bin/rondo-schedule-tests"
}

crossings() {
  rm -rf "$work/crossings"
  check "every pair of features" python3 test/crossings/matrix.py "$build" "$work/crossings"
}

bench() {
  check "benchmarks compile" cmake --build "$build" -j "$(nproc)" --target rondo-bench
}

every_generation() {
  cmake --preset cuda-all -B "$work/cuda" -DRONDO_CUDA=ON &&
    cmake --build "$work/cuda" -j "$(nproc)" --target RondoCuda
}
whole_bundle() {
  rm -rf "$work/gpu-bundle"
  sh scripts/gpu-bundle.sh "$build" "$work/gpu-bundle" &&
    ARCHITECTURES=90-real sh "$work/gpu-bundle/scripts/gpu-build.sh" build-gpu all bench-programs
}
cuda() {
  if has_nvcc; then
    check "CUDA for every generation" every_generation
    check "all of a GPU bundle" whole_bundle
  else
    skip "CUDA for every generation, all of a GPU bundle: there is no nvcc"
  fi
}
has_nvcc() { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }

fuzz() {
  check "all fuzz targets" sh scripts/fuzz.sh "$build/fuzz" "${FUZZ_SECONDS:-600}"
}

is_small() {
  size=$(stat -c %s "$wheel")
  echo "$wheel has $size bytes"
  [ "$size" -lt 12000000 ]
}

# A command that an installer has put into $work/bin, which is a link with pipx and uv.
runs_by() {
  "$@" || return 1
  [ "$("$work/bin/rondo" --version)" = "$("$build/bin/rondo" --version)" ] || return 1
  "$work/bin/rondo" compile examples/by-hand.mlir -o "$work/train" && "$work/train" --iterations 1 --quiet
}
by_pipx() {
  PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/bin runs_by "$work/installers/bin/pipx" install "$wheel" || return 1
  PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/bin "$work/installers/bin/pipx" uninstall rondo-schedules || return 1
  ! ls "$work/bin/rondo"
}
by_uv() {
  export UV_TOOL_DIR="$work/uv" UV_TOOL_BIN_DIR="$work/bin" UV_CACHE_DIR="$work/uv-cache"
  runs_by "$work/installers/bin/uv" tool install --python "$work/installers/bin/python" "$wheel" || return 1
  "$work/installers/bin/uv" tool uninstall rondo-schedules || return 1
  ! ls "$work/bin/rondo"
}

# Builds the CUDA runtime of sources in the wheel.
for_cuda() {
  "$work/installers/bin/pip" install -q --no-index "$wheel" &&
    XDG_CACHE_HOME=$work/cache "$work/installers/bin/rondo" compile examples/gpt-small.mlir --target=cuda -o "$work/gpu" &&
    "$work/gpu" --help
}

# The address of this system's mirror, which also has the next Debian.
mirror() {
  . /etc/os-release
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v release="$VERSION_CODENAME" '$1 == release && $2 == "main" { print $3; exit }'
}
bootstrap() {
  debootstrap --variant=minbase --include=python3-venv,g++ "$1" "$work/$1" "$(mirror)"
}
# in_clean SUITE COMMAND...: runs a command in a clean Debian, with its own /proc.
in_clean() {
  folder=$work/$1
  shift
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' \
    "$folder" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C "$@"
}
install_in() {
  mkdir -p "$work/$1/check" && cp "$wheel" "$inputs"/wheel/*.sh "$work/$1/check" && cp -r "$work/files" "$work/$1/check" &&
    in_clean "$1" python3 -m venv /check/venv &&
    in_clean "$1" /check/venv/bin/pip install --no-index "/check/${wheel##*/}"
}
commands_in() {
  in_clean "$1" sh /check/commands.sh /check/venv/bin/rondo /check/files /check/output &&
    diff -r "$work/expected" "$work/$1/check/output"
}
programs_in() {
  in_clean "$1" sh /check/programs.sh /check/venv/bin/rondo /check/files /check/programs || return 1
  ! ls "$work/$1/usr/lib/llvm"* "$work/$1"/usr/lib/*/libopenblas*
}
clean_debian() {
  check "$1: debootstrap" bootstrap "$1"
  check "$1: pip install" install_in "$1"
  check "$1: commands print what the build's print" commands_in "$1"
  check "$1: compiled programs" programs_in "$1"
  rm -rf "${work:?}/$1"
}

wheel() {
  wheel=$(ls "$build"/wheels/rondo_schedules-*manylinux*.whl) || {
    failed=$((failed + 1))
    echo "FAILED  the wheel: make wheel"
    return
  }
  mkdir -p "$work/files"
  cp examples/*.mlir "$inputs/shared-network.mlir" "$inputs/wheel/problem.json" "$work/files" || exit 1
  check "the build's commands" sh "$inputs/wheel/commands.sh" "$build/bin/rondo" "$work/files" "$work/expected"
  check "the wheel's size" is_small
  if python3 -m venv "$work/installers" && "$work/installers/bin/pip" install -q pipx uv; then
    check "pipx" by_pipx
    check "uv" by_uv
  else
    skip "pipx and uv: they cannot be installed"
  fi
  if has_nvcc; then
    check "CUDA from the wheel" for_cuda
  else
    skip "CUDA from the wheel: there is no nvcc"
  fi
  if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
    clean_debian bookworm
    clean_debian trixie
  else
    skip "clean Debians: debootstrap and root are needed"
  fi
}

models() {
  check "exported PyTorch models" sh scripts/test-export.sh "$build"
}
clients() {
  check "schedules in DeepSpeed, Megatron Core and torchtitan" sh scripts/test-clients.sh "$build"
}

rm -rf "$work"
mkdir -p "$work"
for part in "$@"; do
  $part
done
rm -rf "$work"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
