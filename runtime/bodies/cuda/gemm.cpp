//===- gemm.cpp - Matrix products through cuBLASLt ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt is column-major, we are row-major. To the library a row-major matrix
// is its transpose, so we ask for d = a b as d^T = b^T a^T: its A is our b, its
// B our a.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/gemm.h"

#include "runtime/bodies/cuda/reduce.h"
#include "runtime/model/cuda_layouts.h"

#include <cuda_bf16.h>

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
                                const Matrix &matrix) {
  if (matrix.transposed)
    std::swap(rows, columns);
  cublasLtMatrixLayout_t layout;
  RONDO_CUBLAS(cublasLtMatrixLayoutCreate(&layout, dataType(type), columns,
                                          rows, matrix.stride));
  return layout;
}

/// The alignment of every matrix and vector: that of a pack of elements.
/// Buffers have more, regions of weights do not.
constexpr uint32_t alignment = 16;
/// Stands for any address: the library infers from the value what alignment it
/// may rely on, and one setup serves all layers and micro-batches.
const void *const anyAddress =
    reinterpret_cast<const void *>(uintptr_t(alignment));

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

Gemms::Gemms(GeluFusion fusion) {
  RONDO_CUBLAS(cublasLtCreate(&handle));
  int device = 0, major = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                    device));
  // On sm_80 the fused epilogue costs more than the pass it saves.
  fusesGelu = fusion == GeluFusion::Always ||
              (fusion == GeluFusion::ByDevice && major >= 9);
}

Gemms::~Gemms() { cublasLtDestroy(handle); }

Gemms::Setup *Gemms::prepare(const Product &product,
                             const GemmWorkspace &workspace) {
  const Key key = {product.rows,
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
  std::unique_ptr<Setup> &found = setups[key];
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
  made->setPointers(product.bias ? anyAddress : nullptr,
                    product.aux ? anyAddress : nullptr);
  made->a = layoutOf(product.type, product.inner, product.columns, product.b);
  made->b = layoutOf(product.type, product.rows, product.inner, product.a);
  made->d = layoutOf(product.resultType, product.rows, product.columns,
                     {product.d, product.stride});

  cublasLtMatmulPreference_t preference;
  RONDO_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                    const auto &value) {
    RONDO_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                      &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
         static_cast<size_t>(workspace.bytes));
  // Partial sums are in the workspace and are added in a fixed order.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(which, alignment);
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, made->desc, made->a, made->b, made->d, made->d, preference, 1,
      &result, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  made->available = status == CUBLAS_STATUS_SUCCESS && count > 0 &&
                    result.state == CUBLAS_STATUS_SUCCESS;
  made->algo = result.algo;
  found = std::move(made);
  return found->available ? found.get() : nullptr;
}

void Gemms::run(const Stream &stream, Setup &setup, const Product &product,
                const GemmWorkspace &workspace) {
  const float one = 1, add = product.c ? 1 : 0;
  setup.setPointers(product.bias, product.aux);
  RONDO_CUBLAS(cublasLtMatmul(
      handle, setup.desc, &one, product.b.data, setup.a, product.a.data,
      setup.b, &add, product.c ? product.c : product.d, setup.d, product.d,
      setup.d, &setup.algo, workspace.data,
      static_cast<size_t>(workspace.bytes), stream.handle));
}

void Gemms::multiply(const Stream &stream, const Product &product,
                     const GemmWorkspace &workspace) {
  Setup *found = prepare(product, workspace);
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
                    std::to_string(workspace.bytes) + " bytes",
                Exit::RunFailure);
  run(stream, *found, product, workspace);
}

bool Gemms::tryGelu(const Stream &stream, const Product &product,
                    const GemmWorkspace &workspace) {
  // According to the library's documentation, only for rows of a multiple of 8
  // elements.
  if (!fusesGelu || product.resultType != DType::Bf16 ||
      product.columns % 8 != 0)
    return false;
  Setup *found = prepare(product, workspace);
  if (found)
    run(stream, *found, product, workspace);
  return found != nullptr;
}

} // namespace rondo::runtime::cuda
