#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# test-torch.sh BUILD [VERSION]
#
# Runs schedules in PyTorch, which it installs into an environment of its own under
# BUILD: 3 GB, which later runs use again. VERSION is as in 2.10.0; by default the
# newest up to 2.15. The package is the wheel in BUILD/wheels, and its command is used
# unless RONDO names another.
#
# The last line is `N passed, N failed, N skipped`. Status 0; 1 after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$1/torch" || exit 1
build=$(cd "$1" && pwd)
version=${2:-}
wanted=${version:+==$version}
wanted=${wanted:-<2.16}
folder=$build/torch/${version:-newest}
python=$folder/bin/python

fail() {
  echo "FAILED $*"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

wheel=$(ls "$build"/wheels/rondo_schedules-*linux*.whl) || fail "no wheel in $build/wheels: make wheel"
if ! [ -e "$folder/with-transformers" ]; then
  echo "installing PyTorch ${version:-up to 2.15} into $folder"
  rm -rf "$folder"
  python3 -m venv "$folder" || fail "the environment: python3-venv is needed"
  "$python" -m pip install -q "torch$wanted" numpy "transformers>=5" "${wheel}[torch]" \
    >"$folder/install.log" 2>&1 || fail "PyTorch: see $folder/install.log"
  touch "$folder/with-transformers"
fi
rm -rf "$folder/run"
"$python" -m pip install -q --force-reinstall --no-deps "$wheel" \
  >"$folder/package.log" 2>&1 || fail "the package: see $folder/package.log"
# Without installing anything: what the extra asks for is there.
"$python" -m pip install -q --no-index "${wheel}[torch]" >>"$folder/package.log" 2>&1 ||
  fail "the extra torch: see $folder/package.log"
"$python" -m rondo --version || fail "the package has no command"

# Files outside the repository, if they are there.
files=${RONDO_SHARED:-../shared}/oracles/torch
[ -d "$files" ] || files=
PYTHONWARNINGS=ignore timeout 900 "$python" test/torch/run.py "$folder/run" $files
