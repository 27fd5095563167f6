#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-uneven.sh BUILD
#
# Micro-batches that are rows of documents, on a GPU, in up to 5 minutes. All
# ranks share the GPU.
#
#   verify     weights are those of the sequential run: of a GPT in bf16 and fp32
#              and of a Llama in bf16, with and without recorded iterations; of
#              a GPT whose documents are drawn for each iteration
#   losses     of the GPT in fp32 within 0.1 % of the CPU's, in bf16 within 1 %,
#              in the mean
#   graphs     bf16 checkpoints are equal with and without recorded iterations
#   documents  checkpoints of rows of one document are those of samples
#   resumed    a run on drawn documents that is resumed ends with the same bits
#   time       of an iteration of GPT-2 124M, the host's share and memory in use:
#              samples with the attention of choice and with own kernels, and
#              documents as long, shorter, of lengths that differ, and drawn
#
# gpu-build.sh has built BUILD. The last line is `N passed, N failed`. Status 0;
# 1 after a failure.
cd "$(dirname "$0")/.." || exit 1
part=uneven
build=$1
. scripts/gpu-part.sh
iterations=20
# All runs together take at most 5 minutes.
limit=14

# train NAME PROGRAM FLAGS...: saves NAME.safetensors
train() {
  rm -f "$out/$1.json" "$out/$1.safetensors"
  name=$1
  program=$build/bin/$2
  shift 2
  run "$name" "$program" "$@" --data "$out/text" --iterations $iterations --quiet --json-log "$out/$name.json" \
    --save "$out/$name.safetensors" || broken "$name" "it failed"
}
# equal NAME NAME WHAT
equal() {
  same "$1" "$2" "$3: equal" "$3: the checkpoint is not that of $1"
}

# Documents of many lengths, each a file.
mkdir -p "$out/documents"
for tokens in 9 23 41 77 120 131 200 256 301 383 512 700; do
  head -c "$tokens" "$out/text" >"$out/documents/$tokens.txt"
done
for program in gpt-documents-bf16 gpt-documents-fp32 llama-documents-bf16 gpt-drawn-bf16; do
  for graph in on off; do
    verify "verify-$program-graph-$graph" "$program, graph $graph: " "$build/bin/$program" \
      --verify --quiet --iterations 4 --graph $graph
  done
done
train fp32 gpt-documents-fp32
compare fp32 test/gpu/cpu-losses-uneven.txt 0.1
train bf16 gpt-documents-bf16
compare bf16 test/gpu/cpu-losses-uneven.txt 1
train bf16-no-graph gpt-documents-bf16 --graph off
equal bf16 bf16-no-graph 'with and without a graph'
train one-sample gpt-one-sample-bf16 --attention own
train one-document gpt-one-document-bf16
equal one-sample one-document 'samples and rows of one document'

rm -f "$out/half.safetensors"
if run half "$build/bin/gpt-drawn-bf16" --data "$out/documents" --held-out 0 --iterations 6 --decay 12 --quiet \
  --save "$out/half.safetensors"; then
  for name in whole resumed; do
    resume=
    [ $name = whole ] || resume=$out/half.safetensors
    run $name "$build/bin/gpt-drawn-bf16" --data "$out/documents" --held-out 0 --iterations 12 --decay 12 \
      --quiet --save "$out/$name.safetensors" ${resume:+--resume "$resume" --graph off} || broken "$name" "it failed"
  done
  equal whole resumed 'drawn documents, resumed without a graph'
else
  broken half "it failed"
fi

# measure NAME PROGRAM FLAGS...
measure() {
  what=$1
  program=$build/bin/$2
  shift 2
  if run "time-$what" "$program" "$@" --data "$out/text" --held-out 0 --iterations 40; then
    good "$what: $(figures "time-$what" attention)"
  else
    broken "time-$what" "it failed"
  fi
}
measure samples gpt2-124m-even
measure samples-own gpt2-124m-even --attention own
for documents in long short mixed drawn; do
  measure $documents gpt2-124m-$documents-documents
done

finish
