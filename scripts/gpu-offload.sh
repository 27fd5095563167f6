#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-offload.sh BUILD
#
# Activations that leave a GPU, in up to 10 minutes. All ranks share the GPU.
#
#   verify   weights are those of the sequential run, which copies nothing: of a
#            small GPT in bf16 and fp32, and of GPT-2 350M
#   graphs   bf16 checkpoints are equal with and without recorded iterations
#   memory   arenas and host memory of GPT-2 350M without copies, with all that
#            may pay off, and with the fewest that make it fit
#   time     of an iteration of these, the host's share and memory in use, with
#            and without a graph
#
# gpu-build.sh has built BUILD. The last line is `N passed, N failed`. Status 0;
# 1 after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$1
# Seconds for a run; all runs together take at most 10 minutes.
limit=40
out=$build/offload
mkdir -p "$out"
passed=0
failed=0

broken() {
  tail -n 5 "$out/$1.log"
  echo "FAILED $1: $2; log in $out/$1.log"
  failed=$((failed + 1))
}
# run NAME PROGRAM FLAGS...
run() {
  name=$1
  program=$build/bin/$2
  shift 2
  timeout $limit "$program" "$@" >"$out/$name.log" 2>&1
}
verify() {
  name=verify-$1-graph-$2
  if run "$name" "$1" --verify --quiet --iterations "$3" --graph "$2"; then
    passed=$((passed + 1))
    echo "$1, graph $2: $(tail -n 1 "$out/$name.log")"
  else
    broken "$name" "its weights differ, or it failed"
  fi
}

awk -f test/gpu/text.awk >"$out/text"
for dtype in bf16 fp32; do
  verify gpt-offload-$dtype on 6
  verify gpt-offload-$dtype off 3
done
rm -f "$out/on.safetensors" "$out/off.safetensors"
for graph in on off; do
  run bits-graph-$graph gpt-offload-bf16 --data "$out/text" --iterations 50 --quiet \
    --graph $graph --save "$out/$graph.safetensors" || broken bits-graph-$graph "it failed"
done
if cmp "$out/on.safetensors" "$out/off.safetensors"; then
  passed=$((passed + 1))
else
  echo "FAILED: weights depend on the graph"
  failed=$((failed + 1))
fi
for schedule in all fit; do
  verify gpt2-350m-offload-$schedule on 3
done

# Prints the rest of the lines of a log that begin with a word.
field() {
  sed -n "s/^$1: //p" "$out/$name.log"
}
for graph in on off; do
  for schedule in none all fit; do
    name=time-$schedule-graph-$graph
    if run "$name" gpt2-350m-offload-$schedule --data "$out/text" --held-out 0 --iterations 25 \
      --graph $graph; then
      passed=$((passed + 1))
      echo "$schedule, graph $graph: $(sed -n \
        's/^measured iteration[^:]*: \(median [^,]*\),.*/\1/p' "$out/$name.log")" \
        "| host $(field host)" "| memory $(field memory)" \
        "| on the host $(field 'host memory')" \
        "| GPU $(field 'GPUs of this process' | sed 's/;.*//')"
    else
      broken "$name" "it failed"
    fi
  done
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
