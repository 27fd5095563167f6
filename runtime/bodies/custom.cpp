//===- custom.cpp - Bodies of custom layers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/custom.h"

#include "runtime/base/error.h"
#include "runtime/bodies/described.h"
#include "runtime/bodies/layers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace rondo::runtime {

static_assert(RONDO_TARGET_CUDA == int(Target::Cuda) &&
                  RONDO_DTYPE_BF16 == int(DType::Bf16) &&
                  RONDO_STREAM_UINT8 == int(StreamType::Uint8) &&
                  RONDO_MAX_DIMS == maxTensorDims &&
                  RONDO_INIT_FILE == int(TensorInit::File),
              "bodies from outside see the same numbers");

Described::Described(const LayerDesc &desc) {
  for (int32_t k = 0; k < desc.numInputs; ++k)
    inputGrads[k] = inputGradBytes(desc, k);
  layer.name = desc.name;
  layer.target = static_cast<int32_t>(desc.target);
  layer.dtype = static_cast<int32_t>(desc.dtype);
  layer.num_parameters = desc.custom.numParameters;
  layer.parameters = desc.custom.parameters;
  layer.num_inputs = desc.numInputs;
  layer.input_bytes = desc.inputBytes;
  layer.input_grad_bytes = inputGrads;
  layer.output_bytes = desc.outputBytes;
  layer.batch = desc.batch;
  layer.sequence = desc.sequence;
  layer.vocab = desc.vocab;
  layer.hidden = desc.hidden;
  layer.first_sample = desc.custom.firstSample;
  layer.tokens = numTokens(desc);
  layer.num_streams = desc.custom.numStreams;
  layer.streams = streams;
  for (int32_t s = 0; s < layer.num_streams; ++s) {
    const StreamDesc &stream = desc.custom.streams[s];
    streams[s] = {stream.name,    static_cast<int32_t>(stream.type),
                  stream.numDims, stream.sizes,
                  stream.below,   stream.hasIgnored,
                  stream.ignored};
  }
}

void failOf(const LayerDesc &layer, const std::string &what) {
  throw Error("layer '" + std::string(layer.name) + "': " + what);
}

std::string nameOfBody(const LayerDesc &layer) {
  return "body '" + std::string(layer.custom.name) + "'";
}

rondo_function customFunction(const LayerDesc &layer, CustomTask task) {
  const rondo_body &body = *layer.custom.body;
  return (layer.target == Target::Cpu ? body.cpu : body.cuda).*task;
}

static const char *nameOf(CustomTask task) {
  return task == &rondo_functions::forward       ? "F"
         : task == &rondo_functions::input_grad  ? "I"
         : task == &rondo_functions::weight_grad ? "W"
         : task == &rondo_functions::backward    ? "B"
                                                 : "`prepare`";
}

/// The address of each part that a custom layer lists; null for those that the
/// task does not read.
static void *const *placeParts(const LayerDesc &layer, const LayerArgs &args,
                               CustomTask task, void **addresses) {
  const ListedParts places(layer);
  for (int32_t k = 0; k < layer.custom.numParts; ++k) {
    const ReadBy readBy = layer.custom.parts[k].readBy;
    const SavedPlace place = readBy == ReadBy::InputGrad
                                 ? savedForInputGrad(args, places.offsets[k])
                                 : savedForWeightGrad(args, places.offsets[k]);
    // While I runs, such a part may be on the host.
    const bool isAway =
        readBy == ReadBy::WeightGrad && task == &rondo_functions::input_grad;
    addresses[k] = place.base && !isAway
                       ? static_cast<char *>(place.base) + place.offset
                       : nullptr;
  }
  return addresses;
}

void runCustom(const LayerDesc &layer, const LayerArgs &args, CustomTask task,
               void *stream) {
  const Described described(layer);
  rondo_task buffers{};
  buffers.weights = buffers.weights_in_dtype = args.weights;
  // The copy follows the fp32 weights, or lies elsewhere.
  if (layer.dtype != DType::Fp32)
    buffers.weights_in_dtype = args.weightsInDtype
                                   ? args.weightsInDtype
                                   : static_cast<const char *>(args.weights) +
                                         alignedBytes(layer.weightBytes);
  buffers.gradients = args.gradients;
  buffers.saved_for_input_grad = args.savedForInputGrad;
  buffers.saved_for_weight_grad = args.savedForWeightGrad;
  buffers.kept_for_weight_grad = args.keptForWeightGrad;
  buffers.inputs = args.inputs;
  buffers.input_grads = args.inputGrads;
  buffers.output = args.output;
  buffers.output_grad = args.outputGrad;
  buffers.workspace = args.workspace;
  buffers.data = args.data;
  buffers.loss = static_cast<float *>(args.loss);
  buffers.loss_scale = args.lossScale;
  buffers.microbatch = args.microbatch;
  buffers.stream = stream;
  std::array<const void *, maxLayerStreams> staged{};
  for (int32_t k = 0; args.data && k < layer.custom.numStreams; ++k)
    staged[k] =
        reinterpret_cast<const char *>(args.data) + streamOffset(layer, k);
  buffers.streams = staged.data();
  buffers.state = args.state;
  buffers.seed = args.seed;
  buffers.iteration = args.iteration;
  buffers.iteration_on_device = args.iterationOnDevice;
  buffers.running_weights = args.runningWeights;
  buffers.document_starts = args.documentStarts;
  buffers.num_documents = args.numDocuments;
  std::array<void *, maxLayerParts> parts;
  if (layer.custom.numParts > 0) {
    buffers.saved_for_input_grad = buffers.saved_for_weight_grad = nullptr;
    buffers.saved = args.savedParts;
    if (!buffers.saved)
      buffers.saved = placeParts(layer, args, task, parts.data());
  }
  const char *what = customFunction(layer, task)(&described.layer, &buffers);
  if (what)
    failOf(layer, std::string(nameOf(task)) + " of micro-batch " +
                      std::to_string(args.microbatch) + ": " + what);
}

template <CustomTask task>
static void runOnCpu(const LayerDesc *layer, const LayerArgs *args) {
  runCustom(*layer, *args, task, nullptr);
}

LayerBody tasksOf(const LayerDesc &layer, const LayerBody &all) {
  LayerBody tasks = all;
  if (layer.kind == LayerKind::Custom &&
      !customFunction(layer, &rondo_functions::backward))
    tasks.backward = nullptr;
  return tasks;
}

LoadedBody::LoadedBody(const LayerDesc &layer, int32_t rank, int32_t device)
    : layer(layer) {
  const rondo_body &body = *layer.custom.body;
  if (!body.load)
    return;
  const Described described(layer);
  if (const char *what = body.load(&described.layer, rank, device, &state))
    failOf(layer, "`load` of " + nameOfBody(layer) + " on rank " +
                      std::to_string(rank) + ": " + what);
}

LoadedBody::~LoadedBody() {
  const Described described(layer);
  if (layer.custom.body->unload)
    layer.custom.body->unload(&described.layer, state);
}

int32_t countTensors(const LayerDesc &layer) {
  const Described described(layer);
  return layer.custom.body->tensors(&described.layer, nullptr, 0);
}

/// Maximum number of the layer's tensors.
static int32_t maxTensors(const LayerDesc &layer) {
  return layer.custom.numTensors > 0 ? layer.custom.numTensors
                                     : maxUnstatedTensors;
}

std::vector<rondo_tensor> describeTensors(const LayerDesc &layer) {
  const Described described(layer);
  const rondo_body &body = *layer.custom.body;
  std::vector<rondo_tensor> tensors(
      std::clamp<int32_t>(countTensors(layer), 0, maxTensors(layer) + 1));
  body.tensors(&described.layer, tensors.data(),
               static_cast<int32_t>(tensors.size()));
  return tensors;
}

int64_t countOf(const rondo_tensor &tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.num_dims; ++d)
    count *= tensor.shape[d];
  return count;
}

bool isTied(const LayerDesc &layer, const char *name) {
  return layer.tied && layer.custom.data != LayerData::None &&
         std::strcmp(name, tokenWeightName(false)) == 0;
}

static int32_t tensors(const LayerDesc *layer, LayerTensor *out,
                       int32_t capacity) {
  const std::vector<rondo_tensor> own = describeTensors(*layer);
  const int32_t count = static_cast<int32_t>(own.size());
  for (int32_t t = 0; t < std::min(count, capacity); ++t) {
    const rondo_tensor &tensor = own[t];
    const bool tied = isTied(*layer, tensor.name);
    const bool isCopy = tied && layer->custom.data == LayerData::Targets;
    LayerTensor described = {tied ? nullptr : layer->name,
                             tensor.name,
                             tensor.num_dims,
                             {},
                             tensor.offset,
                             countOf(tensor),
                             tensor.decay != 0,
                             static_cast<TensorInit>(tensor.init),
                             isCopy ? tokenWeightName(false) : nullptr,
                             tensor.frozen != 0,
                             tensor.frozen == RONDO_RUNNING};
    std::copy_n(tensor.shape, tensor.num_dims, described.shape);
    out[t] = described;
  }
  return count;
}

LayerBody customBody() {
  return {runOnCpu<&rondo_functions::forward>,
          runOnCpu<&rondo_functions::input_grad>,
          runOnCpu<&rondo_functions::weight_grad>, tensors,
          runOnCpu<&rondo_functions::backward>};
}

} // namespace rondo::runtime
