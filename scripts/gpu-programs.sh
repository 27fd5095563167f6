#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-programs.sh RONDO FOLDER
#
# Uses the command RONDO to write the programs that test/gpu builds: those of
# `make test-gpu` into FOLDER/tests, those of `make bench-gpu` into FOLDER/bench.
# A folder that is already there keeps the programs that have not changed, so
# that a build does not compile them again.
set -eu
cd "$(dirname "$0")/.."
rondo=$1
to=$2
new=$to.new
rm -rf "$new"
trap 'rm -rf "$new"' EXIT
mkdir -p "$new/tests" "$new/bench"

# program NAME MODEL DTYPE FLAGS...
program() {
  name=$1
  model=$2
  dtype=$3
  shift 3
  "$rondo" compile "$model" --target=cuda --dtype="$dtype" --emit=cpp \
    -o "$new/tests/$name.cpp" "$@"
}
program gpt-small-bf16 examples/gpt-small.mlir bf16
program gpt-small-fp32 examples/gpt-small.mlir fp32
program llama-small-bf16 examples/llama-small.mlir bf16
program llama-small-fp32 examples/llama-small.mlir fp32
program gpt-sharded-bf16 examples/gpt-sharded.mlir bf16
program gpt-two-ranks-bf16 test/gpu/Inputs/gpt-two-ranks.mlir bf16
for dtype in bf16 fp32; do
  program gpt-asynchronous-$dtype examples/gpt-asynchronous.mlir $dtype \
    --schedule pipedream,two_versions,pipemare,timeprest,one_f_one_b
done
for dtype in bf16 fp32; do
  program gpt-offload-$dtype test/e2e/Inputs/offload-cuda.mlir $dtype
done
for dtype in bf16 fp32; do
  program gpt-documents-$dtype test/gpu/Inputs/uneven.mlir $dtype --schedule gpt_rows
done
program gpt-drawn-bf16 test/gpu/Inputs/uneven.mlir bf16 --schedule gpt_drawn
program llama-documents-bf16 test/gpu/Inputs/uneven.mlir bf16 --schedule llama_rows
# Rows of one document, and samples of its length under a schedule of this name.
sed 's/^ *documents \[\[384\], .*\] {$/    {/' test/gpu/Inputs/uneven.mlir >"$new/samples.mlir"
program gpt-one-document-bf16 test/gpu/Inputs/uneven.mlir bf16 --schedule one_document
program gpt-one-sample-bf16 "$new/samples.mlir" bf16 --schedule one_document
for schedule in even long_documents short_documents mixed_documents drawn_documents; do
  "$rondo" compile bench/gpu/gpt2-124m-documents.mlir --schedule $schedule --emit=cpp \
    -o "$new/bench/gpt2-124m-$(echo $schedule | tr _ -).cpp"
done
for schedule in none all fit; do
  "$rondo" compile bench/gpu/gpt2-350m-offload.mlir --schedule $schedule --emit=cpp \
    -o "$new/bench/gpt2-350m-offload-$schedule.cpp"
done
for model in gpt2-124m gpt2-350m; do
  for schedule in one_stage four_stages; do
    "$rondo" compile bench/gpu/$model.mlir --schedule $schedule --emit=cpp \
      -o "$new/bench/$model-$schedule.cpp"
  done
done

for part in tests bench; do
  mkdir -p "$to/$part"
  for program in "$to/$part"/*; do
    [ -e "$new/$part/${program##*/}" ] || rm -f "$program"
  done
  for program in "$new/$part"/*; do
    cmp -s "$program" "$to/$part/${program##*/}" || cp "$program" "$to/$part/"
  done
done
