#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces a program on a GPU: writes the CPU's losses of its model, times
# $FACTOR, if the log is asked for, and $SAVED with its flag --graph as a
# checkpoint. Rank $BAD fails.
log=
rank=0
schedule=
graph=on
checkpoint=
while [ $# -gt 0 ]; do
  case $1 in
  --json-log) log=$2 ;;
  --rank) rank=$2 ;;
  --schedule) schedule=$2 ;;
  --graph) graph=$2 ;;
  --save) checkpoint=$2 ;;
  esac
  shift
done
if [ "$rank" = "${BAD:-}" ]; then
  echo "error: no such luck"
  exit 75
fi
[ "$rank" = 0 ] || exit 0
[ -n "$log" ] || {
  echo "verify: ${VERIFIED:-PASS 9 weights}"
  exit ${VERIFIED:+1}
}
[ -z "$checkpoint" ] || echo "${SAVED:+$SAVED $graph}" >"$checkpoint"
case $0 in
*/gpt-asynchronous-*)
  echo "measured iteration of '$schedule': median 2 ms, best 1 ms"
  echo "host: median 3 us of processor time to enqueue an iteration, 0.15 % of it"
  echo "GPUs of this process: 9 bytes in use, of which its arenas 4; the rest is more"
  awk -v factor="${FACTOR:-1}" -v schedule="$schedule" '$1 == schedule {
    printf "{\"iteration\":%d,\"schedule\":\"%s\",\"loss\":%.8f,\"ns\":1}\n", $2, $1, $3 * factor
  }' test/gpu/cpu-losses-asynchronous.txt >"$log"
  exit
  ;;
*/llama-*) losses=test/gpu/cpu-losses-llama.txt ;;
*/gpt-sharded-*) losses=test/gpu/cpu-losses-sharded.txt ;;
*) losses=test/gpu/cpu-losses.txt ;;
esac
awk -v factor="${FACTOR:-1}" '{
  printf "{\"iteration\":%d,\"loss\":%.8f,\"norm\":1}\n", $1, $2 * factor
}' "$losses" >"$log"
