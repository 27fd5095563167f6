//===- gemm.cpp - Matrix products through cuBLASLt ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt is column-major, we are row-major. To the library a row-major matrix
// is its transpose, so we ask for d = a b as d^T = b^T a^T: its A is our b, its
// B our a.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/gemm.h"

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>
#include <cmath>
#include <cuda_bf16.h>
#include <memory>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

namespace rondo::runtime::cuda {

namespace {

void check(cublasStatus_t status, const char *call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(std::string(call) + " failed: " + cublasLtGetStatusName(status),
                Exit::RunFailure);
}
#define RONDO_CUBLAS(call) check((call), #call)

cudaDataType_t dataType(DType type) {
  return type == DType::Bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtMatrixLayout_t layoutOf(DType type, int64_t rows, int64_t columns,
                                const Matrix &matrix, int64_t samples) {
  if (matrix.transposed)
    std::swap(rows, columns);
  cublasLtMatrixLayout_t layout;
  RONDO_CUBLAS(cublasLtMatrixLayoutCreate(&layout, dataType(type), columns,
                                          rows, matrix.stride));
  if (samples == 1)
    return layout;
  const auto count = static_cast<int32_t>(samples);
  RONDO_CUBLAS(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
  RONDO_CUBLAS(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.sampleStride,
      sizeof(matrix.sampleStride)));
  return layout;
}

/// Stands for any address of a product: the library infers from the value what
/// alignment it may rely on, and one setup serves all layers and micro-batches.
const void *anyAddress(const Product &product) {
  return reinterpret_cast<const void *>(uintptr_t(product.alignment));
}
/// Partial sums are in the workspace and are added in a fixed order.
constexpr auto reductions =
    static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
/// Number of algorithms that are measured.
constexpr int maxCandidates = 8;

bool isAllowed(const cublasLtMatmulHeuristicResult_t &result,
               const cublasLtMatmulAlgo_t &algorithm, int64_t workspaceBytes) {
  uint32_t scheme = 0;
  size_t written = 0;
  // An algorithm without this attribute has no partial sums.
  if (cublasLtMatmulAlgoConfigGetAttribute(
          &algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
          sizeof scheme, &written) != CUBLAS_STATUS_SUCCESS)
    scheme = 0;
  return result.state == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<size_t>(workspaceBytes) &&
         (scheme & ~reductions) == 0;
}

std::string sizeOf(const Product &product) {
  return std::to_string(product.rows) + " x " +
         std::to_string(product.columns) + " x " +
         std::to_string(product.inner);
}

} // namespace

GemmWorkspace workspaceIn(void *region, int64_t bytes) {
  const auto place = reinterpret_cast<uintptr_t>(region);
  const uintptr_t behind = (gemmAlignment - place % gemmAlignment) %
                           static_cast<uintptr_t>(gemmAlignment);
  return {static_cast<char *>(region) + behind, bytes};
}

struct Gemms::Setup {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algo;
  bool available = false;

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value &value) {
    RONDO_CUBLAS(
        cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof(value)));
  }
  /// Addresses differ from call to call.
  void setPointers(const void *bias, const void *aux) {
    if (bias)
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (aux)
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
  }
  ~Setup() {
    if (desc)
      cublasLtMatmulDescDestroy(desc);
    for (cublasLtMatrixLayout_t layout : {a, b, d})
      if (layout)
        cublasLtMatrixLayoutDestroy(layout);
  }
};

Gemms::Gemms(GeluFusion fusion, std::shared_ptr<GemmChoices> choices)
    : choices(std::move(choices)) {
  int device = 0, major = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  if (this->choices) {
    cudaDeviceProp properties;
    RONDO_CUDA(cudaGetDeviceProperties(&properties, device));
    this->choices->start(properties.name, cublasLtGetVersion());
  }
  RONDO_CUBLAS(cublasLtCreate(&handle));
  RONDO_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                    device));
  // On sm_80 the fused epilogue costs more than the pass it saves.
  fusesGelu = fusion == GeluFusion::Always ||
              (fusion == GeluFusion::ByDevice && major >= 9);
}

Gemms::~Gemms() { cublasLtDestroy(handle); }

/// In the library's order, the fastest first as it estimates. Only the first
/// without choices, or none.
std::vector<cublasLtMatmulAlgo_t>
Gemms::candidatesOf(const Setup &setup, int64_t workspaceBytes,
                    uint32_t alignment) const {
  cublasLtMatmulPreference_t preference;
  RONDO_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                    const auto &value) {
    RONDO_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                      &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
         static_cast<size_t>(workspaceBytes));
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(which, alignment);
  cublasLtMatmulHeuristicResult_t results[maxCandidates] = {};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, setup.desc, setup.a, setup.b, setup.d, setup.d, preference,
      choices ? maxCandidates : 1, results, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  std::vector<cublasLtMatmulAlgo_t> candidates;
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
    if (isAllowed(results[i], results[i].algo, workspaceBytes))
      candidates.push_back(results[i].algo);
  return candidates;
}

cublasLtMatmulAlgo_t
Gemms::choose(const Stream &stream, const GemmKey &key, Setup &setup,
              const Product &product, const GemmWorkspace &workspace,
              const std::vector<cublasLtMatmulAlgo_t> &candidates) {
  auto isUsable = [&](const cublasLtMatmulAlgo_t &algorithm) {
    cublasLtMatmulHeuristicResult_t result{};
    return cublasLtMatmulAlgoCheck(handle, setup.desc, setup.a, setup.b,
                                   setup.d, setup.d, &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           isAllowed(result, algorithm, workspace.bytes);
  };
  auto measure = [&]() -> std::optional<GemmChoice> {
    // Nothing can be waited for while a stream records.
    cudaStreamCaptureStatus status;
    RONDO_CUDA(cudaStreamIsCapturing(stream.handle, &status));
    if (status != cudaStreamCaptureStatusNone)
      return std::nullopt;
    const std::optional<std::vector<double>> times =
        timeCandidates(product, workspace.bytes, candidates.size(),
                       [&](size_t candidate, const Stream &ofTiming,
                           const Product &copy, const GemmWorkspace &scratch) {
                         return enqueue(ofTiming, setup, candidates[candidate],
                                        copy, scratch) == CUBLAS_STATUS_SUCCESS;
                       });
    if (!times)
      return std::nullopt;
    const size_t fastest = fastestOf(*times);
    if (!std::isfinite((*times)[fastest]))
      return std::nullopt;
    return GemmChoice{candidates[fastest], (*times)[fastest]};
  };
  return choices->choose(key, candidates.front(), isUsable, measure);
}

Gemms::Setup *Gemms::prepare(const Stream &stream, const Product &product,
                             const GemmWorkspace &workspace) {
  const GemmKey key = {product.rows,
                       product.columns,
                       product.inner,
                       product.a.stride,
                       product.b.stride,
                       product.stride,
                       product.a.transposed * 2 + product.b.transposed,
                       static_cast<int64_t>(product.type),
                       static_cast<int64_t>(product.resultType),
                       static_cast<int64_t>(product.epilogue),
                       workspace.bytes,
                       product.c == product.d};
  const SampleKey samples = {product.samples, product.a.sampleStride,
                             product.b.sampleStride, product.sampleStride,
                             product.alignment};
  std::unique_ptr<Setup> &found = setups[{key, samples}];
  if (found)
    return found->available ? found.get() : nullptr;

  auto made = std::make_unique<Setup>();
  RONDO_CUBLAS(
      cublasLtMatmulDescCreate(&made->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  made->set(CUBLASLT_MATMUL_DESC_TRANSA,
            product.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  made->set(CUBLASLT_MATMUL_DESC_TRANSB,
            product.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  switch (product.epilogue) {
  case Epilogue::None:
    break;
  case Epilogue::Bias:
    epilogue = CUBLASLT_EPILOGUE_BIAS;
    break;
  case Epilogue::BiasGelu:
    epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    break;
  case Epilogue::GeluGrad:
    epilogue = CUBLASLT_EPILOGUE_DGELU;
    break;
  }
  made->set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (product.bias)
    made->set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
              dataType(product.resultType));
  if (product.aux)
    made->set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.columns);
  made->setPointers(product.bias ? anyAddress(product) : nullptr,
                    product.aux ? anyAddress(product) : nullptr);
  made->a = layoutOf(product.type, product.inner, product.columns, product.b,
                     product.samples);
  made->b = layoutOf(product.type, product.rows, product.inner, product.a,
                     product.samples);
  made->d = layoutOf(product.resultType, product.rows, product.columns,
                     {product.d, product.stride, false, product.sampleStride},
                     product.samples);

  const std::vector<cublasLtMatmulAlgo_t> candidates =
      candidatesOf(*made, workspace.bytes, product.alignment);
  made->available = !candidates.empty();
  // The choices' keys have neither samples nor the alignment.
  const bool isMeasured =
      choices && product.samples == 1 && product.alignment == 16;
  if (made->available)
    made->algo =
        isMeasured ? choose(stream, key, *made, product, workspace, candidates)
                   : candidates.front();
  found = std::move(made);
  return found->available ? found.get() : nullptr;
}

cublasStatus_t Gemms::enqueue(const Stream &stream, Setup &setup,
                              const cublasLtMatmulAlgo_t &algorithm,
                              const Product &product,
                              const GemmWorkspace &workspace) {
  const float add = product.c ? 1 : 0;
  setup.setPointers(product.bias, product.aux);
  return cublasLtMatmul(handle, setup.desc, &product.alpha, product.b.data,
                        setup.a, product.a.data, setup.b, &add,
                        product.c ? product.c : product.d, setup.d, product.d,
                        setup.d, &algorithm, workspace.data,
                        static_cast<size_t>(workspace.bytes), stream.handle);
}

void Gemms::run(const Stream &stream, Setup &setup, const Product &product,
                const GemmWorkspace &workspace) {
  check(enqueue(stream, setup, setup.algo, product, workspace),
        "cublasLtMatmul");
}

void Gemms::multiply(const Stream &stream, const Product &product,
                     const GemmWorkspace &workspace) {
  Setup *found = prepare(stream, product, workspace);
  if (!found && product.epilogue == Epilogue::Bias) {
    // The library supports fewer shapes with an epilogue than without.
    Product plain = product;
    plain.epilogue = Epilogue::None;
    plain.bias = nullptr;
    multiply(stream, plain, workspace);
    if (product.resultType == DType::Bf16)
      return addToRows(stream, product.rows, product.columns, product.stride,
                       static_cast<const __nv_bfloat16 *>(product.bias),
                       static_cast<__nv_bfloat16 *>(product.d));
    return addToRows(stream, product.rows, product.columns, product.stride,
                     static_cast<const float *>(product.bias),
                     static_cast<float *>(product.d));
  }
  if (!found)
    throw Error("cuBLASLt has no algorithm for a product of " +
                sizeOf(product) + " in a workspace of " +
                std::to_string(workspace.bytes) + " bytes");
  run(stream, *found, product, workspace);
}

bool Gemms::tryGelu(const Stream &stream, const Product &product,
                    const GemmWorkspace &workspace) {
  // According to the library's documentation, only for rows of a multiple of 8
  // elements.
  if (!fusesGelu || product.resultType != DType::Bf16 ||
      product.columns % 8 != 0)
    return false;
  Setup *found = prepare(stream, product, workspace);
  if (found)
    run(stream, *found, product, workspace);
  return found != nullptr;
}

} // namespace rondo::runtime::cuda

//===----------------------------------------------------------------------===//
// Times of algorithms.
//===----------------------------------------------------------------------===//

/// Odd, for the median.
static constexpr size_t repeats = 5;
/// Products between two events: their launches overlap.
static constexpr int launchesOfRepeat = 4;

static int64_t rounded(int64_t bytes) {
  return (bytes + gemmAlignment - 1) / gemmAlignment * gemmAlignment;
}

std::optional<std::vector<double>>
rondo::runtime::cuda::timeCandidates(const Product &product,
                                     int64_t workspaceBytes, size_t count,
                                     const RunCandidate &run) {
  const int64_t element = product.resultType == DType::Bf16 ? 2 : 4;
  const int64_t ofResult = rounded(product.rows * product.stride * element);
  const bool writesAux = product.epilogue == Epilogue::BiasGelu;
  const int64_t ofAux =
      writesAux ? rounded(product.rows * product.columns * element) : 0;
  const auto bytes =
      static_cast<size_t>(ofResult + ofAux + gemmRegionBytes(workspaceBytes));
  void *memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    // The next call would report it again.
    cudaGetLastError();
    return std::nullopt;
  }
  RONDO_CUDA(error);
  const std::unique_ptr<void, cudaError_t (*)(void *)> owner(memory, cudaFree);

  const OwnedStream owned(OwnedStream::Priority::Usual);
  Stream stream;
  stream.handle = owned.get();
  char *const scratch = static_cast<char *>(memory);
  Product copy = product;
  copy.d = scratch;
  if (product.c == product.d)
    copy.c = copy.d;
  if (writesAux)
    copy.aux = scratch + ofResult;
  const GemmWorkspace workspace =
      workspaceIn(scratch + ofResult + ofAux, workspaceBytes);
  RONDO_CUDA(cudaMemsetAsync(memory, 0, bytes, stream.handle));
  // The first launch may load the kernel.
  std::vector<bool> isRefused;
  for (size_t c = 0; c < count; ++c)
    isRefused.push_back(!run(c, stream, copy, workspace));
  std::vector<Event> marks;
  marks.emplace_back(/*keepsTime=*/true);
  marks.back().record(stream.handle);
  for (size_t r = 0; r < repeats; ++r)
    for (size_t c = 0; c < count; ++c) {
      for (int launch = 0; launch < launchesOfRepeat && !isRefused[c]; ++launch)
        isRefused[c] = !run(c, stream, copy, workspace);
      marks.emplace_back(/*keepsTime=*/true);
      marks.back().record(stream.handle);
    }
  RONDO_CUDA(cudaStreamSynchronize(stream.handle));

  std::vector<double> medians;
  for (size_t c = 0; c < count; ++c) {
    if (isRefused[c]) {
      medians.push_back(INFINITY);
      continue;
    }
    std::vector<float> times;
    for (size_t r = 0; r < repeats; ++r) {
      const size_t mark = r * count + c;
      float ms = 0;
      RONDO_CUDA(
          cudaEventElapsedTime(&ms, marks[mark].get(), marks[mark + 1].get()));
      times.push_back(ms);
    }
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    medians.push_back(times[repeats / 2] * 1e3 / launchesOfRepeat);
  }
  return medians;
}

size_t rondo::runtime::cuda::fastestOf(const std::vector<double> &us) {
  constexpr double leastGain = 0.02;
  const auto fastest =
      static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin());
  return us[fastest] < (1 - leastGain) * us[0] ? fastest : 0;
}
