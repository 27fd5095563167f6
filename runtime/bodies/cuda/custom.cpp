//===- custom.cpp - Bodies of custom layers on CUDA -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/custom.h"

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/body.h"

namespace rondo::runtime::cuda {

template <rondo_function rondo_functions::*task>
static void run(const LayerDesc *layer, const LayerArgs *args) {
  runCustom(*layer, *args, layer->custom.body->cuda.*task,
            static_cast<const Stream *>(args->stream)->handle);
}

LayerBody customBody() {
  return {run<&rondo_functions::forward>, run<&rondo_functions::input_grad>,
          run<&rondo_functions::weight_grad>,
          cpuBody(LayerKind::Custom).tensors};
}

} // namespace rondo::runtime::cuda
