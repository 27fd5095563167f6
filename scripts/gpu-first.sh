#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-first.sh BUILD [PART...]
#
# Runs first on a machine with a GPU that Rondo has not run on. Each part
# can run alone, takes up to 10 minutes, and writes BUILD/first/PART.txt;
# without PART all run in this order:
#
#   tests       scripts/test-gpu.sh
#   asynchronous  scripts/gpu-asynchronous.sh
#   offload     scripts/gpu-offload.sh
#   uneven      scripts/gpu-uneven.sh
#   export      scripts/gpu-export.sh
#   kernels     the time of each kernel and product and its lower bound
#   124m        GPT-2 124M and PyTorch's: tokens per second, host time, MFU
#   sanitizers  compute-sanitizer on the kernels' tests, where it is installed
#   350m        GPT-2 350M and PyTorch's
#
# CASES is a filter for the cases that sanitizers see, as GoogleTest's. ROUNDS is
# how often 124m and 350m run each program: 3 times if time allows. docs/cuda.md
# says what to expect, and what to try after a failure. Builds as gpu-build.sh
# does, with the same variables. The last lines give the result of each part.
# Status 0; 1 after a failure; 77 without a device.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$1
shift
[ $# -gt 0 ] || set -- tests asynchronous offload uneven export kernels 124m sanitizers 350m
for part in "$@"; do
  case $part in
  tests | asynchronous | offload | uneven | export | kernels | 124m | sanitizers | 350m) ;;
  *)
    echo "gpu-first: there is no part $part; parts are tests, asynchronous," \
      "offload, uneven, export, kernels, 124m, sanitizers and 350m"
    exit 2
    ;;
  esac
done

sh scripts/gpu-build.sh "$build" all bench-programs || exit $?
# The parts take what is built.
BUILT=1
export BUILT
mkdir -p "$build/first"
out=$build/first

# Memory, races in shared memory, reads of memory nobody wrote, barriers. Not of
# cuDNN's kernels, in whose own barriers racecheck sees races, and not of the
# largest sizes, which take minutes.
sanitizers() {
  tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  if [ ! -x "$tool" ]; then
    echo "sanitizers: skipped: there is no compute-sanitizer"
    return 0
  fi
  bad=0
  for check in memcheck racecheck initcheck synccheck; do
    log=$out/$check.log
    RONDO_CASE_SECONDS=120 timeout 140 "$tool" --tool $check --error-exitcode 9 \
      "$build/bin/rondo-cuda-tests" \
      --gtest_filter="${CASES:--*Cudnn*:Wide*}" >"$log" 2>&1
    status=$?
    cases=$(grep -c '^\[       OK' "$log")
    # A case that hangs ends with the status of a time limit as well.
    if [ $status -eq 0 ]; then
      echo "$check: $cases cases, nothing found"
    elif [ $status -eq 124 ] && ! grep -q ' takes more than ' "$log" &&
      ! grep '^========= ' "$log" | grep -v 'SUMMARY: 0 \|terminate success' |
      grep -q 'rror\|Race\|Invalid\|Uninit'; then
      echo "$check: nothing found in the $cases cases that 140 s allowed"
    else
      echo "FAILED $check: status $status after $cases cases; log in $log"
      grep -m 5 -A 8 '^========= [A-Z]' "$log"
      bad=1
    fi
  done
  return $bad
}

run() {
  case $1 in
  tests) sh scripts/test-gpu.sh "$build" ;;
  asynchronous) sh scripts/gpu-asynchronous.sh "$build" ;;
  offload) sh scripts/gpu-offload.sh "$build" ;;
  uneven) sh scripts/gpu-uneven.sh "$build" ;;
  export)
    sh scripts/gpu-export.sh "$build"
    status=$?
    # Nothing to run is no failure.
    [ $status -eq 77 ] || return $status
    ;;
  kernels)
    echo 'GPT-2 124M:'
    timeout 120 "$build/bin/gpt-kernels" || return 1
    echo 'GPT-2 350M:'
    timeout 120 "$build/bin/gpt-kernels" --layers 24 --hidden 1024 --heads 16
    ;;
  sanitizers) sanitizers ;;
  *) python3 bench/gpu/bench.py "$build" --models "$1" --seconds 480 \
    --rounds "${ROUNDS:-3}" ;;
  esac
}

failed=0
: >"$out/results.part"
for part in "$@"; do
  echo "== $part"
  begin=$(date +%s)
  {
    run "$part"
    echo "status $?"
  } 2>&1 | tee "$out/$part.txt"
  status=$(sed -n 's/^status //p' "$out/$part.txt" | tail -n 1)
  echo "$part: $([ "$status" = 0 ] && echo done || echo FAILED)," \
    "$(($(date +%s) - begin)) s; $out/$part.txt" >>"$out/results.part"
  [ "$status" = 0 ] || failed=1
done
mv "$out/results.part" "$out/results.txt"
echo "== results"
cat "$out/results.txt"
exit $failed
