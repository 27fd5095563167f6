# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# part=NAME; build=BUILD; . scripts/gpu-part.sh
#
# For the scripts of parts of `make gpu-first`, in the folder above scripts/. A
# part runs programs of BUILD, with files in BUILD/NAME, and counts checks.
# shellcheck shell=sh disable=SC2034,SC2154
set -u
export LC_ALL=C
out=${build:?BUILD is missing}/$part
mkdir -p "$out"
passed=0
failed=0
# Seconds of each run.
limit=60
awk -f test/gpu/text.awk >"$out/text"

# good TEXT: a check has passed.
good() {
  passed=$((passed + 1))
  echo "$1"
}
# broken NAME WHAT: a check has failed; NAME is that of a run, or another word.
broken() {
  if [ -e "$out/$1.log" ]; then
    tail -n 5 "$out/$1.log"
    echo "FAILED $1: $2; log in $out/$1.log"
  else
    echo "FAILED $1: $2"
  fi
  failed=$((failed + 1))
}
# run NAME COMMAND...: its output goes to NAME.log.
run() {
  name=$1
  shift
  timeout $limit "$@" >"$out/$name.log" 2>&1
}
# Prints the last line of the log of a run.
last() {
  tail -n 1 "$out/$1.log"
}
# verify NAME WHAT COMMAND...: whether weights are those of the sequential run.
verify() {
  name=$1
  what=$2
  shift 2
  if run "$name" "$@"; then
    good "$what$(last "$name")"
  else
    broken "$name" "its weights differ, or it failed"
  fi
}
# same NAME NAME TEXT WHAT: compares NAME.safetensors of two runs; prints TEXT.
same() {
  if cmp "$out/$1.safetensors" "$out/$2.safetensors"; then
    good "$3"
  else
    broken "$2" "$4"
  fi
}
# compare NAME LOSSES PERCENT: compares NAME.json with the CPU's losses, lines of
# an iteration and a loss.
compare() {
  if sed -n 's/.*"iteration":\([0-9]*\),.*"loss":\([0-9.]*\),.*/\1 \2/p' \
    "$out/$1.json" | awk -v percent="$3" -v name="$1" -v most="$iterations" '
      NR == FNR { cpu[$1] = $2; next }
      $1 in cpu {
        difference = $2 / cpu[$1] - 1
        sum += difference < 0 ? -difference : difference
        ++n
      }
      END {
        if (n != most) { print name ": " n + 0 " losses instead of " most; exit 1 }
        printf "%s: losses differ from the CPU by %.4f %% in the mean\n", name, 100 * sum / n
        exit !(100 * sum / n <= percent)
      }' "$2" -; then
    passed=$((passed + 1))
  else
    broken "$1" "at most $3 % is allowed"
  fi
}
# Prints the rest of the lines of a run's log that begin with a word: field NAME WORD
field() {
  sed -n "s/^$2: //p" "$out/$1.log"
}
# Prints the times and the memory of a run: figures NAME WORD... are further lines.
figures() {
  name=$1
  shift
  figures=$(sed -n 's/^measured iteration[^:]*: \(median [^,]*\),.*/\1/p' "$out/$name.log")
  for word in host "$@"; do
    figures="$figures | $word $(field "$name" "$word")"
  done
  echo "$figures | GPU $(field "$name" 'GPUs of this process' | sed 's/;.*//')"
}
# Prints the counts; the status of the part.
finish() {
  echo "$passed passed, $failed failed"
  [ $failed -eq 0 ]
}
