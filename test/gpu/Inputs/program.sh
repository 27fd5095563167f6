#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces a program on a GPU: writes the CPU's losses of its model, times
# $FACTOR, if the log is asked for. Rank $BAD fails.
log=
rank=0
while [ $# -gt 0 ]; do
  case $1 in
  --json-log) log=$2 ;;
  --rank) rank=$2 ;;
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
case $0 in
*/llama-*) losses=test/gpu/cpu-losses-llama.txt ;;
*/gpt-sharded-*) losses=test/gpu/cpu-losses-sharded.txt ;;
*) losses=test/gpu/cpu-losses.txt ;;
esac
awk -v factor="${FACTOR:-1}" '{
  printf "{\"iteration\":%d,\"loss\":%.8f,\"norm\":1}\n", $1, $2 * factor
}' "$losses" >"$log"
