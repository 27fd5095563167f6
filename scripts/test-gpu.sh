#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# test-gpu.sh BUILD
#
# Tests the CUDA target on a machine with a GPU: kernels and bodies against
# their references, the conformance suite, and programs that rondo wrote, whose
# losses are compared with the CPU's. gpu-build.sh lists what it needs.
#
# NCCL 2.30 or later can share one GPU among several ranks. If the installed one
# is older, RONDO_NCCL_WHEELS provides another.
#
# The last line is `N passed, N failed, N skipped`. Status 0; 1 after a failure;
# 77 without a device.
set -u
# Numbers have a decimal point, whatever the user's locale says.
export LC_ALL=C
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

# The cases of a GoogleTest log with a given result: cases WORD LOG
cases() {
  sed -n "s/^\[ *$1 *\] \(.*\) ([0-9]* ms)\$/\1/p" "$2" |
    sed 's/, where .*//'
}

# Runs the cases of an executable: run_cases NAME SECONDS PROGRAM. A case that
# ends the program is a failure, even if test/gpu/Main.cpp ended it because it
# hung, and the cases after it still run. The first of the other failures runs
# again alone, since after an error on a GPU nothing works in the process.
run_cases() {
  name=$1
  seconds=$2
  program=$3
  out=$build/$name.log
  : >"$out"
  begin=$(date +%s)
  culprits=0
  ran=
  while :; do
    timeout "$seconds" "$program" --gtest_filter="*-$ran" >"$out.part" 2>&1
    status=$?
    cat "$out.part" >>"$out"
    grep -q '^\[  PASSED  \]' "$out.part" && break
    # It ended before it could count.
    tail -n 8 "$out.part"
    culprit=$(sed -n 's/^\[ RUN      \] //p' "$out.part" | tail -n 1)
    broken "${culprit:-$name}: it ended with status $status; log in $out"
    culprits=$((culprits + 1))
    [ -n "$culprit" ] || break
    ran=$(sed -n 's/^\[ RUN      \] //p' "$out" | tr '\n' ':')
    if [ $(($(date +%s) - begin)) -ge "$seconds" ]; then
      broken "$name: no time is left for its other cases"
      culprits=$((culprits + 1))
      break
    fi
  done
  good=$(cases OK "$out" | wc -l)
  bad=$(cases FAILED "$out" | wc -l)
  left=$(cases SKIPPED "$out" | wc -l)
  passed=$((passed + good))
  failed=$((failed + bad))
  skipped=$((skipped + left))
  echo "$name: $((good)) passed, $((bad + culprits)) failed, $((left)) skipped"
  again=8
  for case in $(cases FAILED "$out"); do
    if [ $again -eq 0 ]; then
      echo "FAILED $case; log in $out"
      continue
    fi
    again=$((again - 1))
    if timeout 20 "$program" --gtest_filter="$case" >"$out.alone" 2>&1; then
      echo "FAILED $case, but passed when run alone"
    else
      echo "FAILED $case"
      grep -m 3 -A 3 ': Failure\|threw' "$out.alone"
      grep -m 3 'cublasLt.*Error' "$out.alone"
    fi
  done
}

# Compares the losses in NAME's log, averaged over iterations 10 to 50, with the
# CPU's: compare NAME PROGRAM PERCENT
compare() {
  case $2 in
  llama-*) losses=test/gpu/cpu-losses-llama.txt ;;
  gpt-sharded-*) losses=test/gpu/cpu-losses-sharded.txt ;;
  *) losses=test/gpu/cpu-losses.txt ;;
  esac
  if sed -n 's/.*"iteration":\([0-9]*\),"loss":\([0-9.]*\),.*/\1 \2/p' \
    "$build/$1.json" | awk -v percent="$3" -v name="$1" '
      NR == FNR { cpu[$1] = $2; next }
      $1 >= 10 && $1 in cpu {
        difference = $2 / cpu[$1] - 1
        sum += difference < 0 ? -difference : difference
        ++n
      }
      END {
        if (n != 41) { print name ": " n + 0 " losses instead of 41"; exit 1 }
        printf "%s: losses differ from the CPU by %.4f %% in the mean\n", \
          name, 100 * sum / n
        exit !(100 * sum / n <= percent)
      }' "$losses" -; then
    passed=$((passed + 1))
  else
    broken "$1: at most $3 % is allowed"
  fi
}

# Trains a program: train NAME PROGRAM PERCENT FLAGS...
train() {
  name=$1
  program=$2
  percent=$3
  shift 3
  rm -f "$build/$name.json"
  if timeout 60 "$build/bin/$program" --data "$build/text" --iterations 50 \
    --quiet --json-log "$build/$name.json" "$@" >"$build/$name.log" 2>&1; then
    compare "$name" "$program" "$percent"
  else
    tail -n 5 "$build/$name.log"
    broken "$name: the program failed; log in $build/$name.log"
  fi
}

# Compares a program's weights with those of the sequential one: verify PROGRAM
verify() {
  if timeout 60 "$build/bin/$1" --verify --quiet >"$build/verify-$1.log" 2>&1; then
    passed=$((passed + 1))
    sed -n "s/^verify: PASS/$1:/p" "$build/verify-$1.log"
  else
    tail -n 5 "$build/verify-$1.log"
    broken "$1: its weights differ; log in $build/verify-$1.log"
  fi
}

# The same as train with a process per rank, connected by NCCL: train_processes NAME
# PROGRAM PERCENT PROCESSES FLAGS...
train_processes() {
  name=$1
  program=$2
  percent=$3
  count=$4
  shift 4
  meeting=$build/$name.meeting
  rm -rf "$build/$name.json" "$meeting"
  pids=
  for rank in $(seq 0 $((count - 1))); do
    timeout 60 "$build/bin/$program" --data "$build/text" --iterations 50 \
      --quiet --json-log "$build/$name.json" --rank "$rank" \
      --world-size "$count" --local-rank "$rank" \
      --rdzv "file://$(readlink -f "$build")/$name.meeting" "$@" \
      >"$build/$name.$rank.log" 2>&1 &
    pids="$pids $!"
  done
  rank=0
  good=1
  for pid in $pids; do
    if ! wait "$pid"; then
      good=0
      tail -n 5 "$build/$name.$rank.log"
      echo "$name: rank $rank failed; log in $build/$name.$rank.log"
    fi
    rank=$((rank + 1))
  done
  if [ $good -eq 1 ]; then
    compare "$name" "$program" "$percent"
  else
    broken "$name"
  fi
}

# From 2.30 on NCCL accepts several ranks on one GPU, if told to.
shares=0
header=$(sed -n 's/^RONDO_NCCL_INCLUDE_DIR:[^=]*=//p' "$build/CMakeCache.txt")
if [ -r "$header/nccl.h" ]; then
  version=$(awk '$2 == "NCCL_VERSION_CODE" && $3 + 0 > 0 { print $3; exit }' \
    "$header/nccl.h")
else
  # Built on another machine.
  version=$(cat "$build/nccl.version" 2>/dev/null)
fi
if [ "${version:-0}" -ge 23000 ]; then
  shares=1
  # NVLink SHARP needs a GPU per rank.
  NCCL_MULTI_RANK_GPU_ENABLE=1
  NCCL_NVLS_ENABLE=0
  export NCCL_MULTI_RANK_GPU_ENABLE NCCL_NVLS_ENABLE
fi
if [ -n "${RONDO_NCCL_WHEELS:-}" ]; then
  # Takes precedence over any other in the environment.
  library=$(sed -n 's/^RONDO_NCCL:[^=]*=//p' "$build/CMakeCache.txt")
  LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
fi
gpus=$("$build/probe" | sed 's/ .*//')

# Runs the tests. cuBLASLt logs why it refuses a product.
CUBLASLT_LOG_LEVEL=1
export CUBLASLT_LOG_LEVEL
run_cases kernels 150 "$build/bin/rondo-cuda-tests"
run_cases conformance 150 "$build/bin/rondo-conformance-tests"

awk -f test/gpu/text.awk >"$build/text"
for graph in on off; do
  train "bf16-graph-$graph" gpt-small-bf16 1 --graph $graph
  train "fp32-graph-$graph" gpt-small-fp32 0.1 --graph $graph
  train "llama-bf16-graph-$graph" llama-small-bf16 1 --graph $graph
  train "llama-fp32-graph-$graph" llama-small-fp32 0.1 --graph $graph
  train "sharded-bf16-graph-$graph" gpt-sharded-bf16 1 --graph $graph
done
for program in gpt-small-bf16 llama-small-bf16 gpt-sharded-bf16; do
  verify $program
done
for graph in on off; do
  if [ $shares -eq 1 ] || [ "$gpus" -ge 4 ]; then
    train_processes "nccl-graph-$graph" gpt-small-bf16 1 4 --graph $graph
    train_processes "nccl-sharded-graph-$graph" gpt-sharded-bf16 1 4 \
      --graph $graph
  elif [ "$gpus" -ge 2 ]; then
    train_processes "nccl-graph-$graph" gpt-two-ranks-bf16 1 2 --graph $graph
  else
    echo "nccl-graph-$graph: skipped: needs two GPUs or NCCL 2.30"
    skipped=$((skipped + 1))
  fi
done

[ $failed -eq 0 ] && finish 0
finish 1
