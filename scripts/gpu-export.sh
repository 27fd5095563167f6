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
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$1
python=${PYTHON:-python3}
# Seconds for a run; all runs together take at most 10 minutes.
limit=60
out=$build/export
mkdir -p "$out"
passed=0
failed=0

good() {
  passed=$((passed + 1))
  echo "$1"
}
broken() {
  tail -n 5 "$out/$1.log"
  echo "FAILED $1: $2; log in $out/$1.log"
  failed=$((failed + 1))
}
# run NAME COMMAND...
run() {
  name=$1
  shift
  timeout $limit "$@" >"$out/$name.log" 2>&1
}
# Prints the rest of the lines of a log that begin with a word.
field() {
  sed -n "s/^$1: //p" "$out/$name.log"
}

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

awk -f test/gpu/text.awk >"$out/text"
for dtype in bf16 fp32; do
  [ -x "$out/$dtype/exported/train" ] || continue
  folder=$out/$dtype/exported
  if run check-$dtype "$folder/train" --check-bodies; then
    good "$dtype: $(tail -n 1 "$out/check-$dtype.log")"
  else
    broken check-$dtype "two runs of a task differ, or it failed"
  fi
  for graph in on off; do
    if run verify-$dtype-$graph "$folder/train" --verify --quiet --iterations 3 --graph $graph; then
      good "$dtype, graph $graph: $(tail -n 1 "$out/verify-$dtype-$graph.log")"
    else
      broken verify-$dtype-$graph "its weights differ, or it failed"
    fi
    limit=120
    rm -f "$out/$dtype-$graph.safetensors"
    run replay-$dtype-$graph "$folder/train" --init "$folder/init.safetensors" --data "$out/text" \
      --iterations 1000 --quiet --graph $graph --save "$out/$dtype-$graph.safetensors" ||
      broken replay-$dtype-$graph "it failed"
    limit=60
  done
  if cmp "$out/$dtype-on.safetensors" "$out/$dtype-off.safetensors"; then
    good "$dtype: equal weights after 1,000 iterations, replayed and not"
  else
    echo "FAILED: weights of $dtype depend on the graph"
    failed=$((failed + 1))
  fi
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
    good "$program: $(sed -n 's/^measured iteration[^:]*: \(median [^,]*\),.*/\1/p' "$out/$name.log") \
| host $(field host) | memory $(field memory) | GPU $(field 'GPUs of this process' | sed 's/;.*//')"
  else
    broken "$name" "it failed"
  fi
done
if [ "$has_torch" = True ]; then
  # shellcheck disable=SC2086
  if run pytorch "$python" bench/gpu/exported_gpt.py "$folder" --pytorch ${FLAGS:-}; then
    good "$(tail -n 1 "$out/pytorch.log")"
  else
    broken pytorch "it failed"
  fi
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
