#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# in-ci.sh BUILD: runs the fuzz targets for RONDO_FUZZ_SECONDS; those of
# RONDO_FUZZ_TARGETS, if it names some.
if [ -z "${RONDO_FUZZ_SECONDS:-}" ]; then
  echo "RONDO_FUZZ_SECONDS is not set; make fuzz runs the fuzz targets"
  exit 77
fi
exec sh "$(dirname "$0")/../../scripts/fuzz.sh" "$1" "$RONDO_FUZZ_SECONDS" \
  ${RONDO_FUZZ_TARGETS:-}
