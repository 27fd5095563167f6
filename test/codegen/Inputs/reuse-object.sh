# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# reuse-object.sh ROOT BUILD COMPILER ARGUMENTS...
#
# A compiler launcher that spares a bundle's libraries a second compilation. In each
# of them the object of one source becomes BUILD's whole library, and those of the
# others are empty, if the sources equal ROOT's. Everything else is compiled; so are,
# as a check, the sources named in CHECKED, one of each kind. See includes.py for
# what the compiler then does not check.

CHECKED=" runtime/base/clock.cpp runtime/device/cuda/kernels.cu schedule/program/Slots.cpp "

root=$1 build=$2
shift 2

source= output= previous=
for argument; do
  case $previous in
  -c) source=$argument ;;
  -o) output=$argument ;;
  esac
  previous=$argument
done

# The archive of a library, and the source whose object is all of it. Those of
# RondoSimulator are in librondo_runtime.a.
case $output in
*RondoRuntime.dir/*) archive=librondo_runtime.a whole=runtime/trainer/main.cpp ;;
*RondoSimulator.dir/*) archive=librondo_runtime.a whole= ;;
*RondoCuda.dir/*) archive=librondo_cuda.a whole=runtime/backend/cuda/backend.cpp ;;
*) exec "$@" ;;
esac

# The path of the same source in ROOT.
name=$source
until case $name in runtime/* | schedule/*) [ -f "$root/$name" ] ;; *) false ;; esac do
  case $name in
  */*) name=${name#*/} ;;
  *) exec "$@" ;;
  esac
done
cmp -s "$root/$name" "$source" || exec "$@"

case $CHECKED in
*" $name "*) "$@" || exit ;;
esac
if [ "$name" = "$whole" ]; then
  exec ld -r --whole-archive "$build/lib/$archive" -o "$output"
fi
# Compiled once for each folder where a build runs.
if [ ! -e empty-object.o ]; then
  cc -x c -c /dev/null -o "empty-object.o.$$" && mv "empty-object.o.$$" empty-object.o || exit
fi
exec cp empty-object.o "$output"
