#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# publish-wheel.sh BUILD [--upload]
#
# Checks that the wheels of `make wheel` can be published, and with --upload sends
# them to the Python Package Index, as the user that twine is configured for. The
# name rondo-schedules was free there on 2026-11-29; rondo is another project's.
# Needs twine (pip install twine). Without --upload nothing leaves the machine.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

fail() {
  echo "publish-wheel: $*" >&2
  exit 1
}

[ $# -ge 1 ] || fail "usage: publish-wheel.sh BUILD [--upload]"
[ -x "$1/wheel/rondo" ] || fail "there is no $1/wheel/rondo: make wheel"
version=$("$1/wheel/rondo" --version | cut -d' ' -f2)
set -- "$1" "${2:-}" "$1"/wheels/rondo_schedules-"$version"-*.whl
[ $# = 4 ] || fail "$1/wheels must hold two wheels of version $version: make wheel"
[ -z "$(git status --porcelain)" ] || fail "files differ from the last commit, of which wheels must be made"
[ "$(git describe --exact-match --tags 2>/dev/null)" = "v$version" ] ||
  fail "the last commit has no tag v$version"
for wheel in "$3" "$4"; do
  [ "$(stat -c %s "$wheel")" -lt 12000000 ] || fail "$wheel has 12 MB or more"
done
python3 -m twine check --strict "$3" "$4" || fail "twine refuses the wheels, or is missing: pip install twine"
sha256sum "$3" "$4"
if [ "$2" = --upload ]; then
  python3 -m twine upload "$3" "$4"
else
  echo "ready; publish-wheel.sh $1 --upload sends them"
fi
