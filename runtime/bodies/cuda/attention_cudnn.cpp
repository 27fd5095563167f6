//===- attention_cudnn.cpp - Attention by cuDNN ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/attention.h"

#ifdef RONDO_CUDNN
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define NV_CUDNN_FRONTEND_DISABLE_LOGGING
#include "runtime/model/llama_sizes.h"

#include <algorithm>
#include <cmath>
#include <cudnn_frontend.h>
#include <dlfcn.h>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <vector>
#endif

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

#ifndef RONDO_CUDNN

struct CudnnAttention::Library {
  std::string refusal;
};

std::unique_ptr<CudnnAttention> CudnnAttention::load(std::string &why) {
  why = "this program was built without cuDNN's headers";
  return nullptr;
}
CudnnAttention::CudnnAttention(std::unique_ptr<Library> library)
    : library(std::move(library)) {}
CudnnAttention::~CudnnAttention() = default;
bool CudnnAttention::forward(const Stream &, const AttentionShape &,
                             const __nv_bfloat16 *, __nv_bfloat16 *, float *) {
  return false;
}
bool CudnnAttention::inputGrad(const Stream &, const AttentionShape &,
                               __nv_bfloat16 *, const __nv_bfloat16 *,
                               const __nv_bfloat16 *, const float *) {
  return false;
}
bool CudnnAttention::isUsed() const { return false; }
int64_t CudnnAttention::bytes() const { return 0; }
const std::string &CudnnAttention::refusal() const { return library->refusal; }
std::string CudnnAttention::version() const { return ""; }

#else

/// The library that the front end calls.
void *cudnn_frontend::cudnn_dlhandle = nullptr;
namespace fe = cudnn_frontend;

namespace {

/// The tensors of a plan.
enum Uid : int64_t { Q = 1, K, V, O, Stats, GradO, GradQ, GradK, GradV };

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Addresses = std::unordered_map<int64_t, void *>;

enum class Direction : uint8_t { Forward, InputGrad };

/// A direction's graph for a shape.
struct Plan {
  /// Null: the library refuses the shape.
  std::shared_ptr<fe::graph::Graph> graph;
  void *memory = nullptr;
};

/// A tensor of [batch, heads, sequence, width] in rows of `stride` elements.
fe::graph::Tensor_attributes tensorOf(const char *name, Uid uid,
                                      const AttentionShape &shape, int heads,
                                      int64_t stride) {
  return fe::graph::Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim(
          {shape.documents.count, heads, shape.documents.sequence, shape.width})
      .set_stride({shape.documents.sequence * stride, shape.width, stride, 1});
}

/// The logarithms of the rows' sums: [batch, heads, sequence, 1] of fp32.
fe::graph::Tensor_attributes statsOf(const AttentionShape &shape) {
  const int64_t sequence = shape.documents.sequence;
  return fe::graph::Tensor_attributes()
      .set_name("stats")
      .set_uid(Stats)
      .set_dim({shape.documents.count, shape.heads, sequence, 1})
      .set_stride({shape.heads * sequence, sequence, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

std::shared_ptr<fe::graph::Graph> emptyGraph() {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

float scaleOf(const AttentionShape &shape) {
  return 1 / std::sqrt(static_cast<float>(shape.width));
}

void makeOutput(const Tensor &tensor,
                const fe::graph::Tensor_attributes &layout) {
  tensor->set_output(true)
      .set_uid(layout.get_uid())
      .set_dim(layout.get_dim())
      .set_stride(layout.get_stride());
}

std::shared_ptr<fe::graph::Graph> forwardGraph(const AttentionShape &shape) {
  auto graph = emptyGraph();
  Tensor q = graph->tensor(tensorOf("q", Q, shape, shape.heads, shape.stride));
  Tensor k =
      graph->tensor(tensorOf("k", K, shape, shape.kvHeads, shape.stride));
  Tensor v =
      graph->tensor(tensorOf("v", V, shape, shape.kvHeads, shape.stride));
  auto [o, stats] = graph->sdpa(q, k, v,
                                fe::graph::SDPA_attributes()
                                    .set_name("attention")
                                    .set_generate_stats(true)
                                    .set_causal_mask(true)
                                    .set_attn_scale(scaleOf(shape)));
  makeOutput(o, tensorOf("o", O, shape, shape.heads, shape.hidden()));
  makeOutput(stats, statsOf(shape));
  stats->set_data_type(fe::DataType_t::FLOAT);
  return graph;
}

std::shared_ptr<fe::graph::Graph> inputGradGraph(const AttentionShape &shape) {
  auto graph = emptyGraph();
  const int64_t hidden = shape.hidden();
  Tensor q = graph->tensor(tensorOf("q", Q, shape, shape.heads, shape.stride));
  Tensor k =
      graph->tensor(tensorOf("k", K, shape, shape.kvHeads, shape.stride));
  Tensor v =
      graph->tensor(tensorOf("v", V, shape, shape.kvHeads, shape.stride));
  Tensor o = graph->tensor(tensorOf("o", O, shape, shape.heads, hidden));
  Tensor gradO =
      graph->tensor(tensorOf("grad o", GradO, shape, shape.heads, hidden));
  Tensor stats = graph->tensor(statsOf(shape));
  auto [gradQ, gradK, gradV] =
      graph->sdpa_backward(q, k, v, o, gradO, stats,
                           fe::graph::SDPA_backward_attributes()
                               .set_name("attention's gradients")
                               .set_causal_mask(true)
                               .set_deterministic_algorithm(true)
                               .set_attn_scale(scaleOf(shape)));
  makeOutput(gradQ,
             tensorOf("grad q", GradQ, shape, shape.heads, shape.stride));
  makeOutput(gradK,
             tensorOf("grad k", GradK, shape, shape.kvHeads, shape.stride));
  makeOutput(gradV,
             tensorOf("grad v", GradV, shape, shape.kvHeads, shape.stride));
  return graph;
}

/// Its address in rows that begin with the queries.
__nv_bfloat16 *part(const __nv_bfloat16 *rows, int64_t offset) {
  return const_cast<__nv_bfloat16 *>(rows) + offset;
}

} // namespace

struct CudnnAttention::Library {
  ~Library() {
    if (handle)
      fe::detail::destroy_handle(handle);
    for (void *memory : memories)
      cudaFree(memory);
  }

  /// Plans a direction of a shape, and allocates more memory if the plan needs
  /// it. Programs without a backward have no plan of one.
  const Plan &plan(const AttentionShape &shape, Direction direction) {
    static const Plan none{};
    if (shape.documents.starts) {
      refusal = "rows of documents";
      return none;
    }
    const std::vector<int> key = {shape.documents.count,
                                  shape.documents.sequence,
                                  shape.heads,
                                  shape.width,
                                  shape.kvHeads,
                                  shape.keys,
                                  shape.values,
                                  shape.stride,
                                  static_cast<int>(direction)};
    auto [at, isNew] = plans.try_emplace(key);
    if (isNew)
      try {
        at->second = made(shape, direction);
      } catch (const Error &) {
        throw;
      } catch (const std::runtime_error &error) {
        // The front end has not found a function that it needs.
        refusal = error.what();
      }
    return at->second;
  }

  Plan made(const AttentionShape &shape, Direction direction) {
    const bool isForward = direction == Direction::Forward;
    Plan plan{isForward ? forwardGraph(shape) : inputGradGraph(shape)};
    int64_t workspace = 0;
    fe::error_t error = plan.graph->build(handle, {fe::HeurMode_t::A});
    if (error.is_good())
      error = plan.graph->get_workspace_size(workspace);
    if (error.is_bad()) {
      refusal = error.get_message();
      return {};
    }
    if (workspace > maxAttentionWorkspaceBytes) {
      refusal =
          "its workspace would take " + std::to_string(workspace) + " bytes";
      return {};
    }
    // The gradients of q, k and v, which cannot take their place at once.
    const int64_t grads = isForward ? 0 : alignedWorkspace(gradBytes(shape));
    plan.memory = withRoomFor(grads + workspace);
    return plan;
  }

  /// Memory that plans share, since a rank's tasks run one after another. What
  /// recorded graphs may refer to stays.
  void *withRoomFor(int64_t bytes) {
    if (bytes <= newest)
      return memories.empty() ? nullptr : memories.back();
    void *memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(bytes));
    if (error == cudaErrorMemoryAllocation)
      throw Error("cuDNN's attention needs " + std::to_string(bytes) +
                  " bytes outside the arena, more than the GPU has free: "
                  "--attention own needs none");
    RONDO_CUDA(error);
    memories.push_back(memory);
    newest = bytes;
    sum += bytes;
    return memory;
  }

  void run(fe::graph::Graph &graph, const Stream &stream, Addresses &addresses,
           void *workspace) {
    fe::error_t error;
    if (fe::detail::set_stream(handle, stream.handle) != CUDNN_STATUS_SUCCESS ||
        (error = graph.execute(handle, addresses, workspace)).is_bad())
      throw Error("cuDNN's attention failed: " + error.get_message(),
                  Exit::RunFailure);
  }

  static int64_t gradBytes(const AttentionShape &shape) {
    return 2 * shape.tokens() * shape.stride;
  }
  static int64_t alignedWorkspace(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
  }

  cudnnHandle_t handle = nullptr;
  std::map<std::vector<int>, Plan> plans;
  std::vector<void *> memories;
  /// Bytes of the last of them, and of all.
  int64_t newest = 0, sum = 0;
  std::string refusal;
};

CudnnAttention::CudnnAttention(std::unique_ptr<Library> library)
    : library(std::move(library)) {}
CudnnAttention::~CudnnAttention() = default;

std::unique_ptr<CudnnAttention> CudnnAttention::load(std::string &why) {
  if (!fe::cudnn_dlhandle)
    fe::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (!fe::cudnn_dlhandle) {
    const char *error = dlerror();
    why = error ? error : "libcudnn.so.9 cannot be loaded";
    return nullptr;
  }
  auto library = std::make_unique<Library>();
  cudnnStatus_t status = CUDNN_STATUS_NOT_INITIALIZED;
  try {
    status = fe::detail::create_handle(&library->handle);
    // The front end calls the shared CUDA runtime as well.
    int device = 0;
    fe::detail::cuda_get_device(&device);
  } catch (const std::runtime_error &error) {
    why = error.what();
    return nullptr;
  }
  if (status != CUDNN_STATUS_SUCCESS) {
    library->handle = nullptr;
    why = std::string("cuDNN does not start: ") +
          fe::detail::get_error_string(status);
    return nullptr;
  }
  return std::unique_ptr<CudnnAttention>(
      new CudnnAttention(std::move(library)));
}

bool CudnnAttention::forward(const Stream &stream, const AttentionShape &shape,
                             const __nv_bfloat16 *qkv, __nv_bfloat16 *output,
                             float *logSumExp) {
  const Plan &plan = library->plan(shape, Direction::Forward);
  if (!plan.graph)
    return false;
  Addresses addresses = {{Q, part(qkv, 0)},
                         {K, part(qkv, shape.keys)},
                         {V, part(qkv, shape.values)},
                         {O, output},
                         {Stats, logSumExp}};
  library->run(*plan.graph, stream, addresses, plan.memory);
  return true;
}

bool CudnnAttention::inputGrad(const Stream &stream,
                               const AttentionShape &shape, __nv_bfloat16 *qkv,
                               const __nv_bfloat16 *output,
                               const __nv_bfloat16 *outputGrad,
                               const float *logSumExp) {
  const Plan &plan = library->plan(shape, Direction::InputGrad);
  if (!plan.graph)
    return false;
  auto *grads = static_cast<__nv_bfloat16 *>(plan.memory);
  const int64_t bytes = Library::gradBytes(shape);
  Addresses addresses = {{Q, part(qkv, 0)},
                         {K, part(qkv, shape.keys)},
                         {V, part(qkv, shape.values)},
                         {O, part(output, 0)},
                         {GradO, part(outputGrad, 0)},
                         {Stats, const_cast<float *>(logSumExp)},
                         {GradQ, grads},
                         {GradK, part(grads, shape.keys)},
                         {GradV, part(grads, shape.values)}};
  library->run(*plan.graph, stream, addresses,
               static_cast<char *>(plan.memory) +
                   Library::alignedWorkspace(bytes));
  RONDO_CUDA(cudaMemcpyAsync(qkv, grads, static_cast<size_t>(bytes),
                             cudaMemcpyDeviceToDevice, stream.handle));
  return true;
}

bool CudnnAttention::isUsed() const {
  return std::any_of(library->plans.begin(), library->plans.end(),
                     [](const auto &plan) { return plan.second.graph; });
}
int64_t CudnnAttention::bytes() const { return library->sum; }
const std::string &CudnnAttention::refusal() const { return library->refusal; }

std::string CudnnAttention::version() const {
  const size_t number = fe::detail::get_backend_version();
  return std::to_string(number / 10000) + "." +
         std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

#endif
