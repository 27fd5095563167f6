#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# commands.sh RONDO FILES OUTPUT: runs commands on the files of the folder FILES
# and keeps what they print and write in the folder OUTPUT, which two tools of one
# version must fill alike.
set -eu
rondo=$1
output=$3
mkdir -p "$output"
cd "$2"

# search FILE OUTPUT: without the time that it took.
search() {
  "$rondo" search "$1" --effort 20 | sed 's/"seconds":[0-9.]*/"seconds":0/' >"$output/$2"
}
search problem.json searched.json
"$rondo" simulate problem.json --json >"$output/simulated.jsonl"
"$rondo" verify --problems problem.json --schedules "$output/searched.json" >"$output/verified.txt"
"$rondo" compare problem.json --effort 20 >"$output/compared.txt"
for ending in html svg json txt; do
  "$rondo" show problem.json --schedules "$output/searched.json" -o "$output/shown.$ending"
done
for file in by-hand.mlir gpt-small.mlir gpt-asynchronous.mlir gpt-replicas.mlir gpt-sharded.mlir llama-small.mlir; do
  "$rondo" simulate "$file" --timeline >"$output/$file.simulated.txt"
  "$rondo" verify "$file" >"$output/$file.verified.txt"
done
search gpt-small.mlir gpt-small.searched.json
"$rondo" compare by-hand.mlir --effort 20 >"$output/by-hand.compared.txt"
"$rondo" show by-hand.mlir -o "$output/by-hand.html"
"$rondo" show by-hand.mlir -o "$output/by-hand.svg"
"$rondo" bundle gpt-small.mlir --target=cuda -o "$output/bundle"
