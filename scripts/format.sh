#!/bin/sh
# clang-format over all C++ sources; with --check it only says what differs.
cd "$(dirname "$0")/.." || exit 1
clang_format=/usr/lib/llvm-22/bin/clang-format
if [ ! -x $clang_format ]; then
  echo "no $clang_format here"
  exit 77
fi
mode=-i
[ "${1:-}" != --check ] || mode="--dry-run -Werror"
# shellcheck disable=SC2086 # words
find schedule dialect passes codegen runtime tools test bench \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 |
  xargs -0 $clang_format $mode
