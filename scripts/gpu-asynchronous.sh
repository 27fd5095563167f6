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
cd "$(dirname "$0")/.." || exit 1
part=asynchronous
build=$1
. scripts/gpu-part.sh
schedules='pipedream two_versions pipemare timeprest'
iterations=20
# All runs together take at most 10 minutes.
limit=15

# train DTYPE SCHEDULE NAME FLAGS...
train() {
  program=$build/bin/gpt-asynchronous-$1
  schedule=$2
  name=$3
  shift 3
  rm -f "$out/$name.json"
  run "$name" "$program" --data "$out/text" --schedule "$schedule" --drain-every 5 \
    --json-log "$out/$name.json" "$@" && return
  broken "$name" "the program failed"
  return 1
}
# compare_schedule NAME SCHEDULE PERCENT
compare_schedule() {
  sed -n "s/^$2 //p" test/gpu/cpu-losses-asynchronous.txt >"$out/losses"
  compare "$1" "$out/losses" "$3"
}

for schedule in $schedules; do
  limit=40
  verify "verify-$schedule" '' "$build/bin/gpt-asynchronous-bf16" --schedule "$schedule" \
    --verify --quiet --iterations 12 --drain-every 3
  limit=15
  train fp32 "$schedule" "$schedule-fp32" --iterations $iterations &&
    compare_schedule "$schedule-fp32" "$schedule" 0.1
  rm -f "$out/$schedule-bf16.safetensors" "$out/$schedule-no-graph.safetensors"
  train bf16 "$schedule" "$schedule-bf16" --iterations $iterations \
    --save "$out/$schedule-bf16.safetensors" && compare_schedule "$schedule-bf16" "$schedule" 1
  train bf16 "$schedule" "$schedule-no-graph" --iterations $iterations --graph off \
    --save "$out/$schedule-no-graph.safetensors" &&
    same "$schedule-bf16" "$schedule-no-graph" "$schedule: equal weights with and without a graph" \
      "its weights depend on the graph"
done
# In addition to its arenas, the process has memory for the recorded runs in use.
measure() {
  name=time-$1-graph-$2-drain-$3
  train bf16 "$1" "$name" --iterations 300 --drain-every "$3" --graph "$2" || return
  echo "$1, graph $2, drained every $3: $(figures "$name")"
}
limit=20
for schedule in one_f_one_b $schedules; do
  for graph in on off; do
    measure "$schedule" $graph 20
  done
done
measure pipedream on 100

finish
