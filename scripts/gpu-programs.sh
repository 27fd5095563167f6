#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-programs.sh BUILD [FOLDER]
#
# Uses the tools of BUILD to write the programs that test/gpu and bench/gpu
# build on machines without MLIR, into the repository or FOLDER: of each bundle,
# the files that are not the repository's own runtime. Run it after a change of
# what rondo emits or of the runtime's buffer sizes; a test compares them.
set -eu
cd "$(dirname "$0")/.."
rondo=$1/bin/rondo
to=${2:-.}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# bundle NAME MODEL DTYPE
bundle() {
  "$rondo" bundle "$2" --target=cuda --dtype="$3" -o "$scratch/$1"
  # The bundle has only the repository's files, and all of the runtime.
  diff -r kinds "$scratch/$1/kinds"
  diff -r runtime "$scratch/$1/runtime"
  for file in "$scratch/$1"/cmake/*; do
    diff "cmake/$(basename "$file")" "$file"
  done
  mkdir -p "$to/test/gpu/bundles/$1"
  for file in README.md CMakeLists.txt train.cpp; do
    cp "$scratch/$1/$file" "$to/test/gpu/bundles/$1/"
  done
}
bundle gpt-small-bf16 examples/gpt-small.mlir bf16
bundle gpt-small-fp32 examples/gpt-small.mlir fp32
bundle llama-small-bf16 examples/llama-small.mlir bf16
bundle llama-small-fp32 examples/llama-small.mlir fp32
bundle gpt-sharded-bf16 examples/gpt-sharded.mlir bf16
bundle gpt-two-ranks-bf16 test/gpu/Inputs/gpt-two-ranks.mlir bf16

mkdir -p "$to/bench/gpu/programs"
for model in gpt2-124m gpt2-350m; do
  for schedule in one_stage four_stages; do
    "$rondo" compile bench/gpu/$model.mlir --schedule $schedule --emit=cpp \
      -o "$to/bench/gpu/programs/$model-$schedule.cpp"
  done
done
