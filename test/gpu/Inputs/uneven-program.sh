#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces a program of scripts/gpu-uneven.sh: verifies with $VERIFIED, or trains
# with the CPU's losses times $FACTOR, and writes $SAVED with its name as a
# checkpoint. Programs whose name contains $BAD fail.
case $0 in
*"${BAD:-/none/}"*) exit 75 ;;
esac
case " $* " in
*" --verify "*)
  echo "verify: ${VERIFIED:-PASS 9 weights}"
  exit ${VERIFIED:+1}
  ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
  --json-log)
    awk -v factor="${FACTOR:-1}" '{
      printf "{\"iteration\":%d,\"loss\":%.6f,\"norm\":1}\n", $1, $2 * factor
    }' test/gpu/cpu-losses-uneven.txt >"$2"
    ;;
  --save) echo "${SAVED:+$SAVED $0}" >"$2" ;;
  esac
  shift
done
echo "measured iteration: median 2 ms, best 1 ms"
echo "host: median 3 us of processor time to enqueue an iteration, 0.15 % of it"
echo "attention: own kernels (rows of documents)"
echo "GPUs of this process: 9 bytes in use, of which its arenas 4; the rest is more"
