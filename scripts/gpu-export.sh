#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu-export.sh BUILD
#
# A GPT of PyTorch modules, exported for GPUs, in up to 10 minutes:
#
#   export   how long export and compilation take, and each task against eager
#            execution on three seeds, if Python PYTHON has PyTorch 2.15
#   verify   two runs of each task give equal bits; weights are those of the
#            sequential run, with and without a graph
#   replay   1,000 iterations as a graph end with the weights of 1,000 without
#   memory   memcheck on one iteration; arena and memory in use
#   time     of an iteration: exported, Rondo's own layers, and PyTorch's
#
# gpu-build.sh has built BUILD. BUILD/export/bf16 and BUILD/export/fp32 may have
# programs already, as bench/gpu/exported_gpt.py writes them on another machine.
# FLAGS are more of its flags, such as --hidden 512. The last line is `N passed, N
# failed`. Status 0; 1 after a failure; 77 if there are no programs and no PyTorch.
cd "$(dirname "$0")/.." || exit 1
part='export'
build=$1
. scripts/gpu-part.sh
python=${PYTHON:-python3}
# All runs together take at most 10 minutes.
limit=60

RONDO=${RONDO:-build/bin/rondo}
has_torch=
# Folders of make gpu-bundle have neither.
if [ -d python/rondo ] && [ -x "$RONDO" ]; then
  has_torch=$("$python" -c 'import torch; print(torch.cuda.is_available())' 2>/dev/null)
fi
PYTHONPATH=$PWD/python
export RONDO PYTHONPATH
if [ "$has_torch" = True ]; then
  limit=240
  # Only what this run has exported is checked.
  rm -rf "$out/bf16"
  for seed in 0 1 2; do
    # shellcheck disable=SC2086
    if run export-$seed "$python" bench/gpu/exported_gpt.py "$out/bf16" --seed $seed ${FLAGS:-}; then
      good "export, seed $seed: $(tail -n 2 "$out/export-$seed.log" | paste -sd ' ')"
    else
      broken export-$seed "a task differs from eager execution, or it failed"
    fi
  done
  limit=60
elif [ ! -x "$out/bf16/exported/train" ]; then
  echo "gpu-export: no PyTorch with CUDA in $python, and no programs in $out"
  exit 77
fi

for dtype in bf16 fp32; do
  [ -x "$out/$dtype/exported/train" ] || continue
  folder=$out/$dtype/exported
  if run check-$dtype "$folder/train" --check-bodies; then
    good "$dtype: $(last check-$dtype)"
  else
    broken check-$dtype "two runs of a task differ, or it failed"
  fi
  for graph in on off; do
    verify verify-$dtype-$graph "$dtype, graph $graph: " "$folder/train" --verify --quiet \
      --iterations 3 --graph $graph
    limit=120
    rm -f "$out/$dtype-$graph.safetensors"
    run $dtype-$graph "$folder/train" --init "$folder/init.safetensors" --data "$out/text" \
      --iterations 1000 --quiet --graph $graph --save "$out/$dtype-$graph.safetensors" ||
      broken $dtype-$graph "it failed"
    limit=60
  done
  same $dtype-on $dtype-off "$dtype: equal weights after 1,000 iterations, replayed and not" \
    "its weights depend on the graph"
  rm -f "$out/$dtype-on.safetensors" "$out/$dtype-off.safetensors"
done

folder=$out/bf16
tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$tool" ]; then
  echo "memcheck: skipped: there is no compute-sanitizer"
elif run memcheck "$tool" --tool memcheck --error-exitcode 9 "$folder/exported/train" --verify \
  --quiet --iterations 1 --graph off; then
  good "memcheck: nothing found"
else
  broken memcheck "it found something, or took more than $limit s"
fi
for program in exported/train own; do
  name=time-$(basename $program)
  init=
  [ $program = own ] || init=$folder/exported/init.safetensors
  if run "$name" "$folder/$program" --data "$out/text" --held-out 0 --iterations 25 \
    ${init:+--init "$init"}; then
    good "$program: $(figures "$name" memory)"
  else
    broken "$name" "it failed"
  fi
done
if [ "$has_torch" = True ]; then
  # shellcheck disable=SC2086
  if run pytorch "$python" bench/gpu/exported_gpt.py "$folder" --pytorch ${FLAGS:-}; then
    good "$(last pytorch)"
  else
    broken pytorch "it failed"
  fi
fi

finish
