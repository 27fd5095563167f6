#!/bin/sh
# test-gpu.sh BUILD
#
# Tests the CUDA target on a machine with a GPU: kernels and bodies against their
# references, the conformance suite, and the committed programs, whose losses are
# compared with those of the CPU. What it needs is in gpu-build.sh.
#
#   RONDO_NCCL_WHEELS=FOLDER  a folder with a wheel of nvidia-nccl-cu13 (2.30 or
#                             later), with which several ranks share one GPU
#
# The last line is `N passed, N failed, N skipped`. Status 0; 1 after a failure;
# 77 where there is no device.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
passed=0
failed=0
skipped=0

finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  exit "$1"
}
broken() {
  echo "FAILED $1"
  failed=$((failed + 1))
}

sh scripts/gpu-build.sh "$build" all
status=$?
if [ $status -eq 77 ]; then
  skipped=1
  finish 77
elif [ $status -ne 0 ]; then
  broken "the build"
  finish 1
fi

# Adds up a run of GoogleTest: run_cases NAME COMMAND...
run_cases() {
  name=$1
  shift
  out=$build/$name.log
  timeout 240 "$@" >"$out" 2>&1
  status=$?
  count() {
    sed -n "s/^\[  $1 *\] \([0-9][0-9]*\) test.*/\1/p" "$out" | head -n 1
  }
  good=$(count PASSED)
  bad=$(count FAILED)
  left=$(count SKIPPED)
  passed=$((passed + ${good:-0}))
  failed=$((failed + ${bad:-0}))
  skipped=$((skipped + ${left:-0}))
  echo "$name: ${good:-0} passed, ${bad:-0} failed, ${left:-0} skipped"
  sed -n 's/^\[  FAILED  \] \([^,]*\)$/FAILED \1/p' "$out" | sort -u
  # Killed, or ended before it could count.
  if [ $status -ne 0 ] && [ -z "${bad:-}" ]; then
    tail -n 20 "$out"
    broken "$name ended with status $status; log in $out"
  fi
}

# Trains a committed program and compares its losses, in the mean over
# iterations 10 to 50, with the CPU's: train NAME PROGRAM PERCENT FLAGS...
train() {
  name=$1
  program=$2
  percent=$3
  shift 3
  out=$build/$name.log
  rm -f "$build/$name.json"
  if ! timeout 120 "$build/bin/$program" --data "$build/text" --iterations 50 \
    --quiet --json-log "$build/$name.json" "$@" >"$out" 2>&1; then
    tail -n 5 "$out"
    broken "$name: the program failed; log in $out"
    return
  fi
  if sed -n 's/.*"iteration":\([0-9]*\),"loss":\([0-9.]*\),.*/\1 \2/p' \
    "$build/$name.json" | awk -v percent="$percent" -v name="$name" '
      NR == FNR { cpu[$1] = $2; next }
      $1 >= 10 && $1 in cpu {
        difference = $2 / cpu[$1] - 1
        sum += difference < 0 ? -difference : difference
        ++n
      }
      END {
        if (n != 41) { print name ": " n " losses instead of 41"; exit 1 }
        printf "%s: losses differ from the CPU by %.4f %% in the mean\n", \
          name, 100 * sum / n
        exit !(100 * sum / n <= percent)
      }' test/gpu/cpu-losses.txt -; then
    passed=$((passed + 1))
  else
    broken "$name: at most $percent % is allowed"
  fi
}

# Tests
[ -x "$build/bin/rondo-cuda-tests" ] && run_cases kernels "$build/bin/rondo-cuda-tests"

awk -f test/gpu/text.awk >"$build/text"
for graph in on off; do
  train "bf16-graph-$graph" gpt-small-bf16 1 --graph $graph
  train "fp32-graph-$graph" gpt-small-fp32 0.1 --graph $graph
done

[ $failed -eq 0 ] && finish 0
finish 1
