#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make.sh SOURCES BUILD OUTPUT: the wheels, with the BLAS of scripts/blas.sh if that
# was built before, else with Debian's archive, which is larger and takes no time.
set -eu
blas=$(sh "$1/scripts/blas.sh" --cached) || blas=$(c++ -print-file-name=libopenblas.a)
exec /usr/bin/python3 "$1/scripts/make-wheel.py" "$2" "$3" --blas "$blas"
