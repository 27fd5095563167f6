#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs clang-format over all C++ sources; with --check only lists files that
# differ.
cd "$(dirname "$0")/.." || exit 1
clang_format=/usr/lib/llvm-22/bin/clang-format
if [ ! -x $clang_format ]; then
  echo "$clang_format not found"
  exit 77
fi
on_sources() {
  find . \( -name 'build*' -o -name '.?*' \) -prune -o \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 |
    xargs -0 $clang_format "$@"
}
if [ "${1:-}" != --check ]; then
  on_sources -i
  exit
fi
faults=$(on_sources --dry-run -Werror 2>&1) && exit
echo "not formatted; run make format:"
echo "$faults" | sed -n 's/^\([^ :]*\):[0-9].*error.*/  \1/p' | sort -u
exit 1
