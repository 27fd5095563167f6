//===- custom.cpp - Bodies of custom layers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/custom.h"

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/bodies/layers.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace rondo::runtime {

static_assert(RONDO_TARGET_CUDA == int(Target::Cuda) &&
                  RONDO_DTYPE_BF16 == int(DType::Bf16) &&
                  RONDO_STREAM_UINT8 == int(StreamType::Uint8) &&
                  RONDO_MAX_DIMS == maxTensorDims &&
                  RONDO_INIT_FILE == int(TensorInit::File),
              "bodies from outside see the same numbers");

/// Memory for the streams of a described layer.
using Streams = std::array<rondo_stream, maxLayerStreams>;

/// The layer as its body sees it.
static rondo_layer describe(const LayerDesc &layer, Streams &streams) {
  rondo_layer result{};
  result.name = layer.name;
  result.target = static_cast<int32_t>(layer.target);
  result.dtype = static_cast<int32_t>(layer.dtype);
  result.num_parameters = layer.custom.numParameters;
  result.parameters = layer.custom.parameters;
  result.num_inputs = layer.numInputs;
  result.input_bytes = layer.inputBytes;
  result.output_bytes = layer.outputBytes;
  result.batch = layer.batch;
  result.sequence = layer.sequence;
  result.vocab = layer.vocab;
  result.hidden = layer.hidden;
  result.num_streams = layer.custom.numStreams;
  result.streams = streams.data();
  for (int32_t s = 0; s < result.num_streams; ++s) {
    const StreamDesc &stream = layer.custom.streams[s];
    streams[s] = {stream.name,    static_cast<int32_t>(stream.type),
                  stream.numDims, stream.sizes,
                  stream.below,   stream.hasIgnored,
                  stream.ignored};
  }
  return result;
}

void runCustom(const LayerDesc &layer, const LayerArgs &args,
               rondo_function task, void *stream) {
  Streams streams;
  const rondo_layer described = describe(layer, streams);
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
  for (int32_t k = 0; args.data && k < described.num_streams; ++k)
    staged[k] =
        reinterpret_cast<const char *>(args.data) + streamOffset(layer, k);
  buffers.streams = staged.data();
  task(&described, &buffers);
}

template <rondo_function rondo_functions::*task>
static void runOnCpu(const LayerDesc *layer, const LayerArgs *args) {
  runCustom(*layer, *args, layer->custom.body->cpu.*task, nullptr);
}

/// The number of tensors that the body says it has; may be any number.
static int32_t countTensors(const LayerDesc &layer) {
  Streams streams;
  const rondo_layer described = describe(layer, streams);
  return layer.custom.body->tensors(&described, nullptr, 0);
}

/// What the layer may have at most.
static int32_t maxTensors(const LayerDesc &layer) {
  return layer.custom.numTensors > 0 ? layer.custom.numTensors
                                     : maxUnstatedTensors;
}

/// The body's own descriptions; one more than allowed if there are too many.
static std::vector<rondo_tensor> describeTensors(const LayerDesc &layer) {
  Streams streams;
  const rondo_layer described = describe(layer, streams);
  const rondo_body &body = *layer.custom.body;
  std::vector<rondo_tensor> tensors(
      std::clamp<int32_t>(countTensors(layer), 0, maxTensors(layer) + 1));
  body.tensors(&described, tensors.data(),
               static_cast<int32_t>(tensors.size()));
  return tensors;
}

static int64_t countOf(const rondo_tensor &tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.num_dims; ++d)
    count *= tensor.shape[d];
  return count;
}

static int32_t tensors(const LayerDesc *layer, LayerTensor *out,
                       int32_t capacity) {
  const std::vector<rondo_tensor> own = describeTensors(*layer);
  const int32_t count = static_cast<int32_t>(own.size());
  for (int32_t t = 0; t < std::min(count, capacity); ++t) {
    const rondo_tensor &tensor = own[t];
    LayerTensor described = {
        layer->name,       tensor.name,
        tensor.num_dims,   {},
        tensor.offset,     countOf(tensor),
        tensor.decay != 0, static_cast<TensorInit>(tensor.init),
        nullptr,           tensor.frozen != 0};
    std::copy_n(tensor.shape, tensor.num_dims, described.shape);
    out[t] = described;
  }
  return count;
}

LayerBody customBody() {
  return {runOnCpu<&rondo_functions::forward>,
          runOnCpu<&rondo_functions::input_grad>,
          runOnCpu<&rondo_functions::weight_grad>, tensors};
}

//===----------------------------------------------------------------------===//
// Checks.
//===----------------------------------------------------------------------===//

[[noreturn]] static void fail(const LayerDesc &layer, const std::string &what) {
  throw Error("layer '" + std::string(layer.name) + "': " + what);
}

static std::string nameOfBody(const LayerDesc &layer) {
  return "body '" + std::string(layer.custom.name) + "'";
}

static void checkFunctions(const LayerDesc &layer, const rondo_body &body) {
  if (!body.sizes)
    fail(layer, nameOfBody(layer) + " has no `sizes` function");
  if (!body.tensors)
    fail(layer, nameOfBody(layer) + " has no `tensors` function");
  const bool isCpu = layer.target == Target::Cpu;
  const rondo_functions &tasks = isCpu ? body.cpu : body.cuda;
  if (!tasks.forward || !tasks.input_grad || !tasks.weight_grad)
    fail(layer, nameOfBody(layer) + " does not run on " +
                    (isCpu ? "the CPU" : "CUDA") +
                    ": it has no F, I or W function for this target");
}

static void checkInputs(const LayerDesc &layer, const rondo_body &body) {
  if (body.min_inputs > body.max_inputs)
    fail(layer, nameOfBody(layer) + " declares min_inputs = " +
                    std::to_string(body.min_inputs) +
                    " above max_inputs = " + std::to_string(body.max_inputs));
  if (layer.numInputs >= body.min_inputs && layer.numInputs <= body.max_inputs)
    return;
  std::string takes = std::to_string(body.min_inputs);
  if (body.max_inputs != body.min_inputs)
    takes += " to " + std::to_string(body.max_inputs);
  fail(layer, "it has " + rondo::countOf(layer.numInputs, "input") + ", but " +
                  nameOfBody(layer) + " takes " + takes);
}

static void checkSizes(const LayerDesc &layer, const rondo_body &body) {
  Streams streams;
  const rondo_layer described = describe(layer, streams);
  rondo_sizes sizes{};
  if (const char *what = body.sizes(&described, &sizes))
    fail(layer, what);
  struct Size {
    const char *name;
    int64_t stated, needed;
  };
  const Size all[] = {
      {"weight_bytes", layer.weightBytes, sizes.weight_bytes},
      {"saved_for_input_grad_bytes", layer.inputGradFreesBytes,
       sizes.saved_for_input_grad_bytes},
      {"saved_for_weight_grad_bytes",
       layer.activationBytes - layer.inputGradFreesBytes,
       sizes.saved_for_weight_grad_bytes},
      // Nothing reads the last layer's output.
      {"output_bytes", layer.outputBytes,
       layer.outputBytes == 0 ? 0 : sizes.output_bytes},
      {"workspace_bytes", layer.custom.workspaceBytes, sizes.workspace_bytes},
      {"frozen_weight_bytes", layer.custom.frozenBytes,
       sizes.frozen_weight_bytes},
  };
  std::string stated, needed;
  for (const Size &size : all) {
    if (size.needed < 0)
      fail(layer, "`sizes` of " + nameOfBody(layer) + " returns " + size.name +
                      " = " + std::to_string(size.needed) +
                      "; a size is at least 0");
    if (size.stated == size.needed)
      continue;
    const std::string comma = stated.empty() ? "" : ", ";
    stated += comma + size.name + " = " + std::to_string(size.stated);
    needed += comma + size.name + " = " + std::to_string(size.needed);
  }
  if (!stated.empty())
    fail(layer, "the program was compiled for " + stated + ", but " +
                    nameOfBody(layer) + " needs " + needed +
                    ": write that into the model and compile it again");
}

/// `tensors` lie within the weights, in the order of their offsets.
static void checkCover(const LayerDesc &layer,
                       const std::vector<rondo_tensor> &tensors) {
  const std::string who = nameOfBody(layer);
  const int64_t elements = layer.weightBytes / 4;
  int64_t end = 0, uncovered = 0, first = 0;
  auto skipTo = [&](int64_t place) {
    // The next tensor begins at a multiple of 16; what lies before is padding.
    end = std::min((end + 15) / 16 * 16, place);
    if (place > end && uncovered == 0)
      first = end;
    uncovered += place - end;
  };
  const rondo_tensor *last = nullptr;
  for (const rondo_tensor &tensor : tensors) {
    if (tensor.offset < end)
      fail(layer, "tensors '" + std::string(last->name) + "' and '" +
                      tensor.name + "' of " + who + " overlap");
    skipTo(tensor.offset);
    end = tensor.offset + countOf(tensor);
    last = &tensor;
  }
  skipTo(elements);
  if (uncovered > 0)
    fail(layer, "no tensor of " + who + " covers " + std::to_string(uncovered) +
                    " of the " + std::to_string(elements) +
                    " weights, from element " + std::to_string(first) +
                    " on: nothing would initialise, train or save them");
}

static void checkNames(const LayerDesc &layer,
                       const std::vector<rondo_tensor> &tensors) {
  std::set<std::string> names;
  for (const rondo_tensor &tensor : tensors)
    if (!names.insert(tensor.name).second)
      fail(layer, nameOfBody(layer) + " has two tensors named '" + tensor.name +
                      "'; a checkpoint finds tensors by name");
}

/// The number of tensors is the stated one, or at most the usual one.
static void checkCount(const LayerDesc &layer) {
  const std::string who = nameOfBody(layer);
  const int32_t count = countTensors(layer), stated = layer.custom.numTensors;
  if (count < 0)
    fail(layer, "`tensors` of " + who + " returns " + std::to_string(count) +
                    ", not a number of tensors");
  if (stated > 0 ? count == stated : count <= maxUnstatedTensors)
    return;
  fail(layer,
       (stated > 0
            ? "the program was compiled for tensors = " + std::to_string(stated)
            : "the model states no number of tensors, so that there may "
              "be " +
                  std::to_string(maxUnstatedTensors)) +
           ", but " + who + " has " + std::to_string(count) +
           ": write tensors = " + std::to_string(count) +
           " into the model and compile it again");
}

static void checkShape(const LayerDesc &layer, const rondo_tensor &tensor,
                       const std::string &which) {
  const bool isKnown = tensor.num_dims >= 1 && tensor.num_dims <= maxTensorDims;
  if (!isKnown || std::any_of(tensor.shape, tensor.shape + tensor.num_dims,
                              [](int64_t size) { return size < 1; }))
    fail(layer, which + " has a shape that is not 1 to " +
                    std::to_string(maxTensorDims) + " sizes of at least 1");
  if (tensor.offset < 0 || tensor.offset % 16 != 0)
    fail(layer, which + " begins at element " + std::to_string(tensor.offset) +
                    ", which is not a multiple of 16");
  const int64_t elements = layer.weightBytes / 4;
  // Division avoids an overflow of the product.
  int64_t room = elements;
  for (int32_t d = 0; d < tensor.num_dims; ++d)
    room /= tensor.shape[d];
  if (room < 1 || tensor.offset > elements - countOf(tensor))
    fail(layer, which + " at element " + std::to_string(tensor.offset) +
                    " ends past the " + std::to_string(elements) +
                    " of the weights");
  const int64_t trained = elements - layer.custom.frozenBytes / 4;
  if (tensor.frozen ? tensor.offset < trained
                    : tensor.offset + countOf(tensor) > trained)
    fail(layer,
         which + " at element " + std::to_string(tensor.offset) +
             (tensor.frozen ? " is frozen, but the frozen part of the "
                              "weights begins at element "
                            : " is trained, but lies in the frozen part "
                              "of the weights, which begins at element ") +
             std::to_string(trained));
}

static void checkTensors(const LayerDesc &layer) {
  const std::string who = nameOfBody(layer);
  checkCount(layer);
  std::vector<rondo_tensor> tensors = describeTensors(layer);
  for (const rondo_tensor &tensor : tensors) {
    if (!tensor.name || !*tensor.name)
      fail(layer, who + " has a tensor without a name");
    const std::string which =
        "tensor '" + std::string(tensor.name) + "' of " + who;
    if (tensor.init < RONDO_INIT_ZEROS || tensor.init > RONDO_INIT_FILE)
      fail(layer, which + " has init " + std::to_string(tensor.init) +
                      ", which is not one of RONDO_INIT_...");
    checkShape(layer, tensor, which);
  }
  checkNames(layer, tensors);
  std::sort(tensors.begin(), tensors.end(),
            [](const rondo_tensor &a, const rondo_tensor &b) {
              return a.offset < b.offset;
            });
  checkCover(layer, tensors);
}

void checkCustomLayer(const LayerDesc &layer) {
  const rondo_body &body = *layer.custom.body;
  if (body.version != RONDO_BODY_VERSION)
    fail(layer, nameOfBody(layer) + " was written for version " +
                    std::to_string(body.version) +
                    " of rondo_body.h, this program has version " +
                    std::to_string(RONDO_BODY_VERSION) +
                    ": compile it again with the header of this installation");
  checkFunctions(layer, body);
  checkInputs(layer, body);
  checkSizes(layer, body);
  checkTensors(layer);
}

} // namespace rondo::runtime
