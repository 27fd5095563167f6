//===- body.cpp - The body of each layer kind on CUDA ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/layers.h"
#include "runtime/bodies/custom.h"

namespace rondo::runtime {

template <CustomTask task>
static void runCustomTask(const LayerDesc *layer, const LayerArgs *args) {
  const cuda::Stream &stream = cuda::streamOf(*args);
  const cuda::CustomStream scope(stream);
  runCustom(*layer, *args, task, stream.handle);
}

static LayerBody cudaCustomBody() {
  return {runCustomTask<&rondo_functions::forward>,
          runCustomTask<&rondo_functions::input_grad>,
          runCustomTask<&rondo_functions::weight_grad>,
          cpuBody(LayerKind::Custom).tensors,
          runCustomTask<&rondo_functions::backward>};
}

template <typename T> static const LayerBody &bodyOf(LayerKind kind) {
  // In the order of LayerKind.
  static const LayerBody bodies[] = {
      cuda::embeddingBody<T>(),  cuda::blockBody<T>(), cuda::headBody<T>(),
      cuda::syntheticBody(),     cudaCustomBody(),     cuda::embeddingBody<T>(),
      cuda::llamaBlockBody<T>(), cuda::headBody<T>()};
  static_assert(sizeof bodies / sizeof bodies[0] == numLayerKinds,
                "each kind has a body");
  return bodies[static_cast<int>(kind)];
}

const LayerBody &cudaBody(LayerKind kind, DType dtype) {
  return dtype == DType::Bf16 ? bodyOf<cuda::Bf16>(kind) : bodyOf<float>(kind);
}

} // namespace rondo::runtime
