#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# demo.sh BUILD [--data FILE] [--short]
#
# The main job: compiles examples/gpt-small.mlir with 1F1B and with ZB-H1, on
# costs measured here, and trains both on FILE, by default on the license texts
# that every Debian has. Everything is written under BUILD/demo. --short runs
# one iteration.
set -eu
# Numbers have a decimal point, whatever the user's locale says.
export LC_ALL=C
cd "$(dirname "$0")/.."
build=$1
shift
data=
iterations=100
samples=2
while [ $# -gt 0 ]; do
  case $1 in
  --data)
    data=$2
    shift
    ;;
  --short)
    iterations=1
    samples=1
    ;;
  *)
    echo "demo: unknown argument '$1'" >&2
    exit 2
    ;;
  esac
  shift
done

model=examples/gpt-small.mlir
out=$build/demo
rondo=$build/bin/rondo
mkdir -p "$out"

if [ -z "$data" ]; then
  data=$out/licenses.txt
  if [ ! -d /usr/share/common-licenses ]; then
    echo "demo: /usr/share/common-licenses does not exist; name a text:" \
      "make demo DATA=FILE" >&2
    exit 1
  fi
  find /usr/share/common-licenses -type f | sort | xargs cat >"$out/licenses.txt"
elif [ ! -r "$data" ]; then
  echo "demo: cannot read '$data'" >&2
  exit 1
fi

say() {
  printf '\n== %s\n' "$*"
}
show() {
  printf '$ %s\n' "$*"
  "$@"
}

say "measure each stage's tasks on this machine"
show "$rondo" compile $model -o "$out/measure"
show "$out/measure" --profile "$out/costs.json" --iterations $samples

say "compare schedules on these costs, with one device per rank"
show "$rondo" simulate $model --costs "$out/costs.json" --timeline

for schedule in one_f_one_b zero_bubble; do
  say "compile and train with $schedule"
  show "$rondo" compile $model --schedule $schedule \
    --costs "$out/costs.json" -o "$out/$schedule"
  show "$out/$schedule" --data "$data" --iterations $iterations \
    --json-log "$out/$schedule.log"
done

say "result"
# The first or last loss of a log.
loss() {
  sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' "$1" | "$2" -n 1
}
for schedule in one_f_one_b zero_bubble; do
  log=$out/$schedule.log
  first=$(loss "$log" head)
  last=$(loss "$log" tail)
  printf "%s: loss %.4f -> %.4f in %s iterations, log in %s\n" \
    "$schedule" "$first" "$last" "$iterations" "$log"
  # It starts at about 5.5, the entropy of a random byte.
  if [ $iterations -ge 40 ] && ! awk "BEGIN { exit !($last < $first - 1) }"; then
    echo "demo: the loss has not fallen by 1" >&2
    exit 1
  fi
done
