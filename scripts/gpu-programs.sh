#!/bin/sh
# gpu-programs.sh BUILD [FOLDER]
#
# Writes the programs that test/gpu and bench/gpu build on machines without MLIR,
# with the tools of BUILD, into the repository or FOLDER: of each bundle what is
# not the repository's own runtime. To be run after a change of what rondo emits
# or of the runtime's buffer sizes; a test compares them.
set -eu
cd "$(dirname "$0")/.."
rondo=$1/bin/rondo
to=${2:-.}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for dtype in bf16 fp32; do
  name=gpt-small-$dtype
  "$rondo" bundle examples/gpt-small.mlir --target=cuda --dtype=$dtype \
    -o "$scratch/$name"
  # Complete, and nothing but the repository's.
  diff -r runtime "$scratch/$name/runtime"
  diff -r cmake "$scratch/$name/cmake"
  mkdir -p "$to/test/gpu/bundles/$name"
  for file in README.md CMakeLists.txt train.cpp; do
    cp "$scratch/$name/$file" "$to/test/gpu/bundles/$name/"
  done
done
mkdir -p "$to/bench/gpu/programs"
for model in gpt2-124m gpt2-350m; do
  for schedule in one_stage four_stages; do
    "$rondo" compile bench/gpu/$model.mlir --schedule $schedule --emit=cpp \
      -o "$to/bench/gpu/programs/$model-$schedule.cpp"
  done
done
