#!/bin/sh
# gpu-build.sh BUILD TARGET...
#
# Builds targets of test/gpu into BUILD for the GPUs of this machine. Needs the
# CUDA toolkit with NCCL, cmake and g++; no network, no MLIR, no GoogleTest, no
# BLAS. Status 77, with one line, where there is no device or a tool is missing;
# 1 where the build fails.
#
#   JOBS=N             parallel compilations
#   ARCHITECTURES=90   builds for these without asking for a device
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift

nothing() {
  echo "gpu: $1"
  exit 77
}
for tool in cmake g++; do
  command -v $tool >/dev/null || nothing "there is no $tool"
done
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || nothing "there is no nvcc; CUDACXX can name it"
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
mkdir -p "$build" || exit 1
g++ -I"$toolkit/include" test/gpu/probe.cpp -o "$build/probe" \
  -L"$toolkit/lib64" -lcudart_static -ldl -lrt -lpthread || exit 1
if [ -n "${ARCHITECTURES:-}" ]; then
  architectures=$ARCHITECTURES
else
  found=$("$build/probe") || nothing "no device ($found)"
  architectures=${found#* }
  echo "gpu: devices: ${found%% *}, architectures: $architectures"
fi

log=$build/build.log
start=$(date +%s)
if ! {
  CUDACXX=$nvcc cmake -S test/gpu -B "$build" \
    -DCMAKE_CUDA_ARCHITECTURES="$architectures" &&
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "$@"
} >"$log" 2>&1; then
  tail -n 40 "$log"
  echo "gpu: the build failed; log in $log"
  exit 1
fi
echo "gpu: built into $build in $(($(date +%s) - start)) s"
