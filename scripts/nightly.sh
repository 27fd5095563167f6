#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# nightly.sh BUILD
#
# Checks that take long and rarely break, as root: each is a function below.
#
#   - the wheel, with its own BLAS, is smaller than 12 MB;
#   - it is installed by pipx and by uv;
#   - where nvcc is, it compiles for CUDA;
#   - on clean Debian 12 and 13, which have g++ and no LLVM, commands print what the
#     build's print, and programs that `rondo compile` makes are right.
#
# BUILD/bin/rondo and BUILD/wheels are those of `make wheel`. Packages come from the
# mirror that apt uses. The last line is `N passed, N failed, N skipped`; status 1
# after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$(cd "$1" && pwd) || exit 1
work=$build/nightly
inputs=$PWD/test/driver/Inputs
passed=0 failed=0 skipped=0
log=$work/log

# check NAME COMMAND...: runs a command, whose output is printed after a failure.
check() {
  name=$1
  shift
  if "$@" >"$log" 2>&1; then
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

wheel=$(ls "$build"/wheels/rondo_schedules-*manylinux*.whl) || exit 1

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

rm -rf "$work"
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
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  check "CUDA" for_cuda
else
  skip "CUDA: there is no nvcc"
fi
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
  clean_debian bookworm
  clean_debian trixie
else
  skip "clean Debians: debootstrap and root are needed"
fi
rm -rf "$work"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
