//===- initial_weights.h - Weights that a run begins with -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_CHECKPOINTS_INITIAL_WEIGHTS_H
#define RONDO_RUNTIME_CHECKPOINTS_INITIAL_WEIGHTS_H

#include "runtime/execution/state.h"

#include <string>
#include <vector>

namespace rondo::runtime {

/// Reads the weights of a model from safetensors files (WeightFiles): one of
/// Rondo's checkpoints, whose moments are left, or a GPT-2 or a model of
/// Llama's family as Hugging Face's transformers saves it. Call it after
/// State::initialise().
///
/// Tensors are found under the model's own names, or else under Hugging Face's,
/// where block k is `transformer.h.k` or `model.layers.k`, with or without the
/// first word, and a tied embedding may be there as `lm_head.weight` alone. All
/// of them must be there with the model's shapes, and nothing else but what the
/// table in initial_weights.cpp lists.
///
/// All processes call it, and each reads the files' tensors of its own
/// replicas; process 0 checks names and shapes of all before. Throws Error that
/// names the tensor, its shapes and the file; the state is then unchanged,
/// unless the data of a tensor could not be read.
///
/// Returns lines for the user, in process 0: what was read, and what was left.
std::vector<std::string> readInitialWeights(const std::string &path,
                                            State &state);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_CHECKPOINTS_INITIAL_WEIGHTS_H
