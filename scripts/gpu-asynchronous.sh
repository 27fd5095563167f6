#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-asynchronous.sh BUILD
#
# Schedules whose iterations overlap, on a GPU, in up to 10 minutes. All ranks of
# examples/gpt-asynchronous.mlir share the GPU. For each schedule:
#
#   verify   bf16 weights are those of the sequential run with a history
#   losses   in fp32 within 0.1 % of the CPU's, in bf16 within 1 %, in the mean
#   graphs   bf16 checkpoints are equal with and without recorded runs
#   time     of an iteration, the host's share and memory in use, with and
#            without a graph
#
# gpu-build.sh has built BUILD. The last line is `N passed, N failed`. Status 0;
# 1 after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$1
schedules='pipedream two_versions pipemare timeprest'
iterations=20
# Limit of a run, in s: all together take at most 10 minutes.
limit=15
out=$build/asynchronous
mkdir -p "$out"
passed=0
failed=0

broken() {
  echo "FAILED $1"
  failed=$((failed + 1))
}
# train DTYPE SCHEDULE NAME FLAGS...
train() {
  program=$build/bin/gpt-asynchronous-$1
  schedule=$2
  name=$3
  shift 3
  rm -f "$out/$name.json"
  timeout $limit "$program" --data "$out/text" --schedule "$schedule" \
    --drain-every 5 --json-log "$out/$name.json" "$@" >"$out/$name.log" 2>&1 && return
  tail -n 5 "$out/$name.log"
  broken "$name: the program failed; log in $out/$name.log"
  return 1
}
# Compares the losses of a log with the CPU's: compare NAME SCHEDULE PERCENT
compare() {
  if sed -n 's/.*"iteration":\([0-9]*\),.*"loss":\([0-9.]*\),.*/\1 \2/p' \
    "$out/$1.json" | awk -v percent="$3" -v name="$1" -v schedule="$2" \
      -v most="$iterations" '
      NR == FNR { if ($1 == schedule) cpu[$2] = $3; next }
      $1 in cpu {
        difference = $2 / cpu[$1] - 1
        sum += difference < 0 ? -difference : difference
        ++n
      }
      END {
        if (n != most) { print name ": " n + 0 " losses instead of " most; exit 1 }
        printf "%s: losses differ from the CPU by %.4f %% in the mean\n", name, 100 * sum / n
        exit !(100 * sum / n <= percent)
      }' test/gpu/cpu-losses-asynchronous.txt -; then
    passed=$((passed + 1))
  else
    broken "$1: at most $3 % is allowed"
  fi
}

awk -f test/gpu/text.awk >"$out/text"
for schedule in $schedules; do
  if timeout 40 "$build/bin/gpt-asynchronous-bf16" --schedule "$schedule" \
    --verify --quiet --iterations 12 --drain-every 3 >"$out/verify-$schedule.log" 2>&1; then
    passed=$((passed + 1))
    tail -n 1 "$out/verify-$schedule.log"
  else
    tail -n 5 "$out/verify-$schedule.log"
    broken "$schedule: its weights differ; log in $out/verify-$schedule.log"
  fi
  train fp32 "$schedule" "$schedule-fp32" --iterations $iterations &&
    compare "$schedule-fp32" "$schedule" 0.1
  rm -f "$out/on.safetensors" "$out/off.safetensors"
  train bf16 "$schedule" "$schedule-bf16" --iterations $iterations \
    --save "$out/on.safetensors" && compare "$schedule-bf16" "$schedule" 1
  if train bf16 "$schedule" "$schedule-no-graph" --iterations $iterations \
    --graph off --save "$out/off.safetensors"; then
    if cmp "$out/on.safetensors" "$out/off.safetensors"; then
      passed=$((passed + 1))
    else
      broken "$schedule: weights depend on the graph"
    fi
  fi
done
# In addition to its arenas, the process has memory for the recorded runs in use.
measure() {
  name=time-$1-graph-$2-drain-$3
  train bf16 "$1" "$name" --iterations 300 --drain-every "$3" --graph "$2" || return
  echo "$1, graph $2, drained every $3: $(sed -n \
    -e 's/^measured iteration[^:]*: \(median [^,]*\),.*/\1/p' \
    -e 's/^host[^:]*: \(median .*\)/host \1/p' \
    -e 's/^GPUs of this process: \(.*\);.*/\1/p' "$out/$name.log" | paste -s -d';')"
}
limit=20
for schedule in one_f_one_b $schedules; do
  for graph in on off; do
    measure "$schedule" $graph 20
  done
done
measure pipedream on 100

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
