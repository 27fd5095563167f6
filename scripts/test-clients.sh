#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# test-clients.sh BUILD [CLIENT...]
#
# Runs schedules in DeepSpeed, Megatron Core and torchtitan on the CPU, over gloo. Each
# has an environment of its own under BUILD/clients, which shares one PyTorch (3 GB) and
# which later runs use again. CLIENT is deepspeed, megatron or torchtitan; by default
# all. WORDS="tied V" runs only the groups and cases whose names have one of the words.
#
# The last line is `N passed, N failed, N skipped`. Status 0; 1 after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$1/clients" || exit 1
build=$(cd "$1" && pwd)
shift
clients=${*:-deepspeed megatron torchtitan}
passed=0 failed=0

fail() {
  echo "FAILED $*"
  failed=$((failed + 1))
}
finish() {
  echo "$passed passed, $failed failed, 0 skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

# pip FOLDER ARGUMENTS: installs into an environment.
pip() {
  folder=$1
  shift
  "$folder/bin/python" -m pip install -q "$@" >"$folder/install.log" 2>&1
}

# environment NAME: an environment without packages.
environment() {
  rm -rf "$build/clients/$1"
  python3 -m venv "$build/clients/$1"
}

base=$build/clients/base
if ! [ -e "$base/installed" ]; then
  echo "installing PyTorch 2.15.0 into $base"
  if environment base && pip "$base" torch==2.15.0 numpy wheel setuptools; then
    touch "$base/installed"
  else
    fail "PyTorch: see $base/install.log; python3-venv is needed"
    finish
  fi
fi
packages=$("$base/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

# Arguments of pip for a client. Megatron Core says that it needs Python 3.12, but its
# wheel for 3.11 works.
arguments() {
  case $1 in
  deepspeed) echo --no-build-isolation deepspeed==0.19.8 ;;
  megatron) echo --no-deps --ignore-requires-python megatron-core==0.19.2 packaging ;;
  torchtitan) echo torchtitan==0.3.0 ;;
  *) return 1 ;;
  esac
}

RONDO=${RONDO:-$build/bin/rondo}
export RONDO PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1
export DS_ACCELERATOR=cpu DS_BUILD_OPS=0
for client in $clients; do
  folder=$build/clients/$client
  if ! packages_of=$(arguments "$client"); then
    fail "$client is not a client: deepspeed, megatron or torchtitan"
    continue
  fi
  if ! [ -e "$folder/installed" ]; then
    echo "installing $client into $folder"
    if ! environment "$client"; then
      fail "the environment: python3-venv is needed"
      continue
    fi
    for site in "$folder"/lib/python3*/site-packages; do
      echo "$packages" >"$site/base.pth"
    done
    # shellcheck disable=SC2086
    if ! pip "$folder" $packages_of; then
      fail "$client: see $folder/install.log"
      continue
    fi
    touch "$folder/installed"
  fi
  rm -rf "$folder/run"
  # shellcheck disable=SC2086
  (cd test/clients && timeout 14400 "$folder/bin/python" run.py "$client" "$folder/run" \
    ${WORDS:-}) >"$folder/run.log" 2>&1
  sed '$d' "$folder/run.log"
  counts=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed, .*/\1 \2/p' "$folder/run.log")
  if [ -z "$counts" ]; then
    tail -n 1 "$folder/run.log"
    fail "$client ended without a count"
    continue
  fi
  passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
done
finish
