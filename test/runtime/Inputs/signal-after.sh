# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# signal-after.sh SIGNAL FILE PROGRAM...: starts a program, and sends it a
# signal once the file exists and is not empty.
signal=$1
file=$2
shift 2
"$@" &
program=$!
while [ ! -s "$file" ] && kill -0 $program; do
  sleep 0.05
done
kill -s "$signal" $program
wait $program
