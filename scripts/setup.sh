#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the packages of packages.txt that are missing, as root or through
# sudo. `setup.sh WORD` also installs those that only WORD needs. Status 0 if
# LLVM/MLIR 22 is present; 1 after one line that says what to do.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mlir=/usr/lib/llvm-22/lib/cmake/mlir

fail() {
  echo "setup: $*" >&2
  exit 1
}

packages=$(awk -v target="${1:-}" \
  '!/^#/ && NF && ($2 == "" || $2 == target) { print $1 }' \
  "$root/packages.txt") || fail "cannot read $root/packages.txt"

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  if [ -d "$mlir" ] || [ -d "${MLIR_DIR:-/nonexistent}" ]; then
    echo "setup: apt-get not found; continuing with the installed LLVM/MLIR"
    exit 0
  fi
  fail "apt-get not found: install LLVM/MLIR 22 and what else packages.txt" \
    "lists, and set MLIR_DIR to the folder of MLIRConfig.cmake"
fi

# shellcheck disable=SC2086 # a list of words
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages \
  2>/dev/null | awk '$2 == "installed" { print $1 }')
missing=
for package in $packages; do
  echo "$installed" | grep -qx "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root="env DEBIAN_FRONTEND=noninteractive"
elif command -v sudo >/dev/null; then
  as_root="sudo env DEBIAN_FRONTEND=noninteractive"
else
  fail "no sudo here; as root run:" \
    "apt-get install --no-install-recommends$missing"
fi

echo "setup: installing$missing"
# A broken source of something else must not stop us: what counts is whether the
# packages are available.
$as_root apt-get update -q || echo "setup: apt-get update failed; continuing" >&2
for package in $missing; do
  apt-cache show "$package" >/dev/null 2>&1 && continue
  case $package in
  *22*) fail "no apt source has $package: LLVM/MLIR 22 comes from the suite" \
    "bookworm-security of Debian 12; enable it and run again" ;;
  *) fail "no apt source has $package: enable Debian 12's main archive and" \
    "run again" ;;
  esac
done
# shellcheck disable=SC2086
$as_root apt-get install -q -y --no-install-recommends $missing ||
  fail "apt-get could not install$missing; its message is above"
[ -d "$mlir" ] || fail "LLVM/MLIR 22 is not in $mlir after the installation"
