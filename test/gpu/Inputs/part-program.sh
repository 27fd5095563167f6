#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces a program of gpu-export.sh, gpu-offload.sh or gpu-uneven.sh in scripts/:
# checks bodies, verifies with $VERIFIED, or trains with the CPU's losses times
# $FACTOR. Its checkpoint depends on its flag --graph or its name if $SAVED is
# `graph` or `program`. Programs whose name contains $BAD fail.
case $0 in
*"${BAD:-/none/}"*) exit 75 ;;
esac
case " $* " in
*" --check-bodies "*)
  echo "check-bodies: PASS 4"
  exit
  ;;
*" --verify "*)
  echo "verify: ${VERIFIED:-PASS 9 weights}"
  exit ${VERIFIED:+1}
  ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
  --graph) graph=$2 ;;
  --json-log)
    awk -v factor="${FACTOR:-1}" '{
      printf "{\"iteration\":%d,\"loss\":%.6f,\"norm\":1}\n", $1, $2 * factor
    }' test/gpu/cpu-losses-uneven.txt >"$2"
    ;;
  --save)
    case ${SAVED:-} in
    graph) echo "$graph" ;;
    program) echo "$0" ;;
    esac >"$2"
    ;;
  esac
  shift
done
echo "memory: 4 bytes planned, 4 allocated"
echo "host memory: 5 bytes for copies of activations"
echo "measured iteration: median 2 ms, best 1 ms"
echo "host: median 3 us of processor time to enqueue an iteration, 0.15 % of it"
echo "attention: own kernels (rows of documents)"
echo "GPUs of this process: 9 bytes in use, of which its arenas 4; the rest is more"
