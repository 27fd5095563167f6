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
cd "$(dirname "$0")/.." || exit 1
part=offload
build=$1
. scripts/gpu-part.sh
# All runs together take at most 10 minutes.
limit=40

# verify_graph PROGRAM on|off ITERATIONS
verify_graph() {
  verify "verify-$1-graph-$2" "$1, graph $2: " "$build/bin/$1" --verify --quiet \
    --iterations "$3" --graph "$2"
}
for dtype in bf16 fp32; do
  verify_graph gpt-offload-$dtype on 6
  verify_graph gpt-offload-$dtype off 3
done
rm -f "$out/graph-on.safetensors" "$out/graph-off.safetensors"
for graph in on off; do
  run graph-$graph "$build/bin/gpt-offload-bf16" --data "$out/text" --iterations 50 --quiet \
    --graph $graph --save "$out/graph-$graph.safetensors" || broken graph-$graph "it failed"
done
same graph-on graph-off "equal weights with and without a graph" "its weights depend on the graph"
for schedule in all fit; do
  verify_graph gpt2-350m-offload-$schedule on 3
done
for graph in on off; do
  for schedule in none all fit; do
    name=time-$schedule-graph-$graph
    if run "$name" "$build/bin/gpt2-350m-offload-$schedule" --data "$out/text" --held-out 0 \
      --iterations 25 --graph $graph; then
      good "$schedule, graph $graph: $(figures "$name" memory 'host memory')"
    else
      broken "$name" "it failed"
    fi
  done
done

finish
