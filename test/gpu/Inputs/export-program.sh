#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces a program of scripts/gpu-export.sh: checks bodies, verifies with
# $VERIFIED, or trains, and writes $SAVED with its flag --graph as a checkpoint.
# With $BAD it fails to train.
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
[ -z "${BAD:-}" ] || exit 75
while [ $# -gt 0 ]; do
  case $1 in
  --graph) graph=$2 ;;
  --save) echo "${SAVED:+$SAVED $graph}" >"$2" ;;
  esac
  shift
done
echo "memory: 4 bytes planned, 4 allocated"
echo "measured iteration: median 2 ms, best 1 ms"
echo "host: median 3 us of processor time to enqueue an iteration, 0.15 % of it"
echo "GPUs of this process: 9 bytes in use, of which its arenas 4; the rest is more"
