#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# programs.sh RONDO FILES WORK: compiles schedules of the folder FILES into the
# folder WORK, as an installed wheel does on a machine that has g++ and nothing else
# that Rondo needs, and runs them.
set -eu
rondo=$1
files=$2
mkdir -p "$3"
cd "$3"

for name in gpt-small llama-small; do
  "$rondo" compile "$files/$name.mlir" -o "$name"
  ./"$name" --verify --iterations 1 | grep '^verify: PASS'
done
# The kernels for other processors. OpenBLAS takes older ones where this processor
# lacks what they need.
for core in Prescott Haswell; do
  OPENBLAS_CORETYPE=$core ./gpt-small --verify --iterations 1 | grep '^verify: PASS'
done
# A program takes kernels that use the processor's vectors; then sums have another order.
if grep -q '^flags.* avx2' /proc/cpuinfo; then
  yes 'a schedule follows its network.' | head -n 200 >text
  env -u OPENBLAS_CORETYPE ./gpt-small --data text --iterations 1 --quiet --save own.safetensors
  OPENBLAS_CORETYPE=Prescott ./gpt-small --data text --iterations 1 --quiet --save old.safetensors
  if cmp -s own.safetensors old.safetensors; then
    echo "the program takes the kernels for the oldest processors"
    exit 1
  fi
fi
"$rondo" compile "$files/gpt-small.mlir" --adaptive -o adaptive
./adaptive --verify --schedule one_f_one_b --adapt search --iterations 1 | grep '^verify .*PASS'

# Two processes that prove to each other that they know a secret.
"$rondo" compile "$files/by-hand.mlir" -o by-hand
umask 077
echo 0123456789abcdef >secret
timeout 60 ./by-hand --rank 1 --world-size 2 --local-rank 1 --rdzv "file://$PWD/meeting" \
  --secret-file secret --iterations 1 --quiet &
timeout 60 ./by-hand --rank 0 --world-size 2 --local-rank 0 --rdzv "file://$PWD/meeting" \
  --secret-file secret --iterations 1 --quiet
wait $!
echo "all programs: PASS"
