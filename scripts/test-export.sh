#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# test-export.sh BUILD [MODEL...]
#
# Exports PyTorch models to programs, trains them, and compares with PyTorch. Installs
# PyTorch and transformers into an environment of its own under BUILD: 3 GB, which later
# runs use again. The command is BUILD/bin/rondo. Models: those of
# test/torch/export/models.py, all by default.
#
# The last line is `N passed, N failed`. Status 0; 1 after a failure.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$1/export" || exit 1
build=$(cd "$1" && pwd)
shift
folder=$build/export
python=$folder/bin/python

fail() {
  echo "FAILED $*"
  echo "0 passed, 1 failed"
  exit 1
}

if ! [ -e "$folder/installed" ]; then
  echo "installing PyTorch 2.15 into $folder"
  rm -rf "$folder"
  python3 -m venv "$folder" || fail "the environment: python3-venv is needed"
  "$python" -m pip install -q "torch==2.15.*" "transformers==5.24.*" numpy safetensors \
    >"$folder/install.log" 2>&1 || fail "PyTorch: see $folder/install.log"
  touch "$folder/installed"
fi
export RONDO="$build/bin/rondo" PYTHONPATH="$PWD/python" PYTHONWARNINGS=ignore
# Graphs are compiled anew, in folders of this run.
rm -rf "$folder/run"
export XDG_CACHE_HOME="$folder/run/cache" TORCHINDUCTOR_CACHE_DIR="$folder/run/inductor"
exec timeout 3600 "$python" test/torch/export/run.py "$folder/run" "$@"
