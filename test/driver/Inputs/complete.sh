#!/usr/bin/env bash
# complete.sh SCRIPT WORD...: what the completion offers for the last word, a line each.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_rondo
printf '%s\n' "${COMPREPLY[@]}"
