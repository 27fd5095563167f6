#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# blas.sh [--cached]
#
# Prints the path of librondo_blas.a, the part of OpenBLAS that a wheel brings:
# sgemm and dgemm for three kinds of x86-64 processors, in 5 MB instead of 58. (On
# aarch64 for ARMv8, which was not tried.) It is built from Debian's source package, in some 4 minutes of processor time, and kept
# in ~/.cache/rondo (XDG_CACHE_HOME) under a name that this script and the compiler
# determine. --cached: status 3 instead of building it.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
package=openblas
version=0.3.21+ds-4
# Checksum of the .dsc, which lists the checksums of the other files.
sum=2faed37b360c6d2a31e82032f8278d29bbec19d99425de2ce501614dff4e5880

fail() {
  echo "blas: $*" >&2
  exit 1
}

[ $# -eq 0 ] || [ "$*" = --cached ] || fail "usage: blas.sh [--cached]"
key=$({ cat "$here/blas.sh" && cc --version | head -n 1 && uname -m; } | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rondo
archive=$cache/blas-$key/librondo_blas.a
if [ -f "$archive" ]; then
  echo "$archive"
  exit 0
fi
[ $# -eq 0 ] || exit 3

mkdir -p "$cache" || fail "cannot write $cache"
work=$(mktemp -d "$cache/building.XXXXXX") || fail "cannot write $cache"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# The configured sources of packages, as sources of source packages.
mkdir -p "$work/apt/sources.list.d" "$work/lists/partial"
for file in /etc/apt/sources.list.d/*.sources; do
  [ -f "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$work/apt/sources.list.d/${file##*/}"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ -f "$file" ] && sed -n 's/^deb /deb-src /p' "$file" >"$work/apt/sources.list.d/${file##*/}.list"
done
apt() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/apt/sources.list.d" \
    -o Dir::State::lists="$work/lists" -o APT::Sandbox::User= "$@" >>"$work/log" 2>&1
}
give_up() {
  tail -n 20 "$work/log" >&2
  fail "$*; the log's end is above"
}
cd "$work" || exit 1
echo "blas: building $package $version, once: some minutes" >&2
apt update || give_up "cannot read the lists of source packages"
apt source --download-only "$package=$version" || give_up "no source has $package $version, which Debian 12 has"
echo "$sum  ${package}_$version.dsc" | sha256sum --check --quiet >&2 || fail "${package}_$version.dsc has another checksum"
dpkg-source -x "${package}_$version.dsc" source >>log 2>&1 || give_up "dpkg-source fails: dpkg-dev is needed"

# Without complex numbers its make reaches no end: ctrsm_kernel_* do not compile
# then, so it goes on after errors, and no core's kernels may be missing from the
# archive. The last core's follow by a call of their own. SMALL_MATRIX_OPT is what
# the first call finds out: with another value the tables of the cores differ.
case $(uname -m) in
x86_64) set -- TARGET=PRESCOTT DYNAMIC_ARCH=1 "DYNAMIC_LIST=HASWELL SKYLAKEX" ;;
aarch64) set -- TARGET=ARMV8 ;;
*) fail "no kernels are chosen for $(uname -m): give make-wheel.py an archive by --blas" ;;
esac
set -- "$@" NO_SHARED=1 NO_LAPACK=1 NO_LAPACKE=1 ONLY_CBLAS=1 NOFORTRAN=1 \
  BUILD_SINGLE=1 BUILD_DOUBLE=1 BUILD_COMPLEX=0 BUILD_COMPLEX16=0 \
  USE_THREAD=1 USE_OPENMP=0 NUM_THREADS=128 NO_AFFINITY=1 NO_WARMUP=1 \
  "COMMON_OPT=-O2 -fPIC -ffunction-sections"
jobs=$(nproc)
make -j"$jobs" -k -C source libs "$@" >>log 2>&1
[ "$1" = TARGET=ARMV8 ] ||
  make -j"$jobs" -k -C source/kernel kernel TARGET_CORE=SKYLAKEX SMALL_MATRIX_OPT=1 GOTOBLAS_MAKEFILE= "$@" >>log 2>&1
grep '\*\*\*.* Error' log | grep -v -e 'ctrsm_kernel_' -e ': libs\] ' >&2 && give_up "OpenBLAS does not build"
cp source/libopenblas*-r*.a librondo_blas.a && ar rs librondo_blas.a source/kernel/*.o 2>>log ||
  give_up "OpenBLAS does not build"

# Each core that this processor can run.
c++ -O2 "$here/blas-check.cpp" librondo_blas.a -lpthread -o check 2>>log || give_up "the archive does not link"
cores=Prescott
grep -q '^flags.* avx2' /proc/cpuinfo && cores="$cores Haswell"
grep -q '^flags.* avx512f' /proc/cpuinfo && cores="$cores SkylakeX"
for core in $cores; do
  OPENBLAS_CORETYPE=$core ./check >&2 || fail "wrong products by the kernels for $core"
done

# Whole or not at all; another process may have been faster.
mkdir ready && mv librondo_blas.a ready && cp source/LICENSE ready/LICENSE || exit 1
mv -T ready "$cache/blas-$key" 2>/dev/null || [ -f "$archive" ] || fail "cannot write $cache/blas-$key"
echo "$archive"
