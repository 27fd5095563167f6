#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces a program of bench/gpu: iteration N takes 300 - N ms, of which
# the host works 1 % of 200 ms. Fails if its name contains 350m.
case $0 in
*350m-four*) exit 75 ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
  --json-log) log=$2 ;;
  --iterations) iterations=$2 ;;
  esac
  shift
done
for i in $(seq "$iterations"); do
  echo "{\"iteration\":$i,\"loss\":3,\"enqueue_ns\":2000000,\"ns\":$((300 - i))000000}"
done >"$log"
