#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fuzz.sh BUILD SECONDS [TARGET...]
#
# Builds the fuzz targets of test/fuzz into BUILD, an absolute path or one
# relative to the repository's root, and runs all of them, or the named ones,
# for SECONDS in total; 0: builds only. Each starts with its committed inputs
# and those that earlier runs found, in BUILD/corpus. An input that breaks
# something goes to BUILD/found. Status 0; 1 after a finding or if the build
# fails; 77 without clang.
#
#   JOBS=N   parallel compilations
#   SEED=N   libFuzzer's seed: 1, so that a run can be repeated; 0: another
#            each time
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
seconds=$2
shift 2

if ! command -v clang++-22 >/dev/null ||
  ! ls /usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1; then
  echo "clang-22 with libFuzzer not found: run sh scripts/setup.sh fuzz"
  exit 77
fi
[ $# -gt 0 ] || set -- $(sed -n 's/^rondo_fuzz_target(\([a-z_]*\).*/\1/p' test/fuzz/CMakeLists.txt)
mkdir -p "$build/found" || exit 1
log=$build/build.log
if ! {
  cmake --preset fuzz -B "$build" --log-level=NOTICE &&
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target $(printf 'rondo-fuzz-%s ' "$@")
} >"$log" 2>&1; then
  tail -n 40 "$log"
  echo "the build failed; log in $log"
  exit 1
fi

[ "$seconds" -gt 0 ] || exit 0

# Which dictionary fits a target.
dictionary() {
  case $1 in
  problem | schedule | costs | failure | planning | config | cluster) echo json ;;
  checkpoint | index) echo safetensors ;;
  *) echo "$1" ;;
  esac
}
each=$((seconds / $#))
[ "$each" -gt 0 ] || each=1
status=0
for target in "$@"; do
  mkdir -p "$build/corpus/$target"
  words=test/fuzz/dictionaries/$(dictionary "$target").dict
  log=$build/$target.log
  if "$build/bin/rondo-fuzz-$target" $([ ! -e "$words" ] || echo "-dict=$words") \
    -max_total_time=$each -seed="${SEED:-1}" -max_len=4096 -timeout=20 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$build/found/$target-" \
    "$build/corpus/$target" "test/fuzz/corpus/$target" >"$log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
  else
    status=1
    grep -m 5 -E 'ERROR|runtime error|property broken' "$log"
    echo "FAILED $target: $(sed -n 's/.*Test unit written to //p' "$log"); log in $log"
  fi
done
exit $status
