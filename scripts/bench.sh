#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the benchmarks of a build folder and prints which machine this is.
cd "$(dirname "$0")/.." || exit 1
date -u +%Y-%m-%d
sed -n 's/^model name[^:]*: /processor: /p' /proc/cpuinfo | head -n 1
echo "cores: $(nproc)"
for benchmark in "$1"/bench/*; do
  [ -f "$benchmark" ] && [ -x "$benchmark" ] || continue
  echo "== $(basename "$benchmark")"
  "$benchmark" || exit 1
done
for script in bench/*.sh; do
  [ -f "$script" ] || continue
  echo "== $(basename "$script" .sh)"
  sh "$script" "$1" || exit 1
done
