#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# complete.sh SCRIPT WORD...: prints the completions of the last
# word, one per line.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_rondo
printf '%s\n' "${COMPREPLY[@]}"
