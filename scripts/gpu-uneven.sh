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
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
build=$1
iterations=20
# Of a run, s: all together take at most 5 minutes.
limit=14
out=$build/uneven
mkdir -p "$out"
passed=0
failed=0

broken() {
  [ ! -e "$out/$1.log" ] || tail -n 5 "$out/$1.log"
  echo "FAILED $1: $2; logs in $out"
  failed=$((failed + 1))
}
# run NAME PROGRAM FLAGS...
run() {
  name=$1
  binary=$build/bin/$2
  shift 2
  timeout $limit "$binary" "$@" >"$out/$name.log" 2>&1
}
# train NAME PROGRAM FLAGS...: saves NAME.safetensors
train() {
  rm -f "$out/$1.json" "$out/$1.safetensors"
  run "$@" --data "$out/text" --iterations $iterations --quiet --json-log "$out/$1.json" \
    --save "$out/$1.safetensors" || broken "$1" "it failed"
}
# Compares two checkpoints: same NAME NAME WHAT
same() {
  if cmp "$out/$1.safetensors" "$out/$2.safetensors"; then
    passed=$((passed + 1))
    echo "$3: equal"
  else
    broken "$2" "$3: the checkpoint is not that of $1"
  fi
}
# Compares the losses of a log with the CPU's: compare NAME PERCENT
compare() {
  if sed -n 's/.*"iteration":\([0-9]*\),.*"loss":\([0-9.]*\),.*/\1 \2/p' \
    "$out/$1.json" | awk -v percent="$2" -v name="$1" -v most="$iterations" '
      NR == FNR { cpu[$1] = $2; next }
      $1 in cpu {
        difference = $2 / cpu[$1] - 1
        sum += difference < 0 ? -difference : difference
        ++n
      }
      END {
        if (n != most) { print name ": " n + 0 " losses instead of " most; exit 1 }
        printf "%s: losses differ from the CPU by %.4f %% in the mean\n", name, 100 * sum / n
        exit !(100 * sum / n <= percent)
      }' test/gpu/cpu-losses-uneven.txt -; then
    passed=$((passed + 1))
  else
    broken "$1" "at most $2 % is allowed"
  fi
}

awk -f test/gpu/text.awk >"$out/text"
# Documents of many lengths, each a file.
mkdir -p "$out/documents"
for tokens in 9 23 41 77 120 131 200 256 301 383 512 700; do
  head -c "$tokens" "$out/text" >"$out/documents/$tokens.txt"
done
for program in gpt-documents-bf16 gpt-documents-fp32 llama-documents-bf16 gpt-drawn-bf16; do
  for graph in on off; do
    name=verify-$program-graph-$graph
    if run "$name" $program --verify --quiet --iterations 4 --graph $graph; then
      passed=$((passed + 1))
      echo "$program, graph $graph: $(tail -n 1 "$out/$name.log")"
    else
      broken "$name" "its weights differ, or it failed"
    fi
  done
done
train fp32 gpt-documents-fp32
compare fp32 0.1
train bf16 gpt-documents-bf16
compare bf16 1
train bf16-no-graph gpt-documents-bf16 --graph off
same bf16 bf16-no-graph 'with and without a graph'
train one-sample gpt-one-sample-bf16 --attention own
train one-document gpt-one-document-bf16
same one-sample one-document 'samples and rows of one document'

rm -f "$out/half.safetensors"
if run half gpt-drawn-bf16 --data "$out/documents" --held-out 0 --iterations 6 --decay 12 --quiet \
  --save "$out/half.safetensors"; then
  for name in whole resumed; do
    resume=
    [ $name = whole ] || resume=$out/half.safetensors
    run $name gpt-drawn-bf16 --data "$out/documents" --held-out 0 --iterations 12 --decay 12 \
      --quiet --save "$out/$name.safetensors" ${resume:+--resume "$resume" --graph off} || broken $name "it failed"
  done
  same whole resumed 'drawn documents, resumed without a graph'
else
  broken half "it failed"
fi

# Prints the rest of the lines of a log that begin with a word.
field() {
  sed -n "s/^$1: //p" "$out/$name.log"
}
# measure NAME PROGRAM FLAGS...
measure() {
  name=time-$1
  what=$1
  shift
  if run "$name" "$@" --data "$out/text" --held-out 0 --iterations 40; then
    passed=$((passed + 1))
    echo "$what: $(sed -n \
      's/^measured iteration[^:]*: \(median [^,]*\),.*/\1/p' "$out/$name.log")" \
      "| host $(field host)" "| attention $(field attention)" \
      "| GPU $(field 'GPUs of this process' | sed 's/;.*//')"
  else
    broken "$name" "it failed"
  fi
}
measure samples gpt2-124m-even
measure samples-own gpt2-124m-even --attention own
for documents in long short mixed drawn; do
  measure $documents gpt2-124m-$documents-documents
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
