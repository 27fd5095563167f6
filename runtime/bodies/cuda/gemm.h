//===- gemm.h - Matrix products through cuBLASLt ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums are fp32: tensor cores for bf16, and no TF32 for fp32. Limit: the tensor
// cores, from a few hundred rows and columns on.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_GEMM_H
#define RONDO_RUNTIME_BODIES_CUDA_GEMM_H

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/gemm_choices.h"
#include "runtime/model/layer.h"

#include <cstdint>
#include <cublasLt.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rondo::runtime::cuda {

/// A row-major matrix in device memory, whose rows start `stride` elements
/// apart; transposed or not. Of several samples, each begins `sampleStride`
/// elements after the one before.
struct Matrix {
  const void *data;
  int64_t stride;
  bool transposed = false;
  int64_t sampleStride = 0;
};

enum class Epilogue : uint8_t {
  None,
  /// d += bias.
  Bias,
  /// aux = d + bias, d = gelu(aux).
  BiasGelu,
  /// d *= slope of gelu at aux.
  GeluGrad,
};

/// d [rows, columns] = alpha a b + c, with `inner` the shared extent.
struct Product {
  int64_t rows, columns, inner;
  /// Type of a and b.
  DType type;
  Matrix a, b;
  /// Null: nothing is added. Otherwise it has d's layout; d itself accumulates.
  const void *c;
  void *d;
  int64_t stride;
  /// Type of c, d, bias and aux. fp32 if `type` is fp32.
  DType resultType;
  Epilogue epilogue = Epilogue::None;
  /// [columns].
  const void *bias = nullptr;
  /// [rows, columns], contiguous, apart from d.
  void *aux = nullptr;
  float alpha = 1;
  /// More than one: c is null or d, and there is no epilogue.
  int64_t samples = 1;
  /// Distance of the samples of d, in elements.
  int64_t sampleStride = 0;
  /// Bytes that all addresses and distances of samples are multiples of; no
  /// more than a pack of elements has.
  uint32_t alignment = 16;
};

/// Memory for partial results of a task's products. The library refuses it
/// unless its address is a multiple of gemmAlignment (model/cuda_layouts.h).
struct GemmWorkspace {
  void *data;
  int64_t bytes;
};
/// `bytes` in a region of gemmRegionBytes(bytes) with the alignment of any
/// buffer.
GemmWorkspace workspaceIn(void *region, int64_t bytes);

/// One rank's cuBLASLt handle. The first product of a shape asks the library
/// for its algorithm; later ones only enqueue, so they can be captured in a
/// graph. The same shape always gets the same algorithm, and none adds with
/// atomics, so one kind of device gives the same bits each time. With choices
/// the algorithm is one that was measured, then or in an earlier run; without,
/// it is the first in the library's list.
class Gemms {
public:
  enum class GeluFusion : uint8_t { ByDevice, Never, Always };

  /// On the current device. Throws Error if the library does not start, or if
  /// the choices are for another kind of device or another library.
  explicit Gemms(GeluFusion fusion = GeluFusion::ByDevice,
                 std::shared_ptr<GemmChoices> choices = nullptr);
  ~Gemms();
  Gemms(const Gemms &) = delete;
  Gemms &operator=(const Gemms &) = delete;

  /// Adds the bias in a separate pass if the library cannot. Throws Error if it
  /// has no algorithm at all.
  void multiply(const Stream &stream, const Product &product,
                const GemmWorkspace &workspace);
  /// The same if the library can do GELU in the product and that is faster;
  /// otherwise does nothing and returns false.
  bool tryGelu(const Stream &stream, const Product &product,
               const GemmWorkspace &workspace);

private:
  struct Setup;

  /// Null if the library has no algorithm.
  Setup *prepare(const Stream &stream, const Product &product,
                 const GemmWorkspace &workspace);
  std::vector<cublasLtMatmulAlgo_t> candidatesOf(const Setup &setup,
                                                 int64_t workspaceBytes,
                                                 uint32_t alignment) const;
  cublasLtMatmulAlgo_t
  choose(const Stream &stream, const GemmKey &key, Setup &setup,
         const Product &product, const GemmWorkspace &workspace,
         const std::vector<cublasLtMatmulAlgo_t> &candidates);
  cublasStatus_t enqueue(const Stream &stream, Setup &setup,
                         const cublasLtMatmulAlgo_t &algorithm,
                         const Product &product,
                         const GemmWorkspace &workspace);
  void run(const Stream &stream, Setup &setup, const Product &product,
           const GemmWorkspace &workspace);

  cublasLtHandle_t handle = nullptr;
  bool fusesGelu;
  std::shared_ptr<GemmChoices> choices;
  /// Samples, their distances in a, b and d, and the alignment.
  using SampleKey = std::array<int64_t, 5>;
  std::map<std::pair<GemmKey, SampleKey>, std::unique_ptr<Setup>> setups;
};

/// Enqueues a product with algorithm number `candidate`. False: the library
/// refuses to.
using RunCandidate =
    std::function<bool(size_t candidate, const Stream &stream,
                       const Product &product, const GemmWorkspace &workspace)>;

/// The times of a product with `count` algorithms, us, each the median of a few
/// repeats that take turns. Reads the product's operands and writes to memory
/// of its own alone, in a stream of its own that waits for nobody, so operands
/// may be in use, or not yet computed. Waits for the whole GPU once, to free
/// that memory. Infinite for an algorithm that is refused. None if there is no
/// memory for that. Throws Error if a call fails.
std::optional<std::vector<double>> timeCandidates(const Product &product,
                                                  int64_t workspaceBytes,
                                                  size_t count,
                                                  const RunCandidate &run);

/// The fastest, if it takes less than 98 % of the first one's time; otherwise
/// the first: noise must not choose.
size_t fastestOf(const std::vector<double> &us);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_GEMM_H
