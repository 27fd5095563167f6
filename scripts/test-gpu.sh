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
  timeout 120 "$@" >"$out" 2>&1
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

# Compares the losses of NAME's log, in the mean over iterations 10 to 50, with
# those of the CPU: compare NAME PERCENT
compare() {
  if sed -n 's/.*"iteration":\([0-9]*\),"loss":\([0-9.]*\),.*/\1 \2/p' \
    "$build/$1.json" | awk -v percent="$2" -v name="$1" '
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
      }' test/gpu/cpu-losses.txt -; then
    passed=$((passed + 1))
  else
    broken "$1: at most $2 % is allowed"
  fi
}

# Trains a committed program: train NAME PROGRAM PERCENT FLAGS...
train() {
  name=$1
  program=$2
  percent=$3
  shift 3
  rm -f "$build/$name.json"
  if timeout 120 "$build/bin/$program" --data "$build/text" --iterations 50 \
    --quiet --json-log "$build/$name.json" "$@" >"$build/$name.log" 2>&1; then
    compare "$name" "$percent"
  else
    tail -n 5 "$build/$name.log"
    broken "$name: the program failed; log in $build/$name.log"
  fi
}

# The same in a process for each rank, which talk by NCCL:
# train_processes NAME PROGRAM PERCENT PROCESSES FLAGS...
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
    timeout 120 "$build/bin/$program" --data "$build/text" --iterations 50 \
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
    compare "$name" "$percent"
  else
    broken "$name"
  fi
}

# NCCL takes several ranks on one GPU from 2.30 on, when it is told to.
nccl=
if [ -n "${RONDO_NCCL_WHEELS:-}" ]; then
  for wheel in "$RONDO_NCCL_WHEELS"/nvidia_nccl_cu*.whl; do
    mkdir -p "$build/nccl" &&
      (cd "$build/nccl" && cmake -E tar xf "$(readlink -f "$wheel")") &&
      nccl=$(readlink -f "$build/nccl/nvidia/nccl/lib")
  done
  if [ ! -e "$nccl/libnccl.so.2" ]; then
    broken "no wheel of nvidia-nccl-cu13 in $RONDO_NCCL_WHEELS"
    nccl=
  fi
fi
if [ -n "$nccl" ]; then
  LD_LIBRARY_PATH=$nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  NCCL_MULTI_RANK_GPU_ENABLE=1
  export LD_LIBRARY_PATH NCCL_MULTI_RANK_GPU_ENABLE
fi
gpus=$("$build/probe" | sed 's/ .*//')

# Tests
run_cases kernels "$build/bin/rondo-cuda-tests"
run_cases conformance "$build/bin/rondo-conformance-tests"

awk -f test/gpu/text.awk >"$build/text"
for graph in on off; do
  train "bf16-graph-$graph" gpt-small-bf16 1 --graph $graph
  train "fp32-graph-$graph" gpt-small-fp32 0.1 --graph $graph
done
for graph in on off; do
  if [ -n "$nccl" ] || [ "$gpus" -ge 4 ]; then
    train_processes "nccl-graph-$graph" gpt-small-bf16 1 4 --graph $graph
  elif [ "$gpus" -ge 2 ]; then
    train_processes "nccl-graph-$graph" gpt-two-ranks-bf16 1 2 --graph $graph
  else
    echo "nccl-graph-$graph: skipped: it takes two GPUs or RONDO_NCCL_WHEELS"
    skipped=$((skipped + 1))
  fi
done

[ $failed -eq 0 ] && finish 0
finish 1
