//===- cublas_lt.cpp - Matrix products with epilogues, on the CPU ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cublasLt.h"
#include "cuda_bf16.h"
#include "emulation.h"
#include "engine.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

extern "C" void cblas_sgemm(int order, int transA, int transB, int m, int n,
                            int k, float alpha, const float *a, int lda,
                            const float *b, int ldb, float beta, float *c,
                            int ldc);

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
  cublasOperation_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t auxStride = 0;
  cudaDataType_t biasType = CUDA_R_32F;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t stride;
  int32_t samples = 1;
  int64_t sampleStride = 0;

  /// The address of a sample.
  template <typename Void> Void *at(Void *data, int32_t sample) const {
    const int64_t bytes = type == CUDA_R_32F ? 4 : 2;
    return reinterpret_cast<Void *>(reinterpret_cast<uintptr_t>(data) +
                                    sample * sampleStride * bytes);
  }
};
struct cublasLtMatmulPreferenceOpaque_t {
  size_t workspaceBytes = 0;
  uint32_t reductions = 7;
  /// The library's default.
  uint32_t alignment = 256;
};

namespace {

using Desc = cublasLtMatmulDescOpaque_t;
using MatrixLayout = cublasLtMatrixLayoutOpaque_t;

float readElement(cudaDataType_t type, const void *data, int64_t i) {
  if (type == CUDA_R_32F)
    return static_cast<const float *>(data)[i];
  return __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[i]);
}
void writeElement(cudaDataType_t type, void *data, int64_t i, float value) {
  if (type == CUDA_R_32F)
    static_cast<float *>(data)[i] = value;
  else
    static_cast<__nv_bfloat16 *>(data)[i] = __float2bfloat16(value);
}

/// The library's GELU is the tanh formula.
double tanhOf(double x) {
  return std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
}
double gelu(double x) { return 0.5 * x * (1 + tanhOf(x)); }
double geluSlope(double x) {
  double t = tanhOf(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 *
                             (1 + 3 * 0.044715 * x * x);
}

bool aligned(const void *pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

/// The alignment of both addresses of an epilogue; a null address has any.
size_t epilogueAlignment(const Desc &desc) {
  size_t bytes = 256;
  while (!aligned(desc.bias, bytes) || !aligned(desc.aux, bytes))
    bytes /= 2;
  return bytes;
}

template <typename Member>
cublasStatus_t setMember(Member &member, const void *value, size_t bytes) {
  if (bytes != sizeof(member))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "cuda emulation: cublasLtMatmul: %s\n", what);
  std::abort();
}

std::vector<float> dense(const MatrixLayout &layout, const void *data) {
  std::vector<float> values(layout.rows * layout.columns);
  for (uint64_t c = 0; c < layout.columns; ++c)
    for (uint64_t r = 0; r < layout.rows; ++r)
      values[c * layout.rows + r] =
          readElement(layout.type, data, c * layout.stride + r);
  return values;
}

struct Task {
  Desc desc;
  MatrixLayout layoutA, layoutB, layoutC, layoutD;
  float alpha, beta;
  const void *a, *b, *c;
  void *d, *workspace;
  size_t workspaceBytes;

  void run() const {
    for (int32_t sample = 0; sample < layoutD.samples; ++sample) {
      Task one = *this;
      one.a = layoutA.at(a, sample);
      one.b = layoutB.at(b, sample);
      one.c = layoutC.at(c, sample);
      one.d = layoutD.at(d, sample);
      one.runSample();
    }
  }

  void runSample() const {
    const int rows = static_cast<int>(layoutD.rows);
    const int columns = static_cast<int>(layoutD.columns);
    const bool transA = desc.transA == CUBLAS_OP_T;
    const bool transB = desc.transB == CUBLAS_OP_T;
    const int inner = static_cast<int>(transA ? layoutA.rows : layoutA.columns);
    // The workspace's content does not survive.
    if (workspaceBytes > 0)
      std::memset(workspace, 0xff, workspaceBytes);
    std::vector<float> valuesA = dense(layoutA, a);
    std::vector<float> valuesB = dense(layoutB, b);
    std::vector<float> product(size_t(rows) * columns);
    constexpr int columnMajor = 102, plain = 111, transposed = 112;
    cblas_sgemm(columnMajor, transA ? transposed : plain,
                transB ? transposed : plain, rows, columns, inner, alpha,
                valuesA.data(), static_cast<int>(layoutA.rows), valuesB.data(),
                static_cast<int>(layoutB.rows), 0, product.data(), rows);
    for (int column = 0; column < columns; ++column)
      for (int row = 0; row < rows; ++row) {
        int64_t at = column * layoutD.stride + row;
        int64_t atAux = column * desc.auxStride + row;
        double value = product[size_t(column) * rows + row];
        if (beta != 0)
          value += beta *
                   readElement(layoutC.type, c, column * layoutC.stride + row);
        switch (desc.epilogue) {
        case CUBLASLT_EPILOGUE_DEFAULT:
          break;
        case CUBLASLT_EPILOGUE_BIAS:
          value += readElement(desc.biasType, desc.bias, row);
          break;
        case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
          value += readElement(desc.biasType, desc.bias, row);
          writeElement(layoutD.type, desc.aux, atAux,
                       static_cast<float>(value));
          value = gelu(value);
          break;
        case CUBLASLT_EPILOGUE_DGELU:
          value *= geluSlope(readElement(layoutD.type, desc.aux, atAux));
          break;
        }
        writeElement(layoutD.type, d, at, static_cast<float>(value));
      }
  }
};

/// Whether the library has algorithms for a product.
cublasStatus_t check(const Desc &desc, const MatrixLayout &a,
                     const MatrixLayout &b, const MatrixLayout &c,
                     const MatrixLayout &d) {
  auto rows = [](const MatrixLayout &l, cublasOperation_t op) {
    return op == CUBLAS_OP_N ? l.rows : l.columns;
  };
  auto columns = [](const MatrixLayout &l, cublasOperation_t op) {
    return op == CUBLAS_OP_N ? l.columns : l.rows;
  };
  if (rows(a, desc.transA) != d.rows || columns(b, desc.transB) != d.columns ||
      columns(a, desc.transA) != rows(b, desc.transB) || c.rows != d.rows ||
      c.columns != d.columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (a.samples != d.samples || b.samples != d.samples ||
      c.samples != d.samples)
    return CUBLAS_STATUS_INVALID_VALUE;
  // Types: fp32 throughout, or bf16 with C and D of the same type.
  bool types = a.type == b.type && c.type == d.type &&
               (a.type == CUDA_R_16BF || d.type == CUDA_R_32F);
  bool hasBias = desc.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                 desc.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  if (hasBias && (!desc.bias || desc.biasType != d.type))
    types = false;
  bool hasAux = desc.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS ||
                desc.epilogue == CUBLASLT_EPILOGUE_DGELU;
  if (hasAux && (!desc.aux || desc.auxStride % 8 != 0 ||
                 desc.auxStride < int64_t(d.rows) || d.type != CUDA_R_16BF))
    types = false;
  return types ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/// The first product of a kind on a device loads a kernel, here whatever
/// CUDA_MODULE_LOADING says. That may wait for all work of the device, so none
/// of it may wait for what comes later.
void load(const Desc &desc, const MatrixLayout &a, const MatrixLayout &b,
          const MatrixLayout &d, size_t algorithm) {
  static std::mutex mutex;
  static std::set<std::vector<uint64_t>> loaded;
  int device = 0;
  cudaGetDevice(&device);
  std::lock_guard<std::mutex> lock(mutex);
  const bool isNew =
      loaded
          .insert({uint64_t(device), uint64_t(desc.transA),
                   uint64_t(desc.transB), uint64_t(desc.epilogue),
                   uint64_t(a.type), uint64_t(d.type), a.rows, a.columns,
                   b.rows, b.columns, algorithm})
          .second;
  if (isNew && emulation::groupsOn(device) > 0)
    fail("a kernel is loaded while one of NCCL waits on the device: each "
         "product must have been made once before ranks connect");
}

} // namespace

const char *cublasLtGetStatusName(cublasStatus_t status) {
#define RONDO_NAME(name)                                                       \
  case name:                                                                   \
    return #name
  switch (status) {
    RONDO_NAME(CUBLAS_STATUS_SUCCESS);
    RONDO_NAME(CUBLAS_STATUS_NOT_INITIALIZED);
    RONDO_NAME(CUBLAS_STATUS_INVALID_VALUE);
    RONDO_NAME(CUBLAS_STATUS_EXECUTION_FAILED);
    RONDO_NAME(CUBLAS_STATUS_NOT_SUPPORTED);
  }
#undef RONDO_NAME
  return "unknown status";
}

size_t cublasLtGetVersion() { return 120805; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t, cudaDataType_t) {
  *desc = new Desc;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  auto set = [&](auto &member) { return setMember(member, value, bytes); };
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(desc->transA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(desc->transB);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(desc->epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(desc->bias);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return set(desc->aux);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return set(desc->auxStride);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return set(desc->biasType);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  if (rows == 0 || columns == 0 || stride < int64_t(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new MatrixLayout{type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return setMember(layout->samples, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return setMember(layout->sampleStride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  auto set = [&](auto &member) { return setMember(member, value, bytes); };
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set(preference->workspaceBytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return set(preference->reductions);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set(preference->alignment);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t *results, int *found) {
  *found = 0;
  if (int error = emulation::injected("cublasLtMatmulAlgoGetHeuristic"))
    return static_cast<cublasStatus_t>(error);
  if (requested < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (cublasStatus_t status = check(*desc, *a, *b, *c, *d))
    return status;
  const std::vector<emulation::Algorithm> all = emulation::algorithms();
  for (size_t n = 0; n < all.size() && *found < requested; ++n)
    results[(*found)++] = {{preference->workspaceBytes, preference->alignment,
                            epilogueAlignment(*desc), n},
                           preference->workspaceBytes + all[n].moreWorkspace,
                           CUBLAS_STATUS_SUCCESS,
                           1};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *algo,
                        cublasLtMatmulHeuristicResult_t *result) {
  if (cublasStatus_t status = check(*desc, *a, *b, *c, *d))
    return status;
  const std::vector<emulation::Algorithm> all = emulation::algorithms();
  if (algo->number >= all.size())
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {*algo, algo->workspaceBytes + all[algo->number].moreWorkspace,
             CUBLAS_STATUS_SUCCESS, 1};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t,
    void *value, size_t bytes, size_t *written) {
  const std::vector<emulation::Algorithm> all = emulation::algorithms();
  if (bytes != sizeof(uint32_t) || algo->number >= all.size())
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &all[algo->number].reductions, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t layoutA, const void *b,
                              cublasLtMatrixLayout_t layoutB, const void *beta,
                              const void *c, cublasLtMatrixLayout_t layoutC,
                              void *d, cublasLtMatrixLayout_t layoutD,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceBytes, cudaStream_t stream) {
  // After a launch the library asks for the last error, whose ever it is.
  if (cudaPeekAtLastError() != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  Task task{*desc,    *layoutA, *layoutB,
            *layoutC, *layoutD, *static_cast<const float *>(alpha),
            0,        a,        b,
            c,        d,        workspace,
            0};
  task.beta = *static_cast<const float *>(beta);
  task.workspaceBytes = algo->workspaceBytes;
  if (algo->workspaceBytes > workspaceBytes || !aligned(workspace, 256))
    fail("the workspace is too small or not aligned to 256 bytes");
  for (const void *pointer : {a, b, c, static_cast<const void *>(d)})
    if (!aligned(pointer, algo->alignment))
      fail("a matrix is not aligned as the preference says");
  for (cublasLtMatrixLayout_t layout : {layoutA, layoutB, layoutC, layoutD})
    if (!aligned(layout->at(static_cast<void *>(nullptr), 1), algo->alignment))
      fail("a sample's matrix is not aligned as the preference says");
  if (epilogueAlignment(*desc) < algo->epilogueAlignment)
    fail("a bias or an auxiliary matrix is less aligned than the one that the "
         "algorithm was chosen for");
  const emulation::Algorithm algorithm =
      emulation::algorithms().at(algo->number);
  if (algorithm.isRefused)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (algorithm.moreWorkspace > 0)
    fail("the algorithm needs a larger workspace");
  load(*desc, *layoutA, *layoutB, *layoutD, algo->number);
  emulation::countProduct(algo->number);
  emulation::enqueue(
      stream, [task, ms = algorithm.ms, delay = emulation::delayOf(stream)] {
        task.run();
        delay(ms);
      });
  return CUBLAS_STATUS_SUCCESS;
}
