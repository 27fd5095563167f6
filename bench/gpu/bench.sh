#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench.sh BUILD [bench.py's flags]
#
# Tokens per second and MFU of GPT-2 on a GPU, as one stage and as four looped
# back on one GPU, each with and without a CUDA graph; PyTorch for comparison,
# if installed. Builds as scripts/gpu-build.sh describes. Status 77 without a
# device.
set -u
# Numbers have a decimal point, whatever the user's locale says.
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
build=$1
shift
if ! command -v python3 >/dev/null; then
  echo "gpu: python3 not found; it makes the table"
  exit 77
fi
sh scripts/gpu-build.sh "$build" bench-programs || exit $?
exec python3 bench/gpu/bench.py "$build" "$@"
